"""Whether tables can be measured, and the tables with typed columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from overton.errors import InputError, Problem
from overton.studies.pluralism.measures.analysis import UNNAMED
from overton.studies.pluralism.record import STANCES

__all__ = ["check_matches", "check_pairs", "check_rankings", "check_summaries"]

_SHOWN = 20
_OF_SUMMARIES = (*STANCES, "reference")

Types = Mapping[str, pl.DataType]

_TEXT, _LIST = pl.String(), pl.List(pl.String())
_MATCHES: Types = {"thread": _TEXT, "condition": _TEXT, "response": pl.Int64(), "stance": _TEXT, "matched": _LIST}
_SUMMARIES: Types = {"thread": _TEXT, "summary": _TEXT, "stance": _TEXT}
_RANKINGS: Types = {"thread": _TEXT, "condition": _TEXT, "predicted": _LIST, "true": _LIST}
_PAIRS: Types = {"thread": _TEXT, "condition": _TEXT, "correct": pl.Boolean()}


def check_matches(table: pl.DataFrame) -> pl.DataFrame:
    """`model`, `thread`, `condition`, `response`, `stance`, `matched`; `model` is UNNAMED where the table has none.

    Raises:
        InputError: every problem found.
    """
    typed = _typed("matches", table, _MATCHES)
    _refuse(
        _empty("matches", typed, ("model", "thread", "condition", "response")),
        _unknown("matches", typed["stance"], STANCES),
    )
    return typed


def check_summaries(table: pl.DataFrame) -> pl.DataFrame:
    """`thread`, `summary`, `stance`, and `votes` and `model` where the table has them.

    Raises:
        InputError: every problem found.
    """
    typed = _typed("summaries", table, _SUMMARIES, {"votes": pl.Float64()}, model=False)
    keys = [name for name in ("model", "thread", "summary") if name in typed.columns]
    _refuse(
        _empty("summaries", typed, keys),
        _unknown("summaries", typed["stance"], _OF_SUMMARIES),
        _repeated("summaries", typed, keys, "summary"),
    )
    return typed


def check_rankings(table: pl.DataFrame) -> pl.DataFrame:
    """`model`, `thread`, `condition`, `predicted`, `true`.

    Raises:
        InputError: every problem found.
    """
    typed = _typed("rankings", table, _RANKINGS)
    names = typed["true"].list
    _refuse(
        _empty("rankings", typed, ("model", "thread", "condition", "true")),
        _threads(typed, names.len() == 0, "'true' names no viewpoint"),
        _threads(typed, names.n_unique() < names.len(), "'true' names a viewpoint twice"),
    )
    return typed


def check_pairs(table: pl.DataFrame) -> pl.DataFrame:
    """`model`, `thread`, `condition`, `correct`, and `first` and `experiment` where the table has them.

    Raises:
        InputError: every problem found.
    """
    typed = _typed("pairs", table, _PAIRS, {"first": pl.Boolean(), "experiment": _TEXT})
    _refuse(_empty("pairs", typed, ("model", "thread", "condition")))
    return typed


def _threads(table: pl.DataFrame, wrong: pl.Series, reason: str) -> list[Problem]:
    threads = table.filter(wrong.fill_null(False))["thread"].unique().sort().to_list()
    return [Problem("rankings", f"thread {thread}", reason) for thread in threads[:_SHOWN]]


def _typed(
    name: str, table: pl.DataFrame, needed: Types, more: Types | None = None, *, model: bool = True
) -> pl.DataFrame:
    missing = [column for column in needed if column not in table.columns]
    if missing:
        raise InputError([Problem(name, column, "this column is missing") for column in missing])
    if table.is_empty():
        raise InputError([Problem(name, "", "has no rows")])
    types = {**needed, **(more or {}), "model": _TEXT}
    there = {column: dtype for column, dtype in types.items() if column in needed or _said(table, column)}
    unnamed = [pl.lit(UNNAMED).alias("model")] if model and "model" not in there else []
    try:
        return table.select(*(pl.col(column).cast(dtype) for column, dtype in there.items()), *unnamed)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            [Problem(name, "", f"a column holds other values: {str(error).splitlines()[0][:200]}")]
        ) from error


def _said(table: pl.DataFrame, column: str) -> bool:
    """Whether the table has an optional column that is not empty throughout."""
    return column in table.columns and table[column].null_count() < table.height


def _refuse(*found: Iterator[Problem] | Sequence[Problem]) -> None:
    if problems := [problem for several in found for problem in several]:
        raise InputError(problems)


def _empty(name: str, table: pl.DataFrame, columns: Sequence[str]) -> list[Problem]:
    return [Problem(name, column, "is empty in some row") for column in columns if table[column].null_count()]


def _unknown(name: str, column: pl.Series, allowed: Sequence[str]) -> list[Problem]:
    strange = [value for value in column.unique().drop_nulls().sort().to_list() if value not in allowed]
    return [Problem(name, column.name, f"{value!r} is none of {', '.join(allowed)}") for value in strange[:_SHOWN]]


def _repeated(name: str, table: pl.DataFrame, columns: Sequence[str], what: str) -> Iterator[Problem]:
    keys = table.select(columns)
    if keys.n_unique() == keys.height:
        return
    for row in keys.filter(keys.is_duplicated()).unique().sort(columns).head(_SHOWN).iter_rows(named=True):
        where = ", ".join(f"{column} {value}" for column, value in row.items())
        yield Problem(name, where, f"this {what} stands there more than once")
