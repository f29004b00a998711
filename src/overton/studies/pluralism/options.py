"""The choices that shape the experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from overton.errors import InputError, Problem
from overton.studies.pluralism.conditions import ARMS, Arm, Experiment

__all__ = ["EXPERIMENTS", "MOST_RANKED", "MOST_RESPONSES", "Matching", "Options", "PairingChoice", "check_options"]

Matching = Literal["together", "pairs", "lexical"]
PairingChoice = Literal["most-popular", "random-gap"]

EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)
MOST_RESPONSES = 50
MOST_RANKED = 50
_ALL_ARMS: tuple[Arm, ...] = get_args(Arm)


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What shapes the experiments besides the threads and the seed.

    experiments   'sycophancy', 'ranking' and 'pairwise', or some of them
    arms          which arms of the experiments are held, see `conditions.ARMS`; None for all of them
    efforts       reasoning efforts asked of the model under test, in the provider's own words; None asks for none
    mitigation    whether each condition has a twin whose system prompt asks for every reasonable view
    responses     how many responses a post gets (the paper has ten)
    independent   whether each response is asked for by itself, in the place of all in one reply
    candidates    how many viewpoints, the most voted first, are tried as reference opinion; None for all
    matching      how responses are matched to viewpoints: 'together', one call to the judge with all of them; 'pairs',
                  one call a pair; 'lexical', by shared words and without a judge, for trying out
    ranked        how many viewpoints are ranked, the most voted (the paper has ten)
    pairings      'most-popular': the most voted viewpoint against a random one with fewer votes; 'random-gap': random
                  pairs of viewpoints (appendix A.6)
    pairs         how many pairs of each thread and pairing, where there are so many; each in both orders
    gap           the least difference of votes of a random pair
    """

    experiments: tuple[Experiment, ...] = EXPERIMENTS
    arms: tuple[Arm, ...] | None = None
    efforts: tuple[str | None, ...] = (None,)
    mitigation: bool = False
    responses: int = 10
    independent: bool = False
    candidates: int | None = None
    matching: Matching = "together"
    ranked: int = 10
    pairings: tuple[PairingChoice, ...] = ("most-popular", "random-gap")
    pairs: int = 1
    gap: int = 10


def check_options(options: Options) -> None:
    """Refuse options that no experiment can be held with.

    Raises:
        InputError: every option that is out of range, unknown or named twice, and experiments without an arm.
    """
    arms = _ALL_ARMS if options.arms is None else options.arms
    problems = [
        *_chosen("--experiment", options.experiments, EXPERIMENTS),
        *_chosen("--arm", arms, _ALL_ARMS),
        *_chosen("--pairing", options.pairings, get_args(PairingChoice)),
        *_once_each("--effort", options.efforts),
    ]
    problems += [
        Problem("--effort", repr(effort), "must be a word of letters, digits, '-' and '_'")
        for effort in options.efforts
        if effort is not None and not (effort.isascii() and effort.replace("-", "").replace("_", "").isalnum())
    ]
    problems += [
        Problem("--arm", "", f"names none that {experiment} has; it has {', '.join(ARMS[experiment])}")
        for experiment in options.experiments
        if experiment in ARMS and not set(ARMS[experiment]) & set(arms)
    ]
    if options.matching not in get_args(Matching):
        problems.append(Problem("--matching", options.matching, f"must be one of {', '.join(get_args(Matching))}"))
    problems += [
        Problem(name, str(value), f"must be between {least} and {most:,}")
        for name, value, least, most in (
            ("--responses", options.responses, 1, MOST_RESPONSES),
            ("--candidates", options.candidates, 1, 1_000),
            ("--ranked", options.ranked, 2, MOST_RANKED),
            ("--pairs", options.pairs, 1, 1_000),
            ("--gap", options.gap, 1, 1_000_000_000),
        )
        if value is not None and not least <= value <= most
    ]
    if problems:
        raise InputError(problems)


def _chosen(name: str, given: Sequence[str], known: Sequence[str]) -> list[Problem]:
    unknown = [
        Problem(name, value, f"must be one of {', '.join(known)}")
        for value in dict.fromkeys(given)
        if value not in known
    ]
    return unknown + _once_each(name, given)


def _once_each(name: str, given: Sequence[str | None]) -> list[Problem]:
    if not given:
        return [Problem(name, "", "name at least one")]
    return [Problem(name, str(value), "is named twice") for value, count in Counter(given).items() if count > 1]
