"""Tables of pluralism: which viewpoints responses match, how they are ranked, and which is called more popular."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from overton.corpora.findings import quoted
from overton.corpora.records import records_file
from overton.corpora.tables import column_names, read_table, refuse
from overton.errors import InputError, Problem
from overton.studies.pluralism import tables
from overton.studies.pluralism.record import STANCES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "ViewpointTables", "read_viewpoints"]

COLUMNS = {
    "matches": ("thread", "condition", "response", "stance", "matched"),
    "rankings": ("thread", "condition", "predicted", "true"),
    "pairs": ("thread", "condition", "correct"),
    "summaries": ("thread", "summary", "stance"),
}
"""Without these columns a table is none of its kind."""

_MORE = {"matches": (), "rankings": (), "pairs": ("first", "experiment"), "summaries": ("votes",)}
_EVERYWHERE = ("model", "community")
_OF_RUN = ("trial", "experiment", "arm", "status")
_NEVER_EMPTY = ("thread", "condition", "response", "summary", "votes", "true")
_LISTS = ("matched", "predicted", "true")
_FLAGS = ("correct", "first")
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_UNLABELLED = ("", "invalid", "none")
_SHOWN = 20


class ViewpointTables(NamedTuple):
    """What `overton.studies.pluralism.measures.analyze` takes: tables, each None where it is not there, and the
    communities of threads that a column `community` tells."""

    matches: pl.DataFrame | None
    summaries: pl.DataFrame | None
    rankings: pl.DataFrame | None
    pairs: pl.DataFrame | None
    communities: dict[str, str]


def read_viewpoints(path: Path, summaries: Path | None = None) -> ViewpointTables:
    """The tables at `path`: a run folder or its records, or one table in .csv, .parquet or .jsonl, told by its columns.

    matches   thread, condition, response (a whole number), stance (supporting, against, neutral; empty or 'invalid'
              where there is no usable label) and matched (summaries; empty where it matches none). They need a file of
              summaries: thread, summary, stance ('reference' for the reference opinion), and perhaps votes
    rankings  thread, condition, predicted (empty where no ranking could be read) and true
    pairs     thread, condition, correct (true or false; empty where no answer could be read), and perhaps first and
              experiment ('pairwise-gap' for random pairs)

    Each may have a column `model`, and `community`. Lists are identifiers with spaces between them, or lists; in a list
    a null says that nothing is known.

    Raises:
        InputError: columns that are missing, and by row (in a CSV by line): empty cells, unknown stances, numbers and
            flags that are none.
    """
    file = records_file(path)
    names = column_names(file)
    if set(_OF_RUN) <= set(names):
        return _of_run(file)
    kind = next((kind for kind in ("matches", "rankings", "pairs") if set(COLUMNS[kind]) <= set(names)), None)
    if kind is None:
        known = "; ".join(f"{name} ({', '.join(columns)})" for name, columns in COLUMNS.items() if name != "summaries")
        had = ", ".join(names[:30]) or "no columns"
        raise refuse(file, "", f"is neither a run's records nor a table of {known}; it has {had}")
    found = {kind: _read(file, kind)}
    if kind == "matches":
        found["summaries"] = _read(_summaries(file, summaries), "summaries")
    elif summaries is not None:
        raise refuse(summaries, "", f"summaries belong to matches, and {file} has {kind}")
    parts = {name: table.drop("community", strict=False) for name, table in found.items()}
    return ViewpointTables(
        parts.get("matches"), parts.get("summaries"), parts.get("rankings"), parts.get("pairs"), _communities(found)
    )


def _summaries(file: Path, summaries: Path | None) -> Path:
    if summaries is None:
        raise refuse(file, "", "has matches; name the file of their summaries too (--summaries)")
    missing = [name for name in COLUMNS["summaries"] if name not in column_names(summaries)]
    if missing:
        raise refuse(
            summaries, "", f"has no column {', '.join(missing)}; summaries have {', '.join(COLUMNS['summaries'])}"
        )
    return summaries


def _of_run(file: Path) -> ViewpointTables:
    records = read_table(file)
    if file.suffix != ".parquet":
        raise refuse(file, "", "holds records of a run, which are read from .parquet only")
    known = records.select("thread", "community").unique("thread")
    return ViewpointTables(
        tables.matches(records),
        tables.summaries(records),
        tables.rankings(records),
        tables.pairs(records),
        dict(known.drop_nulls().iter_rows()),
    )


def _read(file: Path, kind: str) -> pl.DataFrame:
    """One table with typed columns; blank lines are left out."""
    import polars as pl

    wanted = (*COLUMNS[kind], *_MORE[kind], *_EVERYWHERE)
    raw = read_table(file)
    raw = raw.select(name for name in wanted if name in raw.columns).with_row_index("row")
    raw = raw.filter(~pl.all_horizontal(pl.col(COLUMNS[kind]).is_null()))
    typed = raw.with_columns(_typed(name, raw.schema[name]) for name in raw.columns if name != "row")
    if problems := sorted(_problems(raw, typed, kind, file)):
        raise InputError([problem for _, _, problem in problems])
    return typed.drop("row")


def _typed(name: str, dtype: pl.DataType) -> pl.Expr:
    """The column in its own kind; what does not fit becomes null, which `_problems` tells from what was null."""
    import polars as pl

    value = pl.col(name)
    if name in _LISTS and isinstance(dtype, pl.List):
        return value.cast(pl.List(pl.String), strict=False)
    text = value.cast(pl.String, strict=False).str.strip_chars().replace("", None)
    if name == "matched":
        return text.fill_null("").str.extract_all(r"\S+")
    if name in _LISTS:
        return text.str.extract_all(r"\S+")
    if name in _FLAGS:
        return (
            value
            if dtype == pl.Boolean
            else text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
        )
    if name in ("response", "votes"):
        number = value.cast(pl.Float64) if dtype.is_numeric() else text.cast(pl.Float64, strict=False)
        whole = pl.when(number.floor() == number).then(number).cast(pl.Int64, strict=False).alias(name)
        return whole if name == "response" else pl.when(number.is_finite()).then(number).alias(name)
    if name == "stance":
        label = text.str.to_lowercase()
        return pl.when(~label.is_in(_UNLABELLED)).then(label).alias(name)
    return text


def _problems(raw: pl.DataFrame, typed: pl.DataFrame, kind: str, path: Path) -> Iterator[tuple[int, str, Problem]]:
    """Everything wrong, with its row and column to sort by."""
    stances = (*STANCES, "reference") if kind == "summaries" else STANCES
    wanted = {
        "response": "must be a whole number",
        "votes": "must be a number",
        "stance": f"must be one of {', '.join(stances)}, or empty",
        **dict.fromkeys(_FLAGS, "must be true or false, or empty"),
    }
    for name in typed.columns:
        if name == "row":
            continue
        bad = typed[name].is_null() & (raw[name].is_not_null() | (name in _NEVER_EMPTY))
        if name in _FLAGS:
            bad &= ~_blank(raw[name])
        elif name == "stance":
            bad = (typed[name].is_not_null() & ~typed[name].is_in(stances)).fill_null(False)
        elif name in ("predicted", "community"):
            continue
        elif name == "model":
            bad = typed[name].is_null() & typed[name].is_not_null().any()
        reason = wanted.get(name, "must be there in every row or in none" if name == "model" else "must not be empty")
        for row, value in raw.filter(bad).select("row", name).head(_SHOWN).iter_rows():
            said = f"is {quoted(value)}; it {reason}" if value not in (None, "") else f"is empty; it {reason}"
            yield row, name, Problem(str(path), f"{_place(path, row)}, {name}", said)


def _blank(column: pl.Series) -> pl.Series:
    import polars as pl

    return (column.cast(pl.String, strict=False).str.strip_chars().fill_null("") == "").fill_null(True)


def _communities(found: dict[str, pl.DataFrame]) -> dict[str, str]:
    held = [
        table.select("thread", "community").drop_nulls() for table in found.values() if "community" in table.columns
    ]
    return dict(pair for table in held for pair in table.unique().sort("thread", "community").iter_rows())


def _place(path: Path, row: int) -> str:
    return f"line {row + 2}" if path.suffix == ".csv" else f"row {row + 1}"
