"""Whether two models were asked equally often: measures that depend on the number of trials are matched, or refused.

Runs are matched by trial. Answers of a table cannot be: one trial asks each template once, and counts do not say which
template an answer is from. Answers drawn at random from the larger table vary more than those of a trial, so that a
model with a label bias would differ from itself.
"""

from __future__ import annotations

from typing import NamedTuple

from overton.api.comparing.source import Side, Source
from overton.studies.comparing import Contribution

__all__ = ["Matched", "matched"]

_ALIKE = 1.25
"""Answers in a condition may differ by this factor, as when calls failed: at 15 answers, that moves a plain score
by 0.2 of 100 (docs/compare.md)."""

_AGAIN = "Make the baseline again from its run (overton baseline)"
_EQUAL = "ask both with the same number of trials"


class Matched(NamedTuple):
    """The contributions of both to a measure, the base first.

    Both numbers are for as many trials of each item as `trials` says; if it is None, each is for its own number.
    `refused` gives the reason why they are not compared, with advice, '' if they are.
    """

    both: tuple[Contribution, Contribution]
    trials: int | None = None
    refused: str = ""


def matched(base: Side, candidate: Side, measure: str) -> Matched:
    """Contributions that do not differ because of different numbers of trials."""
    sides, both = (base, candidate), (base.contributions[measure], candidate.contributions[measure])
    declared, of_table = both[0].measure, any(side.source.is_table for side in sides)
    if not (declared.unbiased or declared.matched):
        return Matched(both)
    if of_table and any(side.source.is_baseline and one.answers is None for side, one in zip(sides, both, strict=True)):
        return Matched(both, refused=f"few answers change it, and the baseline does not say how many it has. {_AGAIN}")
    trials, answers = _trials(*sides), _answers(both[0].answers, both[1].answers)
    if declared.unbiased and (counted := trials or answers):
        advice = _advice(sides, declared.unbiased)
        return Matched(both, refused=f"they have {counted}, and chance in few of these raises it. {advice}")
    if declared.matched and trials:
        return _with_as_few(sides, both, trials)
    if declared.matched and of_table and answers:
        advice = f"A table does not say which answers belong to one trial: compare their run folders, or {_EQUAL}"
        return Matched(both, refused=f"they have {answers}, and it depends on how many. {advice}")
    return Matched(both)


def _with_as_few(sides: tuple[Side, Side], both: tuple[Contribution, Contribution], counted: str) -> Matched:
    """Take both with the largest number of trials that both have."""
    measure, trials = both[0].measure.name, _common(*(side.source for side in sides))
    first, second = (side.with_trials(measure, trials) if trials else None for side in sides)
    if trials is None or first is None or second is None:
        return Matched(both, refused=f"they have {counted}, and it depends on how many. {_AGAIN}, or {_EQUAL}")
    return Matched((first, second), trials)


def _common(base: Source, candidate: Source) -> int | None:
    """The most trials that both can be taken with."""
    fewest = min(one.trials or 0 for one in (base, candidate))
    known = [{*one.kept, one.trials or 0} for one in (base, candidate) if one.kept is not None]
    return max((one for one in range(1, fewest + 1) if all(one in some for some in known)), default=None)


def _advice(sides: tuple[Side, Side], unbiased: str) -> str:
    """The advice for a measure that is not compared across numbers of trials."""
    if any(side.source.is_table for side in sides):
        return f"Compare {unbiased} of their run folders, or {_EQUAL}"
    if all(unbiased in side.contributions for side in sides):
        return f"Compare {unbiased}, or {_EQUAL}"
    return f"{_AGAIN}, so that it has {unbiased}, or {_EQUAL}"


def _trials(base: Side, candidate: Side) -> str:
    """The numbers of trials that runs, or the runs of baselines, were given, if they differ."""
    one, other = (side.source.trials for side in (base, candidate))
    return "" if one is None or other is None or one == other else f"{one} and {other} trials"


def _answers(one: float | None, other: float | None) -> str:
    """How many answers numbers have in a condition, if they differ: tables do not say how many trials there were."""
    if one is None or other is None or max(one, other) <= _ALIKE * min(one, other):
        return ""
    return f"{one:.3g} and {other:.3g} answers to an item in a condition"
