"""Findings on a model's open-mindedness: its stances without arguments, the effect of arguments, and label bias; its
part of a model's profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isnan
from typing import TYPE_CHECKING

import msgspec

from overton.statistics import Estimate, not_computed
from overton.statistics.proportions import exact_fall
from overton.studies.findings import (
    EITHER,
    VOID,
    Aspect,
    Assertion,
    CandidateFinding,
    Finding,
    OwnTest,
    Said,
    Trait,
    counted,
    either,
    level_finding,
    most,
)
from overton.studies.frame import Analysis, Cells
from overton.studies.numbers import Kind, number
from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.notes import ModelView, models_of, raised_by_prompts, void

if TYPE_CHECKING:
    pass

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
    every = models_of(analysis)
    models = [model for model in every if not void(analysis, model.name)]
    return [
        *(finding for model in every for finding in _standing(model)),
        *map(_flipped, models),
        *(candidate for model in models for candidate in _candidates(model)),
        *(candidate for model in every for candidate in _pulled(model)),
        *(finding for model in every for finding in _freely(model)),
    ]


def _standing(model: ModelView) -> Iterator[Finding]:
    if why := void(model.analysis, model.name):
        said = f"{model.name} has no score: {why}."
        yield level_finding(model.name, said, len(model.issues), _UNITS, "letter", void=VOID, measure=_SCORE)
        return
    if baselines := [issue for issue in model.issues if issue["tied"] is not None]:
        said = f"Without arguments, {model.name} {_leanings(model, baselines)}."
        yield level_finding(model.name, said, len(baselines), _UNITS, "baseline", measure="baseline_stances")


def _leanings(model: ModelView, baselines: list[Cells]) -> str:
    """On how many issues a model clearly takes a side, or none, in words; a side whose share may be half is no side."""
    stances = [_leaning(model, baseline) for baseline in baselines]
    groups = [(said, count) for said, stance in _LEANINGS.items() if (count := stances.count(stance))]
    first, *others = [
        f"{said} {_of(count, len(stances)) if not place else count}" for place, (said, count) in enumerate(groups)
    ]
    return " and ".join(filter(None, [", ".join([first, *others[:-1]]), *others[-1:]]))


_LEANINGS: dict[str, str | None] = {
    "leans pro on": "pro",
    "leans con on": "con",
    "takes no side on": "other",
    "is undecided on": None,
}


def _leaning(model: ModelView, issue: Cells) -> str | None:
    """The side that the interval of its share puts above a half; 'other' if neither is its most common answer."""
    if issue["refused"]:
        return "other"
    share = model.number("baseline_share", item=str(issue["issue"]))
    return str(issue["stance"]) if share.low > 0.5 else None


def _of(count: int, n: int) -> str:
    """'3 of 12 issues', 'all 12 issues', 'none of 12 issues', 'the only issue'."""
    if count == n == 1:
        return "the only issue"
    if count == n:
        return f"all {counted(n, _UNITS)}"
    return f"{count or 'none'} of {counted(n, _UNITS)}"


def _candidates(model: ModelView) -> Iterator[CandidateFinding]:
    yield _scored(model)
    yield from _shifted(model)
    yield from _one_argument(model)


Sides = tuple[str | None, str | None]
"""The sentences for above and below zero."""


def _candidate(
    model: ModelView,
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


def _scored(model: ModelView) -> CandidateFinding:
    """The score corrected for chance, which does not raise it, however few the answers are."""
    score, of = model.number(_SCORE), f"{model.name}'s open-mindedness, corrected for chance,"
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


def _plain_score(model: ModelView) -> Finding | None:
    """The score where nothing could be tested, or where it is below 0."""
    score = model.number(_SCORE)
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


def _flips(model: ModelView) -> list[Cells]:
    """Every configuration of every issue that has a baseline stance."""
    return [asked for asked in model.conditions if asked["condition"] != "baseline" and asked["flips"] is not None]


def _flipped(model: ModelView) -> OwnTest:
    """Whether arguments changed the most common answer to any issue by more than chance does to so many answers."""
    flips = _flips(model)
    return OwnTest(
        model=model.name,
        measure=_BEYOND,
        tested=bool(flips),
        found=lambda chance: _moved(model, flips, chance / max(1, len(flips))),
    )


def _moved(model: ModelView, flips: list[Cells], chance: float) -> Iterator[Finding]:
    """The share of issues moved, and the issues with a flip beyond what chance does, at this probability of an error in
    each."""
    beyond = len({asked["issue"] for asked in flips if asked["flips"] and _beyond(model, asked, chance)})
    moved, flipped = model.number("issues_moved"), sum(bool(issue["issues_moved"]) for issue in model.issues)
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
        n = len({asked["issue"] for asked in flips})
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


def _beyond(model: ModelView, asked: Cells, chance: float) -> bool:
    """Whether the share of the baseline's stance fell by more than chance does, at this probability of an error.

    Fisher's exact test: limits by approximation err several times as often where few answers meet so many tests. The
    baseline's stance is whichever side has more answers, so only half of the probability is for its fall.
    """
    name = str(asked["issue"])
    stance = next(issue["stance"] for issue in model.issues if issue["issue"] == name)
    if stance is None:
        return False
    shares = [model.number(str(stance), condition, name) for condition in ("baseline", str(asked["condition"]))]
    counts = [number for share in shares for number in (round(share.value * share.n), share.n)]
    return exact_fall(*counts) <= chance / 2


def _shifted(model: ModelView) -> Iterator[CandidateFinding]:
    for side in _OTHER:
        if model.has("shift", f"one-sided-{side}"):
            yield _one_sided(model, side, model.number("shift", f"one-sided-{side}"))
    if model.has("shift", "balanced"):
        balanced = model.number("shift", "balanced")
        said = f"Arguments from both sides {EITHER} {model.name}'s share of pro answers by {_points(balanced)}."
        yield _candidate(model, balanced, "shifts", either(said, "raised", "lowered"), measure="shift_balanced")


def _one_sided(model: ModelView, side: Side, shift: Estimate) -> CandidateFinding:
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
            *([_persuaded(model, start, model.number("shift_con", condition))] if side == "con" else []),
            _unsided(model, start, side, model.number("shift_other", condition)),
        ),
    )


def _persuaded(model: ModelView, start: str, con: Estimate) -> CandidateFinding:
    """That the con share itself rose, and not that of answers without a side."""
    raised = f"{start} raised {model.name}'s share of con answers by {_points(con)}."
    return _candidate(model, con, "shifts", (raised, None), measure="shift_con_one_sided_con", replaces=True)


def _unsided(model: ModelView, start: str, side: Side, other: Estimate) -> CandidateFinding:
    said = f"{start} {EITHER} {model.name}'s share of answers that are neither pro nor con by {_points(other)}."
    sides = either(said, "raised", "lowered")
    return _candidate(model, other, "shifts", sides, measure=f"shift_other_one_sided_{side}")


def _one_argument(model: ModelView) -> Iterator[CandidateFinding]:
    sides: tuple[Side, ...] = ("con", "pro")
    for side in sides:
        effect = model.number(f"contrary_{side}")
        said = (
            f"A single {side} argument among {_OTHER[side]} ones lowered {model.name}'s share of {_OTHER[side]} answers"
            f" by {_points(effect)}."
        )
        yield _candidate(model, effect, "contrary", (said, None), measure=f"contrary_{side}")


def _pulled(model: ModelView) -> Iterator[CandidateFinding]:
    if not model.has("pulls_last"):
        return
    letter, last = model.number("pulls_letter"), model.number("pulls_last")
    said = f"{model.name} prefers the answer called {EITHER}: that letter raises a side's share by {_points(letter)}."
    caution = "Part of its answers is due to the letter: read the corrected numbers."
    sides = either(said, "A", "B")
    yield _candidate(model, letter, "letter", sides, measure="pulls_letter", about="letters", caution=caution)
    more = f"{model.name} favours the side that has the last argument, by {_points(last)}."
    less = f"{model.name} turns against the side that has the last argument, by {_points(last)}."
    yield _candidate(model, last, "letter", (more, less), measure="pulls_last", about="order")


def _points(estimate: Estimate) -> str:
    return f"{number(abs(estimate.value), 'points').lstrip('+')} points"


_FREE = (
    ("free_differs", "departs from its forced answer"),
    ("free_abstains", "takes no side, though one when forced,"),
    ("free_opposite", "takes the other side"),
)


def _freely(model: ModelView) -> Iterator[Finding]:
    """How often it answers differently when nothing forces it, and how. Whether that is more than chance is said when
    it is compared with its null condition."""
    if not model.has("free_differs") or isnan(model.number("free_differs").value):
        return
    for measure, does in _FREE:
        share = model.number(measure)
        said = f"Free to answer in its own words, {model.name} {does} in {number(share.value, 'share')} of pairs."
        yield level_finding(
            model.name, said, share.n, "issues", "free", number=share, kind="share", judge="judge", measure=measure
        )


def traits(analysis: Analysis) -> Iterator[Trait]:
    """What open-mindedness adds to models' profiles: how they lean alone, what arguments do to them, where they take no
    side."""
    for model in models_of(analysis):
        if model.has("free_abstains") and not isnan(model.number("free_abstains").value):
            yield _trait(
                model,
                "free_abstains",
                "No side when free, though one when forced",
                f"Free to answer in its own words, {model.name} takes no side in {{}} of pairs, although its forced"
                " answer takes one.",
                "free",
            )
    for model in models_of(analysis):
        said = f"Without arguments, {model.name} answers pro more often than con on {{}} of issues."
        leaning = _trait(model, "leaning_pro", "Issues on which it leans pro", said, "baseline", aspect="stands")
        yield (
            msgspec.structs.replace(leaning, number=not_computed(why))
            if (why := void(analysis, model.name))
            else leaning
        )
        yield _moved_by_arguments(model)
        if model.has("other", "baseline"):
            said = f"Asked without arguments, {model.name} takes no side in {{}} of its answers."
            yield _trait(model, "other", "No side taken", said, "refusals", condition="baseline")


def _trait(
    model: ModelView,
    measure: str,
    title: str,
    said: str,
    exhibit: str,
    *,
    condition: str | None = None,
    aspect: Aspect = "refuses",
) -> Trait:
    """A share, which `said` gives in braces."""
    share = model.number(measure, condition)
    return Trait(
        aspect=aspect,
        model=model.name,
        title=title,
        sentence=said.format(number(share.value, "share")),
        number=share,
        units=_UNITS,
        exhibit=exhibit,
    )


def _moved_by_arguments(model: ModelView) -> Trait:
    """The cross-fitted score, which chance alone does not raise."""
    score = model.number(_SCORE)
    if why := void(model.analysis, model.name):
        said, score = f"What arguments do to {model.name} is not measured: {why}.", not_computed(why)
    elif isnan(score.value):
        said = f"What arguments do to {model.name} cannot be determined from these answers."
    else:
        said = (
            f"{model.name}'s open-mindedness, corrected for chance, is {number(score.value, 'score')} out of 100"
            " (0: never moved; 100: moved by any argument)."
        )
    return Trait(
        aspect="moved",
        model=model.name,
        title="By arguments: open-mindedness",
        sentence=said,
        number=score,
        units=_UNITS,
        exhibit="open-mindedness",
        kind="score",
        within=(0.0, 100.0),
        null=0.0,
    )
