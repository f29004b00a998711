"""Whether a frame from Python is a table that can be measured, and the frame with typed columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from overton.errors import InputError, Problem
from overton.studies.table import Column, Once, Rule, Table
from overton.studies.table_reading import TYPES, completed, readable

__all__ = ["check"]

_SHOWN = 20
_PLURALS = {"whole": "whole numbers", "number": "numbers", "flag": "true and false", "names": "lists"}


def check(table: Table, frame: pl.DataFrame, needed: Sequence[str]) -> pl.DataFrame:
    """See `Table.check`."""
    wanted = dict.fromkeys((*table.needed, *needed))
    if missing := [name for name in wanted if name not in frame.columns]:
        raise InputError([Problem(table.name, name, "this column is missing") for name in missing])
    if frame.is_empty():
        raise InputError([Problem(table.name, "", "has no rows")])
    problems: list[Problem] = []
    typed = []
    for column in table.columns:
        if column.name in frame.columns:
            values, wrong = _typed(table, column, frame[column.name])
            problems += wrong
            if column.name in wanted or values.null_count() < len(values):
                typed.append(values)
    made = pl.DataFrame(typed)
    _refuse(problems)
    _refuse([*_wrong_columns(table, made), *_broken(table, made)])
    _refuse([problem for find in table.checks for problem in find(made)])
    return completed(table, made)


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise InputError(problems)


def _typed(table: Table, column: Column, values: pl.Series) -> tuple[pl.Series, list[Problem]]:
    """The column in its own type, or why it cannot be."""
    try:
        if _other(column, values):
            raise pl.exceptions.InvalidOperationError(str(values.dtype))
        made = values.cast(TYPES[column.kind])
    except pl.exceptions.PolarsError as error:
        said = (str(error).splitlines() or [""])[0][:200]
        reason = f"holds other values than {_PLURALS.get(column.kind, 'texts')}, of another kind: {said}"
        return values, [Problem(table.name, column.name, reason)]
    if column.kind == "name" and (made == "").any():
        made = made.replace("", None)
    return made, []


def _other(column: Column, values: pl.Series) -> bool:
    """What a cast would take for what it is not: lists of texts, fractions for whole numbers, texts for lists."""
    if not readable(column, values.dtype):
        return True
    if column.kind == "names":
        return not isinstance(values.dtype, pl.List | pl.Array | pl.Null)
    if column.kind == "whole" and values.dtype.is_float():
        return bool((values.floor() != values).any())
    return False


def _wrong_columns(table: Table, made: pl.DataFrame) -> Iterator[Problem]:
    for column in table.columns:
        if column.name in made.columns:
            yield from (Problem(table.name, column.name, reason) for reason in _wrong(column, made[column.name]))


def _wrong(column: Column, values: pl.Series) -> Iterator[str]:
    if (column.filled or column.together) and values.null_count():
        yield "is empty in some row"
    if column.known:
        strange = values.unique().drop_nulls()
        strange = strange.filter(~strange.is_in(column.known)).sort().head(_SHOWN)
        yield from (f"{value!r} is none of {', '.join(column.known)}" for value in strange)
    low, high = column.least, column.most
    outside = (low is not None and (values < low).any()) or (high is not None and (values > high).any())
    if outside or (column.kind == "number" and not values.is_finite().all()):
        yield f"must be {column.values() or 'finite'}"


def _broken(table: Table, made: pl.DataFrame) -> Iterator[Problem]:
    for rule in table.rules:
        yield from _by_rule(table, rule, made)
    if table.once is not None and table.once.in_frame:
        yield from _repeated(table, table.once, made)


def _by_rule(table: Table, rule: Rule, made: pl.DataFrame) -> Iterator[Problem]:
    rows = rule.breaking(made)
    if rows is None:
        return
    if not rule.of:
        yield Problem(table.name, rule.column, rule.in_frame)
        return
    for value in made.filter(rows)[rule.of].unique().sort().head(_SHOWN):
        yield Problem(table.name, f"{rule.of} {value}", rule.in_frame)


def _repeated(table: Table, once: Once, made: pl.DataFrame) -> Iterator[Problem]:
    keys = made.select(name for name in once.columns if isinstance(name, str) and name in made.columns)
    if keys.n_unique() == keys.height:
        return
    for row in keys.filter(keys.is_duplicated()).unique().sort(keys.columns).head(_SHOWN).iter_rows(named=True):
        yield Problem(table.name, ", ".join(f"{name} {value}" for name, value in row.items()), once.in_frame)
