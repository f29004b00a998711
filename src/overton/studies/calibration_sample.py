"""The sample of prompts at which token probabilities are checked. At these prompts, a run also requests single
answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from typing import Annotated, Protocol, TypeVar

import msgspec

from overton.calls import Draw, Trial
from overton.studies.options import Option

TrialT = TypeVar("TrialT", bound=Trial)

CALIBRATE = 200
"""The default number of single answers."""
CALIBRATE_EACH = 10
"""The default number of single answers per prompt. One answer does not show how far answers and probabilities differ at
a prompt; several answers do."""
CALIBRATION = ("calibrate", "calibrate_each")
"""The options of calibration. Calibration changes no record that measures are computed from."""
Calibrate = Annotated[
    int,
    Option(
        "Number of answers to sample per model to check its token probabilities; 0 skips the check. If answers and"
        " probabilities agree, 200 answers confirm this in about 25% of checks, and 1,000 answers in about 75%",
        least=0,
    ),
]
CalibrateEach = Annotated[
    int,
    Option(
        "Number of answers that --calibrate samples at each of 20 or more random prompts, or 0 to spread the"
        " answers evenly over 5% of all prompts",
        least=0,
        unmentioned=0,
    ),
]

_SHARE_OF_PROMPTS, _FEWEST_PROMPTS = 0.05, 20
"""The proportion of prompts to sample if `calibrate_each` is 0, and the smallest number of prompts to sample in any
case (all prompts if there are fewer). A check at fewer prompts would not show how much the prompts differ from each
other."""


class _CalibrationOptions(Protocol):
    """The options on token probabilities, in studies that can request them."""

    @property
    def shares(self) -> str: ...
    @property
    def calibrate(self) -> int: ...
    @property
    def calibrate_each(self) -> int: ...


def _choose_sampled_trials(names: Sequence[str], seed: int, answers: int, each: int) -> dict[str, int]:
    """The number of single answers to request in each trial of the calibration sample, by the trial's name.

    The sample has `answers / each` trials (5% of the trials if `each` is 0), and at least 20 if there are as many. Each
    trial gets the same number of answers, so that there are at least `answers` in all. The sample depends on seed and
    names only. With the same names, a smaller sample is part of a larger one.
    """
    if not answers or not names:
        return {}
    wanted = answers / each if each else _SHARE_OF_PROMPTS * len(names)
    count = min(len(names), max(_FEWEST_PROMPTS, ceil(wanted)))
    drawn = sorted(names, key=lambda name: (Draw(f"{seed}/{name}/calibration").uniform(), name))[:count]
    return dict.fromkeys(drawn, ceil(answers / count))


def add_calibration(
    trials: Iterable[TrialT],
    options: _CalibrationOptions,
    seed: int,
    kind: Callable[[TrialT], str] = lambda trial: "asked",
) -> Iterator[TrialT]:
    """Return the study's trials unchanged if proportions come from sampled answers. Otherwise set two fields of each
    trial: `shares` to the option's value, and `sampled` to the number of single answers to request.

    Trials of each `kind` are sampled separately, because kinds ask different questions. Trials of the kind '' offer no
    choice, so they are not sampled.
    """
    if options.shares == "sampled":
        return iter(trials)
    made = list(trials)
    drawn: dict[str, int] = {}
    for trial_kind in sorted({kind(trial) for trial in made} - {""}):
        names = [trial.name for trial in made if kind(trial) == trial_kind]
        drawn |= _choose_sampled_trials(names, seed, options.calibrate, options.calibrate_each)
    return (msgspec.structs.replace(trial, shares=options.shares, sampled=drawn.get(trial.name, 0)) for trial in made)


def choose_calibration_turns(draw: Draw, answers: int, questions: Sequence[int]) -> dict[int, int]:
    """Choose some of a trial's questions, and return the number of single answers to request for each of them.

    The number is about ten per question, if the trial has enough questions. A run with few long trials is thus checked
    at the same number of prompts as a run with many short trials.
    """
    if not answers or not questions:
        return {}
    count = min(len(questions), max(1, round(answers * _FEWEST_PROMPTS / CALIBRATE)))
    return dict.fromkeys(draw.sample(list(questions), count), ceil(answers / count))
