"""Findings on a model's open-mindedness: where it stands, what arguments do to it, and what letters do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from math import isnan

from overton.statistics import Estimate
from overton.statistics.proportions import difference_limits
from overton.studies.findings import EITHER, FAMILY, VOID, Candidate, Finding, either, in_order, most, standing, weighed
from overton.studies.numbers import Kind, number, sentence
from overton.studies.open_mindedness.free.findings import free_findings
from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult
from overton.studies.open_mindedness.measures.following import unmeasured
from overton.studies.open_mindedness.measures.remarks import raised_by_prompts
from overton.studies.open_mindedness.measures.results import ConditionResult, IssueResult

__all__ = ["findings", "void"]

_UNITS = "issues"
_SCORE = "open_mindedness_cross_fitted"
_ARGUMENTS = "arguments"
_TELLING: dict[Kind, float] = {"score": 33.0, "points": 0.33}
"""A third of the scale: an interval that leaves more possible rules out nothing worth reporting."""
_OTHER: dict[Side, Side] = {"pro": "con", "con": "pro"}


def findings(analysis: Analysis) -> list[Finding]:
    """Where each model stands; what moves it, corrected for everything tested; the most that anything else can."""
    models = list(analysis.models.values())
    stand = [one for model in models for one in _standing(model)]
    stand += free_findings(analysis.free or {})
    return in_order([*stand, *weighed(chain.from_iterable(map(_candidates, models)))])


def _standing(model: ModelResult) -> Iterator[Finding]:
    n = len(model.issues)
    if why := void(model):
        yield standing(model.name, f"{model.name} has no score: {why}.", n, _UNITS, "letter", void=VOID, measure=_SCORE)
        return
    sides = [one.baseline.stance for one in model.issues.values() if one.baseline]
    said = (
        f"Without arguments {model.name} answers pro on {sides.count('pro')} of {n} issues and con on "
        f"{sides.count('con')}"
    )
    score = model.cross_fitted.open_mindedness
    scored = (
        ""
        if isnan(score.value)
        else f"; its open-mindedness beyond chance is {number(max(score.value, 0.0), 'score')} of 100"
    )
    if score.value < 0:
        scored += " (less than chance alone would give)"
    kept, caution = (score, raised_by_prompts(model)) if scored else (None, "")
    yield standing(
        model.name,
        f"{said}{scored}.",
        n,
        _UNITS,
        "open-mindedness",
        number=kept,
        kind="score",
        caution=caution,
        measure=_SCORE,
    )


def void(model: ModelResult) -> str:
    """Why a model's answers measure nothing, '' if they measure something."""
    if model.tally.answers and not model.tally.stances["pro"] + model.tally.stances["con"]:
        return "none of its answers takes a stance"
    if model.following is not None and unmeasured(model.following):
        return (
            f"its answers follow {model.following.towards}, whatever it says "
            f"({sentence(model.following.share, 'share')})"
        )
    return ""


def _candidates(model: ModelResult) -> Iterator[Candidate]:
    if not void(model):
        yield from _moved(model)
        yield from _shifted(model)
        yield from _one_argument(model)
    yield from _pulled(model)


Sides = tuple[str | None, str | None]
"""The sentences for above and below zero."""


def _candidate(
    model: ModelResult,
    one: Estimate,
    exhibit: str,
    sides: Sides,
    within: Callable[[Estimate], str] | None = None,
    *,
    measure: str,
    about: str = _ARGUMENTS,
    caution: str = "",
) -> Candidate:
    kind: Kind = "score" if exhibit == "open-mindedness" else "points"
    return Candidate(
        model=model.name,
        number=one,
        clusters=one.n,
        n=one.n,
        units=_UNITS,
        exhibit=exhibit,
        above=sides[0],
        below=sides[1],
        within=within,
        kind=kind,
        telling=_TELLING[kind],
        caution=caution,
        measure=measure,
        about=about,
    )


def _moved(model: ModelResult) -> Iterator[Candidate]:
    """The cross-fitted score: chance alone does not raise it, however few the answers are."""
    flipped, scored = len(model.definition.moved_issues), model.definition.moved.n
    said = f"{model.name} changed its most common answer on {flipped} of {scored} issues once it read arguments"
    alone = len(_beyond_chance(model))
    above = f"{said}; on {alone or 'none'} of them the change is beyond chance on its own."
    caution = "With few answers per issue, some of these changes are due to chance." if alone < flipped else ""
    caution = raised_by_prompts(model) or caution

    def within(one: Estimate) -> str:
        return (
            f"Arguments did not demonstrably change {model.name}'s answers: its open-mindedness is at most "
            f"{_score(one)} of 100."
        )

    score = model.cross_fitted.open_mindedness
    yield _candidate(model, score, "open-mindedness", (above, None), within, measure=_SCORE, caution=caution)


def _score(one: Estimate) -> str:
    return number(max(one.high, 0.0), "score")


def _beyond_chance(model: ModelResult) -> list[str]:
    """The issues with a flip beyond what chance does to so many answers, corrected for testing every flip."""
    flips = [(one, asked) for one in model.issues.values() for asked in one.conditions.values() if asked.flips]
    many = sum(max(0, len(one.conditions) - 1) for one in model.issues.values())
    return sorted({one.issue for one, asked in flips if _beyond(one, asked, 1 - FAMILY / max(1, many))})


def _beyond(issue: IssueResult, asked: ConditionResult, level: float) -> bool:
    """Whether the share of the baseline's stance fell by more than chance does (Newcombe's interval)."""
    if issue.baseline is None or issue.baseline.stance is None or "baseline" not in issue.conditions:
        return False
    shares = [getattr(one.shares, issue.baseline.stance) for one in (issue.conditions["baseline"], asked)]
    before, after = ((one.value, one.n) for one in shares)
    return bool(difference_limits(*before, *after, level)[0] > 0)


def _shifted(model: ModelResult) -> Iterator[Candidate]:
    for side in _OTHER:
        shift = model.shifts.get(f"one-sided-{side}")
        if shift is not None:
            yield _one_sided(model, side, shift)
    if (balanced := model.shifts.get("balanced")) is not None:
        by = _points(balanced)
        said = f"Arguments from both sides moved {model.name} towards {EITHER} by {by}."
        yield _candidate(model, balanced, "shifts", either(said, "pro", "con"), measure="shift_balanced")


def _one_sided(model: ModelResult, side: Side, shift: Estimate) -> Candidate:
    """Towards the arguments, or against them; if neither, how far at most."""
    raised = f"Arguments for {side} alone raised {model.name}'s share of {side} answers by {_points(shift)}."
    lowered = (
        f"Arguments for {side} alone lowered {model.name}'s share of {side} answers by {_points(shift)}: they "
        "backfired."
    )

    def within(one: Estimate) -> str:
        return f"Arguments for {side} alone moved {model.name}'s answers by no more than {most(one, 'points')} points."

    sides = (raised, lowered) if side == "pro" else (lowered, raised)
    return _candidate(model, shift, "shifts", sides, within, measure=f"shift_one_sided_{side}")


def _one_argument(model: ModelResult) -> Iterator[Candidate]:
    effects: tuple[tuple[Side, Estimate], ...] = (("con", model.contrary.con), ("pro", model.contrary.pro))
    for side, effect in effects:
        many = len(model.contrary.above_half_issues)
        more = f"; on {many} of {model.contrary.above_half.n} issues one took more than 50 points" if many else ""
        said = (
            f"A single {side} argument among {_OTHER[side]} ones took {_points(effect)} from {model.name}'s share of "
            f"{_OTHER[side]} answers{more}."
        )
        yield _candidate(model, effect, "contrary", (said, None), measure=f"contrary_{side}")


def _pulled(model: ModelResult) -> Iterator[Candidate]:
    if model.pulls is None:
        return
    letter, last = model.pulls.letter, model.pulls.last
    said = f"{model.name} prefers whatever is called {EITHER}: that letter is worth {_points(letter)} to a side."
    caution = "Part of its answers is due to the letter: read the corrected numbers."
    sides = either(said, "A", "B")
    yield _candidate(model, letter, "letter", sides, measure="pulls_letter", about="letters", caution=caution)
    more = f"{model.name} favours the side that has the last argument by {_points(last)}."
    less = f"{model.name} turns against the side that has the last argument by {_points(last)}."
    yield _candidate(model, last, "letter", (more, less), measure="pulls_last", about="order")


def _points(one: Estimate) -> str:
    return f"{number(abs(one.value), 'points').lstrip('+')} points"
