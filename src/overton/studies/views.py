"""Views: the same results with other records, which are measured as the design is.

Null conditions, results without malformed replies, other judges and half of the trials all have this form. Items,
models and runs stay, and a study makes its units once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from overton.studies.null_conditions import Null
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.study import AnyStudy

View: TypeAlias = Callable[[Results], Results]


def views_of(study: AnyStudy, results: Results) -> dict[str, View]:
    """The views of these results, by name.

    'design' changes nothing. 'without_faults' is there if the study says which replies are left out, 'null/NAME' for
    each null condition with records of its own, and 'judge/NAME' for each judge but the first. 'odd' and 'even' are the
    trials with odd and even repetitions, if there are both.
    """
    measuring = study.measuring
    found: dict[str, View] = {"design": _design}
    if measuring is not None and measuring.without_faults is not None:
        found["without_faults"] = measuring.without_faults
    for null in study.nulls:
        if null.view is not None or null.name in results.nulls:
            found[f"null/{null.name}"] = partial(null_alone, null=null)
    found |= {f"judge/{name}": partial(_judged_by, name=name) for name in results.others}
    column = measuring.comparing.trial if measuring is not None and measuring.comparing is not None else ""
    if (halves := halves_of_trials(results, column)) is not None:
        found |= {"odd": partial(_kept, which=halves), "even": partial(_kept, which=~halves)}
    return found


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


def _design(results: Results) -> Results:
    return results


def _judged_by(results: Results, name: str) -> Results:
    return replace(results, records=results.others[name].records, nulls=results.others[name].nulls)


def _kept(results: Results, which: Any) -> Results:
    return part_of(results, results.records.filter(which))
