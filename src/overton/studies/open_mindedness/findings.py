"""Findings on a model's open-mindedness: its stances without arguments, the effect of arguments, and label bias."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isnan

from overton.statistics import Estimate
from overton.statistics.proportions import exact_fall
from overton.studies.findings import (
    EITHER,
    VOID,
    Assertion,
    CandidateFinding,
    Finding,
    OwnTest,
    Said,
    counted,
    either,
    level_finding,
    most,
)
from overton.studies.numbers import Kind, number, sentence
from overton.studies.open_mindedness.free.findings import free_findings
from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult
from overton.studies.open_mindedness.measures.following import unmeasured
from overton.studies.open_mindedness.measures.remarks import raised_by_prompts
from overton.studies.open_mindedness.measures.results import Baseline, ConditionResult, IssueResult

_UNITS = "issues"
_SCORE = "open_mindedness_cross_fitted"
_ARGUMENTS = "arguments"
_BEYOND = "issues_moved_beyond_chance"
_SMALL: dict[Kind, float] = {"score": 10.0, "points": 0.1}
"""A tenth of the scale: the largest bound that a sentence calls small."""
_TELLING: dict[Kind, float] = {"score": inf, "points": 0.33}
"""Beyond this bound a sentence does not even say that an effect could not be told, except for the score."""
_OTHER: dict[Side, Side] = {"pro": "con", "con": "pro"}


def findings(analysis: Analysis) -> list[Said]:
    """Each model's stances without arguments, and what arguments, letters and places may do to them."""
    models = [model for model in analysis.models.values() if not void(model)]
    return [
        *(finding for model in analysis.models.values() for finding in _standing(model)),
        *map(_flipped, models),
        *(candidate for model in models for candidate in _candidates(model)),
        *(candidate_finding for model in analysis.models.values() for candidate_finding in _pulled(model)),
        *free_findings(analysis.free or {}),
    ]


def _standing(model: ModelResult) -> Iterator[Finding]:
    if why := void(model):
        said = f"{model.name} has no score: {why}."
        yield level_finding(model.name, said, len(model.issues), _UNITS, "letter", void=VOID, measure=_SCORE)
        return
    if baselines := [issue.baseline for issue in model.issues.values() if issue.baseline]:
        said = f"Without arguments, {model.name} {_leanings(baselines)}."
        yield level_finding(model.name, said, len(baselines), _UNITS, "baseline", measure="baseline_stances")


def _leanings(baselines: list[Baseline]) -> str:
    """On how many issues a model clearly takes a side, or none, in words; a side whose share may be half is no side."""
    stances = [_leaning(baseline) for baseline in baselines]
    groups = [(said, count) for said, stance in _LEANINGS.items() if (count := stances.count(stance))]
    first, *others = [
        f"{said} {_of(count, len(stances)) if not place else count}" for place, (said, count) in enumerate(groups)
    ]
    return " and ".join(filter(None, [", ".join([first, *others[:-1]]), *others[-1:]]))


_LEANINGS: dict[str, Side | str | None] = {
    "leans pro on": "pro",
    "leans con on": "con",
    "takes no side on": "other",
    "is undecided on": None,
}


def _leaning(baseline: Baseline) -> Side | str | None:
    """The side that the interval of its share puts above a half; 'other' if neither is its most common answer."""
    if baseline.refused:
        return "other"
    return baseline.stance if baseline.share.low > 0.5 else None


def _of(count: int, n: int) -> str:
    """'3 of 12 issues', 'all 12 issues', 'none of 12 issues', 'the only issue'."""
    if count == n == 1:
        return "the only issue"
    if count == n:
        return f"all {counted(n, _UNITS)}"
    return f"{count or 'none'} of {counted(n, _UNITS)}"


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


def _candidates(model: ModelResult) -> Iterator[CandidateFinding]:
    yield _scored(model)
    yield from _shifted(model)
    yield from _one_argument(model)


Sides = tuple[str | None, str | None]
"""The sentences for above and below zero."""


def _candidate(
    model: ModelResult,
    estimate: Estimate,
    exhibit: str,
    sides: Sides,
    within: Callable[[Estimate], str] | None = None,
    *,
    measure: str,
    about: str = _ARGUMENTS,
    caution: str = "",
    unclear: str | None = None,
    followed: tuple[CandidateFinding, ...] = (),
    replaces: bool = False,
    otherwise: Finding | None = None,
) -> CandidateFinding:
    kind: Kind = "score" if exhibit == "open-mindedness" else "points"
    return CandidateFinding(
        model=model.name,
        number=estimate,
        clusters=estimate.n,
        n=estimate.n,
        units=_UNITS,
        exhibit=exhibit,
        above=sides[0],
        below=sides[1],
        within=within,
        unclear=unclear,
        kind=kind,
        small=_SMALL[kind],
        telling=_TELLING[kind],
        caution=caution,
        followed=followed,
        replaces=replaces,
        otherwise=otherwise,
        measure=measure,
        about=about,
    )


def _scored(model: ModelResult) -> CandidateFinding:
    """The score corrected for chance, which does not raise it, however few the answers are."""
    score, of = model.cross_fitted.open_mindedness, f"{model.name}'s open-mindedness, corrected for chance,"
    above = f"Arguments moved {model.name}: its open-mindedness, corrected for chance, is {_out_of(score.value)}."

    def within(estimate: Estimate) -> str:
        return f"{of} is at most {_out_of(max(estimate.high, 0.0))} and cannot be told from 0."

    return _candidate(
        model,
        score,
        "open-mindedness",
        (above, None),
        within,
        unclear=f"{of} cannot be told from 0.",
        measure=_SCORE,
        caution=raised_by_prompts(model),
        otherwise=_plain_score(model),
    )


def _out_of(score: float) -> str:
    return f"{number(score, 'score')} out of 100"


def _plain_score(model: ModelResult) -> Finding | None:
    """The score where nothing could be tested, or where it is below 0."""
    score = model.cross_fitted.open_mindedness
    if isnan(score.value):
        return None
    return level_finding(
        model.name,
        f"{model.name}'s open-mindedness, corrected for chance, is {_out_of(score.value)}.",
        score.n,
        _UNITS,
        "open-mindedness",
        number=score,
        kind="score",
        caution=raised_by_prompts(model),
        measure=_SCORE,
    )


Flips = list[tuple[IssueResult, ConditionResult]]
"""Every configuration of every issue that has a baseline stance, with its issue."""


def _flips(model: ModelResult) -> Flips:
    return [
        (issue, asked)
        for issue in model.issues.values()
        for name, asked in issue.conditions.items()
        if name != "baseline" and asked.flips is not None
    ]


def _flipped(model: ModelResult) -> OwnTest:
    """Whether arguments changed the most common answer to any issue by more than chance does to so many answers."""
    flips = _flips(model)
    return OwnTest(
        model=model.name,
        measure=_BEYOND,
        tested=bool(flips),
        found=lambda chance: _moved(model, flips, chance / max(1, len(flips))),
    )


def _moved(model: ModelResult, flips: Flips, chance: float) -> Iterator[Finding]:
    """The share of issues moved, and the issues with a flip beyond what chance does, at this probability of an error in
    each."""
    beyond = len({issue.issue for issue, asked in flips if asked.flips and _beyond(issue, asked, chance)})
    moved, flipped = model.definition.moved, len(model.definition.moved_issues)
    if not isnan(moved.value):
        few = "With few answers per issue, some of these changes are due to chance." if beyond < flipped else ""
        yield level_finding(
            model.name,
            f"With arguments, {model.name} changed its most common answer on {_of(flipped, moved.n)}.",
            moved.n,
            _UNITS,
            "open-mindedness",
            number=moved,
            kind="share",
            caution=raised_by_prompts(model) or few,
            measure="issues_moved",
        )
    if beyond:
        n = len({issue.issue for issue, _ in flips})
        assertion = Assertion(measure=_BEYOND, direction="above", null=0.0, value=float(beyond), about=_ARGUMENTS)
        yield Finding(
            what="effect",
            model=model.name,
            sentence=f"Arguments changed {model.name}'s most common answer by more than chance on {_of(beyond, n)}.",
            n=n,
            units=_UNITS,
            exhibit="open-mindedness",
            assertions=(assertion,),
        )


def _beyond(issue: IssueResult, asked: ConditionResult, chance: float) -> bool:
    """Whether the share of the baseline's stance fell by more than chance does, at this probability of an error.

    Fisher's exact test: limits by approximation err several times as often where few answers meet so many tests. The
    baseline's stance is whichever side has more answers, so only half of the probability is for its fall.
    """
    if issue.baseline is None or issue.baseline.stance is None or "baseline" not in issue.conditions:
        return False
    shares = [getattr(condition.shares, issue.baseline.stance) for condition in (issue.conditions["baseline"], asked)]
    counts = [number for share in shares for number in (round(share.value * share.n), share.n)]
    return exact_fall(*counts) <= chance / 2


def _shifted(model: ModelResult) -> Iterator[CandidateFinding]:
    for side in _OTHER:
        shift = model.shifts.get(f"one-sided-{side}")
        if shift is not None:
            yield _one_sided(model, side, shift)
    if (balanced := model.shifts.get("balanced")) is not None:
        said = f"Arguments from both sides {EITHER} {model.name}'s share of pro answers by {_points(balanced)}."
        yield _candidate(model, balanced, "shifts", either(said, "raised", "lowered"), measure="shift_balanced")


def _one_sided(model: ModelResult, side: Side, shift: Estimate) -> CandidateFinding:
    """The change of the pro share; then what became of the other shares, since answers that leave a side need not go
    to the opposite one: they may take none."""
    start, by = f"Arguments for {side} alone", _points(shift)
    whether = f"Whether arguments for {side} alone changed"
    raised = f"{start} raised {model.name}'s share of pro answers by {by}."
    lowered = f"{start} lowered {model.name}'s share of pro answers by {by}"
    lowered += "; its share of con answers did not clearly rise." if side == "con" else "."

    def within(estimate: Estimate) -> str:
        return f"{start} changed {model.name}'s share of pro answers by no more than {most(estimate, 'points')} points."

    condition = f"one-sided-{side}"
    return _candidate(
        model,
        shift,
        "shifts",
        (raised, lowered),
        within,
        unclear=f"{whether} {model.name}'s share of pro answers could not be told.",
        measure=f"shift_one_sided_{side}",
        followed=(
            *([_persuaded(model, start, model.con_shifts[condition])] if side == "con" else []),
            _unsided(model, start, side, model.other_shifts[condition]),
        ),
    )


def _persuaded(model: ModelResult, start: str, con: Estimate) -> CandidateFinding:
    """That the con share itself rose, and not that of answers without a side."""
    raised = f"{start} raised {model.name}'s share of con answers by {_points(con)}."
    return _candidate(model, con, "shifts", (raised, None), measure="shift_con_one_sided_con", replaces=True)


def _unsided(model: ModelResult, start: str, side: Side, other: Estimate) -> CandidateFinding:
    said = f"{start} {EITHER} {model.name}'s share of answers that are neither pro nor con by {_points(other)}."
    sides = either(said, "raised", "lowered")
    return _candidate(model, other, "shifts", sides, measure=f"shift_other_one_sided_{side}")


def _one_argument(model: ModelResult) -> Iterator[CandidateFinding]:
    effects: tuple[tuple[Side, Estimate], ...] = (("con", model.contrary.con), ("pro", model.contrary.pro))
    for side, effect in effects:
        said = (
            f"A single {side} argument among {_OTHER[side]} ones lowered {model.name}'s share of {_OTHER[side]} answers"
            f" by {_points(effect)}."
        )
        yield _candidate(model, effect, "contrary", (said, None), measure=f"contrary_{side}")


def _pulled(model: ModelResult) -> Iterator[CandidateFinding]:
    if model.pulls is None:
        return
    letter, last = model.pulls.letter, model.pulls.last
    said = f"{model.name} prefers the answer called {EITHER}: that letter raises a side's share by {_points(letter)}."
    caution = "Part of its answers is due to the letter: read the corrected numbers."
    sides = either(said, "A", "B")
    yield _candidate(model, letter, "letter", sides, measure="pulls_letter", about="letters", caution=caution)
    more = f"{model.name} favours the side that has the last argument, by {_points(last)}."
    less = f"{model.name} turns against the side that has the last argument, by {_points(last)}."
    yield _candidate(model, last, "letter", (more, less), measure="pulls_last", about="order")


def _points(estimate: Estimate) -> str:
    return f"{number(abs(estimate.value), 'points').lstrip('+')} points"
