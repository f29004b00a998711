"""From records or counts of open-mindedness to an analysis, and to the contributions by which models are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from overton.statistics.arrays import Floats
from overton.statistics.jackknife import Jackknife
from overton.studies.frame import Analysis, DeclaredMeasure, EstimateRow
from overton.studies.measures import Contribution, Measure, Sides, key_in, of_pairs
from overton.studies.open_mindedness.measures import (
    BALANCED,
    CROSS_FITTED,
    MEASURES,
    MOVED,
    OF_PAIRS,
    SCORES,
    SHIFTS,
    STANCE_SHARES,
)
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
_NOT_SCORED, _NOT_HALVED = SCORES[0].nothing, CROSS_FITTED.nothing


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
