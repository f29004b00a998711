"""Faults of form: counted, and left out of the numbers that are shown beside the headline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from overton.studies.warnings import FaultCount, count_faults


@dataclass(frozen=True)
class Tables:
    """The tables to be measured, each None if it is missing or has no rows."""

    matches: pl.DataFrame | None
    summaries: pl.DataFrame | None
    rankings: pl.DataFrame | None
    pairs: pl.DataFrame | None


_FAULTY = pl.col("faults").list.len() > 0
_EMPTY = pl.col("faults").list.contains("empty")
_NOTHING_ELSE = (
    (pl.col("faults").list.set_difference(["cut"]).list.len() > 0).all().over("model", "thread", "condition")
)
"""Whether every response to a thread has a fault of form; one that is only cut started to say something."""


def with_marks(tables: Tables) -> Tables:
    """The tables with a mark (`none`) at what never counts as a response: it is empty, or all responses to its thread
    have a fault. A model that echoes or loops then has no score, just like a silent one."""
    return replace(tables, matches=_marked(tables.matches, _EMPTY | _NOTHING_ELSE))


def sparing(tables: Tables) -> Tables | None:
    """The same without anything that has a fault: such responses are marked, rankings and choices become unreadable.

    None if nothing has a fault.
    """
    if not any(_has_faults(table) for table in (tables.matches, tables.rankings, tables.pairs)):
        return None
    return replace(
        tables,
        matches=_marked(tables.matches, _FAULTY),
        rankings=_unread(tables.rankings, "predicted"),
        pairs=_unread(tables.pairs, "correct", "p_popular", "p_other"),
    )


def counted_faults(tables: Tables) -> tuple[FaultCount, ...]:
    """Faults of responses, rankings and choices by model and condition; none for tables without such a column."""
    replies = list(_replies(tables))
    return count_faults(pl.concat(replies), "condition") if replies else ()


def _replies(tables: Tables) -> Iterator[pl.DataFrame]:
    kinds = {"": tables.matches, "ranking, ": tables.rankings, "pairs, ": tables.pairs}
    for kind, table in kinds.items():
        if table is not None and "faults" in table.columns:
            condition = pl.concat_str(pl.lit(kind), "condition").alias("condition")
            yield table.select("model", condition, pl.col("faults").fill_null([]).cast(pl.List(pl.String)))


def _has_faults(table: pl.DataFrame | None) -> bool:
    return table is not None and "faults" in table.columns and bool(table.select(_FAULTY.any()).item())


def _marked(table: pl.DataFrame | None, none: pl.Expr) -> pl.DataFrame | None:
    if table is None or "faults" not in table.columns:
        return table
    return table.with_columns(none=none.fill_null(False))


def _unread(table: pl.DataFrame | None, *answers: str) -> pl.DataFrame | None:
    if table is None or "faults" not in table.columns:
        return table
    there = [pl.col(name) for name in answers if name in table.columns]
    return table.with_columns(
        pl.when(_FAULTY.fill_null(False)).then(None).otherwise(column).name.keep() for column in there
    )
