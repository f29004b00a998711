"""Views: the same results with other records, which are measured as the design is.

Null conditions, results without malformed replies and half of the trials all have this form. Items, models and runs
stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.studies.null_conditions import Null
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


def null_alone(results: Results, null: Null) -> Results:
    """The records of a null condition in the design's place."""
    return null.view(results) if null.view else part_of(results, results.nulls[null.name])


def halves_of_trials(results: Results, column: str) -> pl.Series | None:
    """Which records are of an odd repetition, by the trials' names in a `column`; None if the column is '' or missing,
    or there are not records of both kinds."""
    if not column or column not in results.records.columns:
        return None
    number = repetitions(results.records[column])
    if number.null_count() or (number % 2).n_unique() < 2:
        return None
    return number % 2 == 1


def repetitions(names: pl.Series) -> pl.Series:
    """From the names of trials: 'issue/balanced/w1/t2/r3' is the third."""
    import polars as pl

    return names.str.extract(r"/r(\d+)$").cast(pl.Int64, strict=False)


def part_of(results: Results, records: pl.DataFrame) -> Results:
    """The same results with some of their records, by the first judge alone."""
    return Results(records, results.items, results.models, results.runs)
