"""Tables of decisions: which verdict each agent gave in each round of which deliberation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.corpora.findings import quoted
from overton.corpora.records import records_file
from overton.corpora.tables import column_names, read_table, refuse
from overton.errors import InputError, Problem
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.options import FORMATS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DECISION_COLUMNS", "REQUIRED_DECISIONS", "read_decisions"]

REQUIRED_DECISIONS = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict")
"""Without these columns a table holds no decisions."""

DECISION_COLUMNS = (*REQUIRED_DECISIONS, "agent", "goal", "values", "crowd", "failure", "values_dropped")
"""The columns that are read; others are kept only from a run's records."""

_NEVER_EMPTY = ("deliberation", "dilemma", "format", "model")
_WHOLE = ("round", "position", "values_dropped")
_INVALID = ("", "invalid", "none")
_SHOWN = 20
_MOST_ROUNDS = 100


def read_decisions(path: Path) -> pl.DataFrame:
    """The decisions at `path`: a run folder, its records, or a table in .csv, .parquet or .jsonl.

    Columns in any order: deliberation, dilemma, format (synchronous or round-robin), round (from 1), position (from 1;
    empty where all speak at once), model, verdict (YTA, NTA, ESH, NAH or INFO; empty or 'invalid' where it could not be
    read), and perhaps agent (by default the model), goal, values, crowd (a verdict) and failure. Values are lists; in a
    CSV a JSON list, or names with ';' between them, '[]' where there are none, empty where not known. Other columns
    come back as they are from .parquet, and are left out from the others.

    Raises:
        InputError: columns that are missing, and by row (in a CSV by line): empty cells, unknown formats and verdicts,
            rounds and positions that are no whole numbers from 1, an agent that speaks twice in a round.
    """
    import polars as pl

    file = records_file(path)
    raw = _raw(file)
    texts = [name for name in DECISION_COLUMNS if name in raw.columns and name not in (*_WHOLE, "values")]
    table = raw.with_columns(
        *(pl.col(name).cast(pl.String, strict=False).str.strip_chars().replace("", None) for name in texts),
        *(_whole(name, raw.schema[name]) for name in _WHOLE if name in raw.columns),
    )
    table = table.with_columns(
        pl.col("format").str.to_lowercase().str.replace_all("[ _]", "-"),
        *(_verdict(name) for name in ("verdict", "crowd") if name in raw.columns),
    )
    table, bad_values = _with_values(table, raw)
    problems = _problems(raw, table, bad_values, file) or _repeated(table, file)
    if problems:
        raise InputError(problems)
    return table.drop("row")


def _raw(file: Path) -> pl.DataFrame:
    """The table as it is, after the number of its `row`; blank lines are left out."""
    import polars as pl

    names = column_names(file)
    missing = [name for name in REQUIRED_DECISIONS if name not in names]
    if missing:
        needed = ", ".join(REQUIRED_DECISIONS)
        raise refuse(file, "", f"has no column {', '.join(missing)}; a table of decisions has {needed}")
    kept = [name for name in names if file.suffix == ".parquet" or name in DECISION_COLUMNS]
    if "row" in kept:
        kept.remove("row")
    table = read_table(file).select(kept).with_row_index("row")
    return table.filter(~pl.all_horizontal(pl.col(REQUIRED_DECISIONS).is_null()))


def _whole(name: str, dtype: pl.DataType) -> pl.Expr:
    import polars as pl

    value = pl.col(name)
    if dtype.is_integer():
        return value.cast(pl.Int64)
    number = value.cast(pl.String, strict=False).str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(number.floor() == number).then(number).cast(pl.Int64, strict=False).alias(name)


def _verdict(name: str) -> pl.Expr:
    """Verdicts in capitals; null where a verdict says that it is invalid."""
    import polars as pl

    value = pl.col(name)
    return pl.when(value.str.to_lowercase().is_in(_INVALID)).then(None).otherwise(value.str.to_uppercase()).alias(name)


def _with_values(table: pl.DataFrame, raw: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The table with `values` as lists of texts, and which cells hold no such list."""
    import polars as pl

    if "values" not in raw.columns or raw.schema["values"] == pl.List(pl.String):
        return table, pl.repeat(False, raw.height, eager=True)
    bad, lists = [], []
    for cell in raw["values"].to_list():
        try:
            lists.append(_list(cell))
            bad.append(False)
        except ValueError:
            lists.append(None)
            bad.append(True)
    return table.with_columns(pl.Series("values", lists, pl.List(pl.String))), pl.Series(bad)


def _list(cell: Any) -> list[str] | None:
    """The values of a cell. Raises ValueError where they cannot be read."""
    if cell is None or isinstance(cell, list):
        found = cell
    elif not str(cell).strip().startswith("["):
        return [part.strip() for part in str(cell).split(";") if part.strip()]
    else:
        try:
            found = json.loads(cell)
        except RecursionError as error:
            raise ValueError("nested too deep") from error
    if found is not None and not all(isinstance(one, str) for one in found):
        raise ValueError("not all are texts")
    return found


def _problems(raw: pl.DataFrame, table: pl.DataFrame, bad_values: pl.Series, path: Path) -> list[Problem]:
    round_, position, in_turn = table["round"], table["position"], table["format"] == "round-robin"
    checks = [
        *((name, table[name].is_null(), "must not be empty") for name in _NEVER_EMPTY),
        ("format", ~table["format"].is_in(FORMATS), f"must be one of {', '.join(FORMATS)}"),
        ("round", ~round_.is_between(1, _MOST_ROUNDS).fill_null(False), f"must be a whole number, 1 to {_MOST_ROUNDS}"),
        ("position", in_turn & ~(position >= 1).fill_null(False), "must be a whole number from 1 in round-robin"),
        *(
            (name, ~table[name].is_in(VERDICTS), f"must be one of {', '.join(VERDICTS)}, or empty")
            for name in ("verdict", "crowd")
            if name in table.columns
        ),
        ("values", bad_values, "must be a list of texts: JSON, or names with ';' between them"),
    ]
    found = {
        (row, name): Problem(str(path), f"{_place(path, row)}, {name}", _said(value, reason))
        for name, bad, reason in checks
        if name in raw.columns
        for row, value in raw.filter(bad.fill_null(False)).select("row", name).head(_SHOWN).iter_rows()
    }
    return [problem for _, problem in sorted(found.items())]


def _said(value: object, reason: str) -> str:
    return f"is {quoted(value)}; it {reason}" if value is not None else f"is empty; it {reason}"


def _repeated(table: pl.DataFrame, path: Path) -> list[Problem]:
    """Agents that speak twice in a round of one deliberation."""
    import polars as pl

    agent = pl.coalesce("agent", "model") if "agent" in table.columns else pl.col("model")
    turn = [name for name in ("deliberation", "dilemma", "format", "goal", "round") if name in table.columns]
    keyed = table.select("row", *turn, agent=agent)
    again = keyed.filter(keyed.select(*turn, "agent").is_duplicated())
    if again.is_empty():
        return []
    rows = again.group_by(*turn, "agent", maintain_order=True).agg("row")
    reason = (
        "speaks again in a round: agents that share a model need a column 'agent', deliberations names of their own"
    )
    return [
        Problem(str(path), _place(path, second), f"the agent of {_place(path, first)} {reason}")
        for first, second, *_ in rows["row"].to_list()[:_SHOWN]
    ]


def _place(path: Path, row: int) -> str:
    return f"line {row + 2}" if path.suffix == ".csv" else f"row {row + 1}"
