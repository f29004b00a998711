"""Whether a table of decisions can be measured, and the table with every column that measures look for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from overton.errors import InputError, Problem
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.options import FORMATS

__all__ = ["MOST_AGENTS", "check", "repeated_turn"]

MOST_AGENTS = 64
_MOST_ROUNDS = 100
_NEEDED = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict")
_TEXTS = ("deliberation", "dilemma", "format", "goal", "model", "agent", "verdict", "crowd", "failure")
_TURN = ("deliberation", "dilemma", "format", "goal", "agent", "round")


def check(decisions: pl.DataFrame) -> pl.DataFrame:
    """The table with typed columns, those that may be missing added: `agent` as the model, others as null.

    Raises:
        InputError: every problem found.
    """
    missing = [name for name in _NEEDED if name not in decisions.columns]
    if missing:
        raise InputError([Problem("decisions", name, "this column is missing") for name in missing])
    if decisions.is_empty():
        raise InputError("the table of decisions has no rows")
    table = _typed(decisions)
    if problems := _problems(table):
        raise InputError(problems)
    return table


def _typed(decisions: pl.DataFrame) -> pl.DataFrame:
    def column(name: str, dtype: pl.DataType) -> pl.Expr:
        return (pl.col(name) if name in decisions.columns else pl.lit(None)).cast(dtype).alias(name)

    return decisions.select(
        *(column(name, pl.String()) for name in _TEXTS),
        column("round", pl.Int64()),
        column("position", pl.Int64()),
        column("values", pl.List(pl.String())),
    ).with_columns(pl.col("agent").fill_null(pl.col("model")))


def _problems(table: pl.DataFrame) -> list[Problem]:
    problems = [
        Problem("decisions", name, "is empty in some row")
        for name in ("deliberation", "dilemma", "format", "round", "model")
        if table[name].null_count()
    ]
    for name, allowed in (("format", FORMATS), ("verdict", VERDICTS), ("crowd", VERDICTS)):
        problems += _unknown(table[name], allowed)
    if not table["round"].drop_nulls().is_between(1, _MOST_ROUNDS).all():
        problems.append(Problem("decisions", "round", f"must be 1 to {_MOST_ROUNDS}"))
    if table.filter((pl.col("format") == "round-robin") & ~(pl.col("position") >= 1).fill_null(False)).height:
        reason = "must be 1 or more in every row of a round-robin deliberation: else who spoke first is not known"
        problems.append(Problem("decisions", "position", reason))
    return problems


def _unknown(column: pl.Series, allowed: Sequence[str]) -> list[Problem]:
    return [
        Problem("decisions", column.name, f"{value!r} is none of {', '.join(allowed)}")
        for value in column.unique().drop_nulls().sort().to_list()
        if value not in allowed
    ]


def repeated_turn(table: pl.DataFrame) -> InputError:
    """The error for a table in which some agent speaks twice in a round."""
    row = table.filter(table.select(_TURN).is_duplicated()).row(0, named=True)
    where = f"deliberation {row['deliberation']}, round {row['round']}"
    reason = (
        f"agent {row['agent']} speaks more than once; agents that share a model need a column 'agent', deliberations "
        "names of their own"
    )
    return InputError([Problem("decisions", where, reason)])
