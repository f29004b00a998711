"""Which prompts of a run with token probabilities are also answered singly, to check these, and how often."""

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
"""How many of them one prompt gets: several show what a single prompt's difference is, and one does not."""
CALIBRATION = ("calibrate", "calibrate_each")
"""The options of calibration, which changes no record that measures are made of."""
Calibrate = Annotated[
    int,
    Option(
        "Number of answers to sample per model to check its token probabilities; 0 skips the check. If both agree, 200"
        " show it in a quarter of runs and 1,000 in three quarters",
        least=0,
    ),
]
CalibrateEach = Annotated[
    int,
    Option(
        "Number of these answers at each prompt; prompts are chosen at random, at least 20. 0 spreads the answers over"
        " 5% of all prompts",
        least=0,
        unmentioned=0,
    ),
]

_SHARE_OF_PROMPTS, _FEWEST_PROMPTS = 0.05, 20
"""The share of prompts that is drawn if nothing says how often to ask one, and at least how many in any case (if there
are as many): differences between prompts show only with some of them."""


class _CalibrationOptions(Protocol):
    """The options of a study that can request token probabilities, as far as they concern these."""

    @property
    def shares(self) -> str: ...
    @property
    def calibrate(self) -> int: ...
    @property
    def calibrate_each(self) -> int: ...


def _choose_sampled_trials(names: Sequence[str], seed: int, answers: int, each: int) -> dict[str, int]:
    """How often each trial drawn for calibration is asked for a single answer, by its name.

    As many trials as make `answers` with `each` (5% of the trials if it is 0), at least 20, each so often that there
    are `answers` of them. Which are drawn follows from seed and names, and those drawn from few trials are mostly also
    drawn from more.
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
    """The trials of a study by how it finds shares: unchanged if answers are sampled, otherwise with the fields
    `shares` and `sampled`, how often each is asked for a single answer.

    Trials of each `kind` are drawn separately, since other kinds ask something else; those of the kind '' offer no
    choice, and none of them is drawn.
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
    """How often each of some of a trial's questions is asked for a single answer, by its number: about ten times, so
    that a run of few long trials is calibrated at as many prompts as one of many short ones."""
    if not answers or not questions:
        return {}
    count = min(len(questions), max(1, round(answers * _FEWEST_PROMPTS / CALIBRATE)))
    return dict.fromkeys(draw.sample(list(questions), count), ceil(answers / count))
