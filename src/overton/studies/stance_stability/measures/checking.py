"""Whether a table of turns can be measured, and the table with typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from overton.errors import InputError, Problem
from overton.studies.stance_stability.record import STANCES

__all__ = ["KEY", "UNNAMED", "check"]

UNNAMED = "unnamed"
"""Stands for the model where a table names none."""

KEY = ("model", "temperature", "conversation")
"""What tells conversations apart: models share the names of trials."""

_NEEDED = ("conversation", "turn", "stance")
_TYPES: Mapping[str, pl.DataType] = {
    **dict.fromkeys(("conversation", "model", "domain", "topic", "ordering", "failure"), pl.String()),
    **dict.fromkeys(("stance", "premise_stance"), pl.String()),
    **dict.fromkeys(("temperature", "confidence"), pl.Float64()),
    **dict.fromkeys(("turn", "judge_attempts", "miscited"), pl.Int64()),
    **dict.fromkeys(("retrieved", "cited"), pl.List(pl.String())),
}
_OF_CONVERSATION = ("domain", "topic", "ordering")


def check(turns: pl.DataFrame) -> pl.DataFrame:
    """The columns that are measured, in their own types; `model` and `temperature` are always there.

    Raises:
        InputError: every problem found.
    """
    missing = [name for name in _NEEDED if name not in turns.columns]
    if missing:
        raise InputError([Problem("turns", name, "this column is missing") for name in missing])
    if turns.is_empty():
        raise InputError("the table of turns has no rows")
    table = _typed(turns)
    if problems := [*_problems(table), *_unsteady(table)]:
        raise InputError(problems)
    return table


def _typed(turns: pl.DataFrame) -> pl.DataFrame:
    """An optional column that is null throughout is as good as none, and so is a text that is empty."""
    known = [name for name in _TYPES if name in turns.columns and (name in _NEEDED or _says_something(turns[name]))]
    absent = [
        pl.lit(value, _TYPES[name]).alias(name)
        for name, value in (("model", UNNAMED), ("temperature", None))
        if name not in known
    ]
    try:
        return turns.select(_cast(name) for name in known).with_columns(*absent)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError([Problem("turns", "", f"a column holds values of another kind: {reason}")]) from error


def _cast(name: str) -> pl.Expr:
    column = pl.col(name).cast(_TYPES[name])
    return column.replace("", None) if _TYPES[name] == pl.String else column


def _says_something(column: pl.Series) -> bool:
    said = column.is_not_null() & (column != "") if column.dtype == pl.String else column.is_not_null()
    return bool(said.any())


def _problems(table: pl.DataFrame) -> list[Problem]:
    problems = [
        Problem("turns", name, "is empty in some row")
        for name in ("conversation", "turn", "model")
        if table[name].null_count()
    ]
    for name in ("stance", "premise_stance"):
        problems += _unknown(table[name], STANCES) if name in table.columns else []
    if "confidence" in table.columns and not table["confidence"].drop_nulls().is_between(0, 1).all():
        problems.append(Problem("turns", "confidence", "must be between 0 and 1"))
    return problems


def _unknown(column: pl.Series, allowed: Sequence[str]) -> list[Problem]:
    return [
        Problem("turns", column.name, f"{value!r} is none of {', '.join(allowed)}")
        for value in column.unique().drop_nulls().sort().to_list()[:20]
        if value not in allowed
    ]


def _unsteady(table: pl.DataFrame) -> list[Problem]:
    """Conversations that have two domains, say: most likely two conversations under one name."""
    names = [name for name in _OF_CONVERSATION if name in table.columns]
    if not names:
        return []
    differs = table.group_by(KEY).agg(pl.col(name).drop_nulls().n_unique() > 1 for name in names)
    return [
        Problem("turns", name, f"conversation {differs.filter(name)['conversation'].min()!r} has more than one")
        for name in names
        if differs[name].any()
    ]
