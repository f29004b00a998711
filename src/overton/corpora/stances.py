"""Tables of turns: which stance each answer of which conversation takes, how surely, and from which documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from overton.corpora.findings import quoted
from overton.corpora.records import records_file
from overton.corpora.tables import column_names, read_table, refuse
from overton.errors import InputError, Problem
from overton.studies.stance_stability.record import STANCES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["REQUIRED_TURNS", "TURN_COLUMNS", "read_stances"]

REQUIRED_TURNS = ("conversation", "turn", "stance")
"""Without these columns a table holds no turns."""

TURN_COLUMNS = (
    *REQUIRED_TURNS,
    *("model", "domain", "topic", "temperature", "ordering", "confidence", "retrieved", "cited"),
    *("premise_stance", "failure", "judge_attempts", "miscited"),
)
"""The columns that are read; others are kept only from .parquet, as of a run's records."""

_TEXTS = ("conversation", "stance", "model", "domain", "topic", "ordering", "premise_stance", "failure")
_WHOLE = ("turn", "judge_attempts", "miscited")
_NUMBERS = ("temperature", "confidence")
_LISTS = ("retrieved", "cited")
_LABELS = ("stance", "premise_stance")
_UNLABELLED = ("", "invalid", "none")
_OWN = ("own", "default")
_SHOWN = 20


def read_stances(path: Path) -> pl.DataFrame:
    """The turns at `path`: a run folder, its records, or a table in .csv, .parquet or .jsonl.

    Columns in any order: conversation, turn (a whole number; order and not value counts), stance (supportive, critical,
    balanced, unclear; empty or 'invalid' where there is no usable label), and perhaps model, domain, topic, ordering,
    temperature (a number; empty or 'own' for the endpoint's own), confidence (0 to 1), retrieved and cited (documents
    with spaces between them, or lists; empty is 'none'), premise_stance and failure. Other columns come back as they
    are from .parquet, and are left out from the others.

    Raises:
        InputError: columns that are missing, and by row (in a CSV by line): empty cells, unknown stances, numbers that
            are none or out of range, a turn that stands twice in a conversation.
    """
    import polars as pl

    file = records_file(path)
    raw = _raw(file)
    there = set(raw.columns)
    table = raw.with_columns(
        *(_text(name) for name in _TEXTS if name in there),
        *(_whole(name, raw.schema[name]) for name in _WHOLE if name in there),
        *(_number(name, raw.schema[name]) for name in _NUMBERS if name in there),
        *(_list(name, raw.schema[name]) for name in _LISTS if name in there),
    )
    labels = [name for name in _LABELS if name in there]
    table = table.with_columns(
        pl.when(~pl.col(name).str.to_lowercase().is_in(_UNLABELLED)).then(pl.col(name).str.to_lowercase())
        for name in labels
    )
    problems = _problems(raw, table, file) or _repeated(table, file)
    if problems:
        raise InputError(problems)
    return table.drop("row")


def _raw(file: Path) -> pl.DataFrame:
    """The table as it is, after the number of its `row`; blank lines are left out."""
    import polars as pl

    names = column_names(file)
    missing = [name for name in REQUIRED_TURNS if name not in names]
    if missing:
        needed = ", ".join(REQUIRED_TURNS)
        raise refuse(file, "", f"has no column {', '.join(missing)}; a table of turns has {needed}")
    kept = [name for name in names if (file.suffix == ".parquet" or name in TURN_COLUMNS) and name != "row"]
    table = read_table(file).select(kept).with_row_index("row")
    return table.filter(~pl.all_horizontal(pl.col(REQUIRED_TURNS).is_null()))


def _text(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name).cast(pl.String, strict=False).str.strip_chars().replace("", None)


def _whole(name: str, dtype: pl.DataType) -> pl.Expr:
    import polars as pl

    value = pl.col(name)
    if dtype.is_integer():
        return value.cast(pl.Int64)
    number = value.cast(pl.String, strict=False).str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(number.floor() == number).then(number).cast(pl.Int64, strict=False).alias(name)


def _number(name: str, dtype: pl.DataType) -> pl.Expr:
    import polars as pl

    if dtype.is_numeric():
        return pl.col(name).cast(pl.Float64)
    text = pl.col(name).cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    return pl.when(~text.is_in(_OWN)).then(text).cast(pl.Float64, strict=False).alias(name)


def _list(name: str, dtype: pl.DataType) -> pl.Expr:
    """Documents as lists. In a text an empty cell is no documents; in a list a null is 'not known' and stays so."""
    import polars as pl

    if isinstance(dtype, pl.List) or dtype == pl.Null:
        return pl.col(name).cast(pl.List(pl.String), strict=False)
    return pl.col(name).cast(pl.String, strict=False).fill_null("").str.extract_all(r"\S+").alias(name)


def _problems(raw: pl.DataFrame, table: pl.DataFrame, path: Path) -> list[Problem]:
    import polars as pl

    wanted = f"must be one of {', '.join(STANCES)}, or empty"
    there = set(table.columns)
    checks: list[tuple[str, pl.Series, str]] = [
        ("conversation", table["conversation"].is_null(), "must not be empty"),
        ("turn", table["turn"].is_null(), "must be a whole number"),
        *((name, ~table[name].is_in(STANCES), wanted) for name in _LABELS if name in there),
    ]
    if "model" in there and not table["model"].is_null().all():
        checks.append(("model", table["model"].is_null(), "must be there in every row or in none"))
    for name, said in (("confidence", "a number between 0 and 1"), ("temperature", "a number, 'own' or empty")):
        if name in there:
            text = raw[name].cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
            lost = table[name].is_null() & ~text.is_in(["", *_OWN] if name == "temperature" else [""])
            off = ~table[name].is_between(0, 1) if name == "confidence" else ~table[name].is_finite()
            checks.append((name, lost.fill_null(False) | off.fill_null(False), f"must be {said}"))
    found = {
        (row, name): Problem(str(path), f"{_place(path, row)}, {name}", _said(value, reason))
        for name, bad, reason in checks
        for row, value in raw.filter(bad.fill_null(False)).select("row", name).head(_SHOWN).iter_rows()
    }
    return [problem for _, problem in sorted(found.items())]


def _said(value: object, reason: str) -> str:
    return f"is {quoted(value)}; it {reason}" if value not in (None, "") else f"is empty; it {reason}"


def _repeated(table: pl.DataFrame, path: Path) -> list[Problem]:
    """Turns that stand twice in one conversation."""
    key = [name for name in ("model", "temperature", "conversation", "turn") if name in table.columns]
    again = table.select("row", *key).filter(table.select(key).is_duplicated())
    if again.is_empty():
        return []
    rows = again.group_by(key, maintain_order=True).agg("row")
    reason = "stands again: give conversations of one model and temperature names of their own"
    return [
        Problem(str(path), _place(path, second), f"the turn of {_place(path, first)} {reason}")
        for first, second, *_ in rows["row"].to_list()[:_SHOWN]
    ]


def _place(path: Path, row: int) -> str:
    return f"line {row + 2}" if path.suffix == ".csv" else f"row {row + 1}"
