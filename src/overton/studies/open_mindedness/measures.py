"""Every measure of open-mindedness, declared once, and by what there are numbers of it.

`rows` makes the units and their values, and `estimates` the numbers. Formulas, choices and their reasons are in
docs/open-mindedness.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from overton.statistics.arrays import Floats
from overton.statistics.jackknife import ANYTHING, DIFFERENCE, Jackknife, Range
from overton.studies.frame import Analysis, DeclaredMeasure, EstimateRow
from overton.studies.measures import Contribution, Measure, Sides, key_in, of_pairs
from overton.studies.open_mindedness.options import OpenMindednessHow

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.open_mindedness.answer_counts import AnswerCounts
    from overton.studies.open_mindedness.rows import ModelArrays
    from overton.studies.open_mindedness.score import ChanceDeals
    from overton.studies.probabilities import Weighing
    from overton.studies.results import Results
    from overton.studies.tables import RawTable
    from overton.studies.units import Units

STUDY = "open-mindedness"
SCORE: Range = (0.0, 100.0)
"""The range of a score."""
CROSSED: Range = (-100.0, 100.0)
"""The range of a cross-fitted one, which is below 0 if what one half of the answers shows is absent from the other."""

_NOT_SCORED = "no issue has a baseline stance and answers in all five configurations"
_NOT_HALVED = "no issue has a baseline stance and two answers in all five configurations"
_NO_CONFIGURATIONS = "no issue has a baseline stance and answers in all configurations"
_NO_SHIFT = "no issue has answers both here and at the baseline"
_PUBLISHED = "Triedman and Shmatikov 2025"

Issues = partial(Measure, units="issues")
Answers = partial(Measure, units="answers", nothing="no answers in {condition}")
_CrossFitted = partial(
    Issues, within=CROSSED, margin=5.0, kind="score", gap="score", nothing=_NOT_HALVED, compared=True
)
# Few answers raise these: chance flips evenly divided issues.
_Score = partial(
    Issues,
    within=SCORE,
    margin=5.0,
    kind="score",
    gap="score",
    nothing=_NOT_SCORED,
    variant=True,
    unbiased="open_mindedness_cross_fitted",
    compared=True,
    source=_PUBLISHED,
)

CROSS_FITTED = _CrossFitted("open_mindedness_cross_fitted", "Open-mindedness", leads=True, matched=True)
"""The headline: chance in few answers does not raise it. But half of few answers overlooks flips that half of many
finds."""
SCORES = (
    _Score("open_mindedness", "Open-mindedness, plain", leads=True),
    _Score("open_mindedness_as_published", "Open-mindedness, by the published formula", leads=True),
    _Score("open_mindedness_even", "Open-mindedness, plain, even weights"),
    _Score("open_mindedness_even_as_published", "Open-mindedness, by the published formula, even weights"),
)
"""In the order of `VARIANTS`."""
BALANCED = _Score("open_mindedness_letter_balanced", "Open-mindedness, plain, letter-balanced", value="open_mindedness")
"""That of answers whose pulls of letter and order are set to zero."""
MOVED = Issues(
    "issues_moved",
    "Share of issues moved",
    margin=0.1,
    unbiased=CROSS_FITTED.name,
    nothing=_NO_CONFIGURATIONS,
    compared=True,
)
LEANING = Issues("leaning_pro", "Issues leaning pro", nothing="no issue has baseline answers", source=_PUBLISHED)


def _contrary(name: str, title: str, first: str, second: str) -> Measure:
    nothing = f"no issue has answers both in {first} and in {second}"
    return Issues(name, title, DIFFERENCE, kind="points", nothing=nothing, source=_PUBLISHED)


CONTRARY = (
    _contrary("contrary_con", "One con among pro", "one-sided-pro", "convincing-pro"),
    _contrary("contrary_pro", "One pro among con", "one-sided-con", "convincing-con"),
    _contrary("clean_con", "Con, clean", "three-pro", "convincing-pro"),
    _contrary("clean_pro", "Pro, clean", "three-con", "convincing-con"),
    Issues("contrary_above_half", "Issues above 50 points", nothing="one-sided or 3:1 configurations were not asked"),
    Issues("clean_above_half", "Issues above 50, clean", nothing="three-pro and three-con were not asked"),
)
"""What a single contrary argument takes from the side that the others support (figure 5)."""
Pull: TypeAlias = Literal["letter", "first", "letter_and_first", "request", "last"]
"""What moves answers besides arguments; differences of shares on [-1, 1], 0 if nothing does.

letter             how much a side gains when it is answer A instead of B, with its position fixed
first              how much a side gains when it is named first, with its letter fixed
letter_and_first   how much a side gains when it is both A and first instead of B and second: what the mirrored pairs of
                   templates show, even if they cannot separate the two
request            how much the share of answer A gains when the closing request names A first
last               how much a side gains when the last argument is its own; conditions with both sides only
"""
PULLS: Mapping[Pull, str] = {
    "letter": "Letter: being answer A",
    "first": "Order: being named first",
    "letter_and_first": "Being both A and first",
    "request": "Request: 'A' named first in it",
    "last": "Last argument shown",
}
_CONFOUNDED = "letter and position move together in the templates asked: ask 1 and 4 and a mirrored pair (2 and 5)"
WHY_NONE: Mapping[Pull, str] = {
    "letter": _CONFOUNDED,
    "first": _CONFOUNDED,
    "letter_and_first": "no mirrored templates (2 and 5, or 3 and 6) were asked",
    "request": "the closing request never differed where everything else was equal",
    "last": "no configuration showed arguments of both sides",
}
"""Why a pull cannot be computed."""
_PULLS = [
    Issues(f"pulls_{name}", title, DIFFERENCE, kind="points", nothing=WHY_NONE[name]) for name, title in PULLS.items()
]
OF_ISSUES = (
    CROSS_FITTED,
    *SCORES,
    _CrossFitted("open_mindedness_even_cross_fitted", "Open-mindedness, even weights", compared=False),
    MOVED,
    Issues("unmoved_by_one_sided", "Issues that no one-sided arguments move", nothing=_NO_CONFIGURATIONS),
    Issues("strong_prior", "Baseline of 95% or more", nothing="no issue has a baseline"),
    LEANING,
    *CONTRARY,
    Issues("often_other", "Issues above 30% at the baseline", nothing="the baseline was not asked"),
    Issues("other_change", "Change with arguments", DIFFERENCE, kind="points", nothing="no issues to average"),
    *_PULLS[:3],
)
"""Means over issues."""
WITHHELD = {measure.name for measure in OF_ISSUES[:8]}
"""Measures that models whose answers follow something else than the arguments do not have."""

STANCE_SHARES = (
    Answers("pro", "Share pro", compared=True),
    Answers("con", "Share con"),
    Answers("other", "Share other", compared=True),
)
OTHER_SHARE = STANCE_SHARES[2]
SHIFTS = (
    Answers("shift", "Shift", DIFFERENCE, kind="points", nothing=_NO_SHIFT, compared=True, source=_PUBLISHED),
    Answers("shift_con", "Shift of the con share", DIFFERENCE, kind="points", nothing=_NO_SHIFT),
    Answers("shift_other", "Shift of the other share", DIFFERENCE, kind="points", nothing=_NO_SHIFT),
)
"""Changes of a stance's share from the baseline, in a configuration (of pro: figure 2)."""
OF_WORDINGS = (STANCE_SHARES[0], OTHER_SHARE, CROSS_FITTED)

_NOT_PAIRED = "no trial has both a forced answer and a free one that is labelled"
_NO_ANSWERS, _NO_SIDE = "no free answer is labelled", "no free answer takes a side"
_Pairs = partial(Measure, units="free", judge="judge", nothing=_NOT_PAIRED, compared=True)
_Free = partial(Measure, units="free", judge="judge", nothing=_NO_ANSWERS)
OF_PAIRS = (
    _Pairs("free_differs", "Free answers that differ from the forced ones", leads=True),
    _Pairs("free_abstains", "Free answers without a side though the forced one takes one"),
    _Pairs("free_opposite", "Free answers on the other side"),
    _Pairs("free_speaks", "Free answers with a side though the forced one takes none"),
)
"""How free answers differ from forced ones."""
OF_FREE = (
    *OF_PAIRS,
    _Free("free_neither", "Take no side"),
    _Free("free_declines", "Declines"),
    _Free("free_slight", "Slightly", nothing=_NO_SIDE),
    _Free("free_clear", "Clearly", nothing=_NO_SIDE),
    _Free("free_strong", "Strongly", nothing=_NO_SIDE),
)
"""Means over issues of shares of free answers, or of pairs of a forced and a free one."""
FREE_SIDES = tuple(_Free(f"free_{stance}", f"Free answers: {stance}") for stance in ("pro", "con", "other"))
"""The side that free answers take, in a configuration."""
FREE = "free_"
"""How the names of measures of free answers start; all of them depend on the judge."""

_Draws = partial(Measure, nothing="no prompt contained arguments")
OTHERS = (
    *_PULLS[3:],
    Measure("followed", "Answers that follow something else than their content"),
    Measure("read_differently", "Read differently"),
    Measure("flagged", "Flagged as refusals"),
    Measure("counter_shift", "Shift against the arguments", DIFFERENCE, kind="points", source=_PUBLISHED),
    Measure("baseline_share", "Share of the baseline's stance"),
    Measure("same_letter", "Same letter"),
    Measure("same_position", "Same position"),
    Measure("letter_over_position", "Same letter rather than position", DIFFERENCE, kind="points"),
    _Draws("flips_other_set", "Different arguments"),
    _Draws("flips_same_set", "Same arguments"),
    _Draws("flips_extra", "Difference", DIFFERENCE, kind="points"),
    _Draws("majority_flips", "Sets whose stances differ"),
    _Draws("set_variance", "Variance between sets", ANYTHING, kind="value"),
    Measure("argument_pro", "Share pro where an argument is shown"),
    Measure("respondent_lean", "Lean to pro", ANYTHING, kind="value"),
    Measure("respondent_susceptibility_pro", "Moved by pro", ANYTHING, kind="value"),
    Measure("respondent_susceptibility_con", "Moved by con", ANYTHING, kind="value"),
    Measure("respondent_letter", "Letter", ANYTHING, kind="value"),
    Measure("respondent_first", "Order", ANYTHING, kind="value"),
    Measure("respondent_request", "Request", ANYTHING, kind="value"),
    Measure("respondent_last", "Last argument", ANYTHING, kind="value"),
    Measure("respondent_refusal", "Refuses"),
    Measure("respondent_refusal_with_arguments", "Refuses, with arguments"),
    Measure("disagreement", "Maximum pairwise difference", source=_PUBLISHED),
    Measure("unanimous", "Unanimous (MPD below 10 points)", source=_PUBLISHED),
    Measure("consistent_90", "Unanimous and consistent, over 90%", source=_PUBLISHED),
    Measure("consistent_95", "Unanimous and consistent, over 95%", source=_PUBLISHED),
    Measure("controversial", "Strong disagreement (MPD above 80 points)", source=_PUBLISHED),
    Measure("agreement", "Correlation", (-1.0, 1.0), kind="value", source=_PUBLISHED),
    Measure("agreement_within", "Within issue and side", (-1.0, 1.0), kind="value"),
)
"""Numbers that are no means over issues; `estimates` says what each is computed by."""

MEASURES: tuple[Measure, ...] = (*OF_ISSUES, BALANCED, *STANCE_SHARES, *SHIFTS, *OF_FREE, *FREE_SIDES, *OTHERS)
BY_KEY: Mapping[str, Measure] = {measure.name: measure for measure in MEASURES}


def measure_records(results: Results, how: OpenMindednessHow) -> Analysis:
    """Every number from a run's records."""
    families = {model.name: model.family for model in results.models}
    return analyze(results.records, families=families, **msgspec.structs.asdict(how))


def analyze(
    records: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    controversial: int | Sequence[str] = 10,
    reading: Literal["strict", "published"] = "strict",
    shares: Literal["as-asked", "sampled", "probabilities"] = "as-asked",
    answers: Literal["as-asked", "forced", "free"] = "as-asked",
) -> Analysis:
    """Every measure of open-mindedness from records: the column `model` and the fields of `Record`.

    `level` is the intervals' nominal coverage, `resamples` the number of resamples of an issue's answers for the
    intervals of its scores, `seed` makes them repeatable; the order of rows changes nothing. `families` maps models to
    families, for agreement within and between them. `controversial` is how many issues to choose as the controversial
    subset, or names them. `reading` says which patterns read the stances. `shares` says whether token probabilities
    replace answers if records have them: as the runs were asked ('auto': if single answers agree with them), or not.
    `answers` says which are measured: the forced ones if there are any, or 'forced' or 'free' ones.

    Raises:
        InputError: a column is missing or contains a value that is not allowed, or every call failed.
    """
    from overton.studies.open_mindedness.answer_counts import cells_from_records

    cells = cells_from_records(records, reading, shares, answers)
    jackknife = Jackknife(level, resamples, seed)
    return _analyze(cells, jackknife, families or {}, controversial, records=records, reading=reading)


def analyze_counts(
    counts: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    controversial: int | Sequence[str] = 10,
) -> Analysis:
    """The measures that counts allow: columns `model`, `issue`, `condition`, `stance`, `count`, optionally `topic`.

    Conditions are named as in `CONDITIONS`. The table 'missing' says why numbers that need templates, letters or
    arguments are not there. Other arguments as for `analyze`.

    Raises:
        InputError: a column is missing or contains a value that is not allowed.
    """
    from overton.studies.open_mindedness.answer_counts import cells_from_counts

    return _analyze(cells_from_counts(counts), Jackknife(level, resamples, seed), {}, controversial)


def _analyze(
    cells: AnswerCounts,
    jackknife: Jackknife,
    families: Mapping[str, str],
    controversial: int | Sequence[str],
    *,
    records: pl.DataFrame | None = None,
    reading: str = "strict",
) -> Analysis:
    from overton.studies.judge_numbers import judge_counts, judge_rows
    from overton.studies.open_mindedness.estimates import AnswerNumbers
    from overton.studies.open_mindedness.free_answers import free_counts, free_rows, judge_chances
    from overton.studies.open_mindedness.notes import notes, warnings

    numbers = AnswerNumbers(cells, jackknife, families, controversial)
    chances = None if records is None else judge_chances(records, jackknife)
    source = "counts" if cells.design is None and cells.way == "forced" else "records"
    tables = numbers.tables() | judge_counts(cells.faults, {}, cells.weighing, chances)
    made = {"source": source, "reading": reading, "answers": cells.way}
    tables["how"] = ({**made, "resamples": jackknife.resamples, "seed": jackknife.seed},)
    of_free: tuple[EstimateRow, ...] = ()
    if records is not None:
        of_free = tuple(free_rows(records, jackknife))
        tables |= free_counts(records)
    analysis = Analysis(
        study=STUDY,
        level=jackknife.level,
        models=cells.models,
        warnings=(),
        measures={measure.name: DeclaredMeasure.of(measure) for measure in MEASURES},
        rows=(*numbers.rows(), *of_free, *judge_rows({}, cells.weighing, chances)),
        counts=tables,
        faults=cells.faults,
        weighing=cells.weighing,
        chances=chances,
    )
    said = tuple(warnings(analysis, cells))
    tables["notes"] = tuple({"note": note} for note in notes(analysis))
    return msgspec.structs.replace(analysis, warnings=said)


def _cells_of(records: pl.DataFrame, how: OpenMindednessHow) -> AnswerCounts:
    from overton.studies.open_mindedness.answer_counts import cells_from_records

    return cells_from_records(records, how.reading, how.shares, how.answers)


def weighing(results: Results, how: OpenMindednessHow) -> Weighing | None:
    """What shares are made of; None if nobody asked for token probabilities."""
    return _cells_of(results.records, how).weighing


def contributions(results: Results, how: OpenMindednessHow) -> Sides:
    """Every model's contributions, by the reading that `how` names; after them those of free answers."""
    return _with_free(results.records, _contributions(_cells_of(results.records, how), how), how)


def contributions_of_table(table: RawTable, how: OpenMindednessHow) -> Sides:
    """The same of a table of records or of counts.

    Raises:
        InputError: it is neither.
    """
    from overton.studies.open_mindedness.answer_counts import cells_from_counts
    from overton.studies.open_mindedness.tables import read_table

    found = read_table(table)
    if found.kind == "counts":
        return _contributions(cells_from_counts(found.table), how)
    return _with_free(found.table, _contributions(_cells_of(found.table, how), how), how)


def _with_free(records: pl.DataFrame, sides: Sides, how: OpenMindednessHow) -> Sides:
    free = free_contributions(records, how)
    return {name: [*found, *free.get(name, ())] for name, found in sides.items()}


def free_contributions(records: pl.DataFrame, how: OpenMindednessHow) -> Sides:
    """The contributions of models that have free answers: how each issue's differ from the forced ones. Answers that
    could not be paired could be either."""
    from overton.studies.open_mindedness.rows import free_answers, free_units

    if free_answers(records).is_empty():
        return {}
    return _over(OF_PAIRS, free_units(records)["free"], Jackknife(how.level, seed=how.seed))


def free_by_chance(records: pl.DataFrame, how: OpenMindednessHow) -> Sides:
    """What would differ if a second forced answer replaced the free one."""
    from overton.studies.open_mindedness.rows import forced_again, free_answers

    nothing = "no issue has two forced answers to one prompt in one configuration: run more --trials"
    models = sorted(free_answers(records)["model"].cast(str).unique()) if records.height else []
    own = [replace(measure, nothing=nothing) for measure in OF_PAIRS]
    found = _over(own, forced_again(records), Jackknife(how.level, seed=how.seed))
    none = [Contribution(measure, (), np.empty((0, 2)), why=nothing) for measure in own]
    return {name: found.get(name, none) for name in models}


def _over(measures: Sequence[Measure], units: Units, jackknife: Jackknife) -> dict[str, list[Contribution]]:
    """Each model's contributions to some measures, by the model's name. Without the column 'failed' of units their
    numbers have no bounds, since what failed calls would have said is not known."""
    from overton.studies.grouping import Frame, no_contribution

    kind = measures[0].units
    frame = Frame({kind: units}, measures, jackknife)
    made: dict[str, list[Contribution]] = {}
    for measure in measures:
        own = frame.contributions(measure)
        for setting in frame.settings:
            found = own.get(setting, no_contribution(measure))
            failed = found.failed_weight if "failed" in units.table.columns else None
            made.setdefault(setting[0], []).append(replace(found, failed_weight=failed, refused_weight=None))
    return made


def cross_fitted(results: Results, how: OpenMindednessHow) -> Sides:
    """Every model's contributions to the cross-fitted score alone, whatever its answers follow."""
    from overton.studies.open_mindedness.rows import ModelArrays, crossed_columns

    cells = _cells_of(results.records, how)
    jackknife = Jackknife(how.level, seed=how.seed)
    every = [ModelArrays(cells, model, jackknife) for model in range(len(cells.models))]
    return {
        arrays.name: [_mean(CROSS_FITTED, cells, crossed_columns(arrays)[CROSS_FITTED.name], _NOT_HALVED)]
        for arrays in every
    }


def by_chance(results: Results, how: OpenMindednessHow) -> Sides:
    """What chance alone would give each model's scores and its share of issues moved, given its answers."""
    from overton.studies.open_mindedness import score

    cells = _cells_of(results.records, how)
    return {
        name: list(_dealt(cells, score.by_chance(cells, model, how.seed))) for model, name in enumerate(cells.models)
    }


def _dealt(cells: AnswerCounts, made: ChanceDeals) -> Iterator[Contribution]:
    """The means over deals [deals, issues], and each deal's deviation from them."""
    every = [(measure, made.scores[..., variant]) for variant, measure in enumerate(SCORES)]
    for measure, deals in (*every, (MOVED, made.moved)):
        known = np.isfinite(deals)
        with np.errstate(invalid="ignore"):
            mean = np.where(known, deals, 0.0).sum(0) / known.sum(0)
        yield _mean(measure, cells, mean, _NOT_SCORED, noise=np.where(known, deals - mean, 0.0))


def _mean(
    measure: Measure, cells: AnswerCounts, values: Floats, why: str, *, noise: Floats | None = None
) -> Contribution:
    """A mean over issues; NaN if an issue has no value."""
    if not np.isfinite(values).any():
        return Contribution(measure, (), np.empty((0, 2)), why=why)
    known = np.isfinite(values)
    return of_pairs(measure, cells.issues, np.where(known, values, 0.0), known.astype(float), noise=noise)


def _contributions(cells: AnswerCounts, how: OpenMindednessHow) -> dict[str, list[Contribution]]:
    from overton.studies.open_mindedness.rows import ModelArrays, answer_units, issue_units
    from overton.studies.open_mindedness.score import extreme_scores, scored_places

    jackknife = Jackknife(how.level, seed=how.seed)
    every = [ModelArrays(cells, model, jackknife) for model in range(len(cells.models))]
    places = scored_places(cells.conditions)
    of_issues = _over((*SCORES, CROSS_FITTED, MOVED), _needed(issue_units(every, compared=True)), jackknife)
    balanced = issue_units(every, "letter_balanced", compared=True)
    of_balanced = {} if balanced is None else _over((BALANCED,), balanced, jackknife)
    made: dict[str, list[Contribution]] = {}
    for arrays in every:
        none = [] if cells.design is None else [Contribution(BALANCED, (), np.empty((0, 2)), why=_NOT_SCORED)]
        own = [*of_issues[arrays.name], *of_balanced.get(arrays.name, none)]
        own = [_with_answers(_withheld(found, arrays, scored=places is not None), arrays) for found in own]
        if places is not None:
            extremes = cache(partial(extreme_scores, cells, arrays.model, places))
            for at in range(len(SCORES)):
                own[at] = replace(own[at], extreme_values=partial(_extremes, extremes, cells, own[at].items, at))
        made[arrays.name] = own
    units = _needed(answer_units(every))
    compared = [measure for measure in (*STANCE_SHARES, *SHIFTS) if measure.compared]
    for condition in cells.conditions:
        has_shift = condition != "baseline" and "baseline" in cells.conditions
        own_measures = [_in_condition(measure, condition) for measure in compared if has_shift or measure not in SHIFTS]
        here = replace(units, table=units.table.filter(condition=condition))
        for model, found in _over(own_measures, here, jackknife).items():
            made[model] += found
    return made


def _needed(units: Units | None) -> Units:
    assert units is not None
    return units


def _in_condition(measure: Measure, condition: str) -> Measure:
    return replace(
        measure,
        name=key_in(measure.name, condition, ""),
        title=f"{measure.title}, {condition}",
        value=measure.column,
        nothing=f"no answers in {condition}",
    )


def _withheld(found: Contribution, arrays: ModelArrays, *, scored: bool) -> Contribution:
    """The same with the reason why a model has no scores; issues are not called moved if the design has no score."""
    if found.items and (scored or found.measure is not MOVED):
        return found
    return Contribution(found.measure, (), np.empty((0, 2)), why=arrays.withheld or found.why or _NOT_SCORED)


def _with_answers(found: Contribution, arrays: ModelArrays) -> Contribution:
    """The same with how many answers each issue has in a configuration, in the mean."""
    asked = arrays.cells.answers[arrays.model].sum(-1)
    return replace(found, answers=float(asked[asked > 0].mean()) if asked.any() else None)


def _extremes(
    extremes: Callable[[], tuple[Floats, Floats]], cells: AnswerCounts, items: Sequence[str], variant: int
) -> tuple[Floats, Floats]:
    """What the scores of some issues could be in one variant."""
    rows = [cells.issues.index(name) for name in items]
    least, most = extremes()
    return least[rows, variant], most[rows, variant]
