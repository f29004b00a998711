"""The measures by which models are compared: each thread's sums, in each experiment and condition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics.arrays import AnyFloats, Flags, Floats
from overton.studies.measures import Contribution, Measure, Sides, of_pairs
from overton.studies.pluralism import tables
from overton.studies.pluralism.measures import probabilities_in, probabilities_in_table
from overton.studies.pluralism.measures.assembly import units_of
from overton.studies.pluralism.measures.contrasts import LEADS, called, comparisons, condition_word, measure_word
from overton.studies.pluralism.measures.faultless import Tables
from overton.studies.pluralism.measures.odds import OF, LogitShifts, flaw, shifted
from overton.studies.pluralism.measures.units import NOTHING, ThreadUnits, UnitNames, summed
from overton.studies.results import Results

if TYPE_CHECKING:
    from overton.studies.pluralism.how import PluralismHow
    from overton.studies.probabilities import Weighing
    from overton.studies.tables import RawTable


_RANKS = ("spearman", "kendall")


def _of_sums(of: Callable[[AnyFloats], AnyFloats], sums: AnyFloats) -> AnyFloats:
    """A shift of sums [..., 8], which are a single block."""
    return of(sums[..., None, :])


_SHIFTS = {name: partial(_of_sums, of) for name, of in OF.items()}
_ANY = (-inf, inf)
_LOGITS = 0.25
"""A margin in logits: about six points of recall at one half."""


def of_records(results: Results, how: PluralismHow) -> Sides:
    """Every model's contributions; a thread is open if a trial of it failed or was refused."""
    records = results.records
    weighing, _ = probabilities_in(records, how)
    measured = Tables(
        tables.matches(records),
        tables.summaries(records),
        tables.rankings(records),
        tables.pairs(records, weighed=weighing is not None and weighing.used),
    )
    return sides_of(measured, how, _open_threads(records))


def weighing(results: Results, how: PluralismHow) -> Weighing | None:
    """Whether choices count by their probabilities; None if nobody asked for any."""
    return probabilities_in(results.records, how)[0]


def of_table(table: RawTable, how: PluralismHow) -> Sides:
    """The same of a table of matches (with summaries), rankings or pairs.

    Raises:
        InputError: it is none of these.
    """
    weighing, _ = probabilities_in_table(table, how)
    found = tables.read_table(table, how.summaries, weighed=weighing is not None and weighing.used)
    return sides_of(Tables(found.matches, found.summaries, found.rankings, found.pairs), how)


def sides_of(given: Tables, how: PluralismHow, unknown: Collection[tuple[str, str]] = ()) -> Sides:
    """Every model's contributions; of `unknown` models and threads something is missing."""
    some = Tables(*(table if table is not None and table.height else None for table in vars(given).values()))
    measured, names = units_of(some, {}, how.denominator)
    return {
        model: [
            contribution
            for experiment, units in measured.items()
            for contribution in _contributions(experiment, units, names, number, unknown)
        ]
        for number, model in enumerate(names.models)
    }


def _open_threads(records: pl.DataFrame) -> set[tuple[str, str]]:
    """Model and thread of every trial that failed, or whose reply was refused."""
    gone = pl.col("status") == "failed"
    if "refused" in records.columns:
        gone |= pl.col("refused").fill_null(False)
    return set(records.filter(gone).select("model", "thread").iter_rows())


def _contributions(
    experiment: str, units: ThreadUnits, names: UnitNames, model: int, unknown: Collection[tuple[str, str]]
) -> Iterator[Contribution]:
    where, name = units.where, names.models[model]
    open_ = np.array([(name, thread) in unknown for thread in names.threads], bool)
    for kind, condition in enumerate(units.conditions):
        rows = np.flatnonzero((where.model == model) & (where.kind == kind))
        for column, measure in enumerate(units.measures):
            above, below = (
                np.bincount(where.thread[rows], side[rows, column], len(names.threads))
                for side in (units.above, units.below)
            )
            yield _mean(_measure(experiment, measure, condition), names, above, below, open_)
    pairs = comparisons(units.conditions)
    for shift in shifted(units, pairs):
        if pairs[shift.kind].against == "neutral":
            yield from _shifts(units.conditions[pairs[shift.kind].condition], shift, names, model)


def _mean(
    measure: Measure, names: UnitNames, above: NDArray[np.generic], below: NDArray[np.generic], open_: Flags
) -> Contribution:
    made = of_pairs(measure, names.threads, above, below)
    if not made.items:
        return Contribution(measure, (), np.empty((0, 2)), why=NOTHING)
    return replace(
        made, extreme_values=partial(_extremes, made, open_[[names.threads.index(item) for item in made.items]])
    )


def _extremes(made: Contribution, open_: Flags) -> tuple[Floats, Floats]:
    """Each thread's own value, or anything possible if a trial of it is missing."""
    value, (low, high) = made.parts[:, 0] / made.parts[:, 1], made.measure.within
    return np.where(open_, low, value), np.where(open_, high, value)


def _measure(experiment: str, measure: str, condition: str) -> Measure:
    leads, word = measure == LEADS[experiment], measure_word(experiment, measure)
    name = called(experiment, measure, condition)
    title = f"{experiment.capitalize()}: {word.replace('_', ' ')}, {condition}"
    if measure in _RANKS:
        return Measure(name, title, (-1.0, 1.0), 0.1, "value", "value", leads)
    return Measure(name, title, leads=leads)


def _shifts(condition: str, found: LogitShifts, names: UnitNames, model: int) -> Iterator[Contribution]:
    rows = found.model == model
    sums = np.stack([summed(found.thread[rows], len(names.threads), column) for column in found.sums[rows].T], axis=1)
    there = np.flatnonzero((sums > 0).any(1))
    for name, of in _SHIFTS.items():
        title = f"{name.capitalize()}, {condition} (logits)"
        leads = name != "asymmetry"
        measure = Measure(
            f"{name}_{condition_word(condition)}",
            title,
            _ANY,
            _LOGITS,
            "value",
            "value",
            leads,
            of,
            partial(flaw, name),
        )
        items = tuple(names.threads[i] for i in there)
        yield Contribution(measure, items, sums[there], why="" if items else "no thread has both conditions")
