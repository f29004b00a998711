"""Records of open-mindedness: one row a trial, from a run folder or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.corpora.findings import quoted
from overton.corpora.tables import CONDITION_NAMES, column_names, read_table, refuse, say_rows
from overton.errors import InputError, Problem
from overton.studies.open_mindedness.record import Record

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RECORD_COLUMNS", "REQUIRED", "read_records", "records_file"]

RECORD_COLUMNS = ("model", *(field.name for field in msgspec.structs.fields(Record)))
"""The columns of a table of records, in their order."""

REQUIRED = ("model", "issue", "condition", "stance")
"""Without these a table holds no records; any other column may be missing."""

_INTEGERS = ("wording", "template", "repetition", "draw", "input_tokens", "output_tokens")
_FLAGS = ("held", "pro_first", "a_first", "refused")
_ALLOWED = {
    "stance": ("pro", "con", "other"),
    "stance_published": ("pro", "con", "other"),
    "last_argument": ("pro", "con"),
    "a_is": ("pro", "con"),
    "letter": ("A", "B"),
}
_RANGES = {"wording": (0, 2), "template": (1, 6)}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def records_file(path: Path) -> Path:
    """The file that holds the records at `path`: itself, or 'records.parquet' in a run folder.

    Raises:
        InputError: a folder without records.
    """
    if not path.is_dir():
        return path
    if not (path / "records.parquet").is_file():
        raise refuse(path, "", "is a folder without records.parquet; finish the run, or name a file")
    return path / "records.parquet"


def read_records(path: Path) -> pl.DataFrame:
    """Records with the columns `RECORD_COLUMNS`, from a run folder or a .parquet, .csv or .jsonl file.

    In a CSV, lists are ids with spaces between them, flags are true and false, and an empty cell is null. Only model,
    issue, condition and stance must be there; other columns that are missing come back null (`refused` as false,
    `answer` as '', `arguments` as empty lists), and columns that are none of these are left out. Conditions may stand
    under their published names. A run's file also has `held` after the model (whether its answers were held to the
    form asked for); it is kept where it is there.

    Raises:
        InputError: a required column is missing or empty, or a value is none of those allowed, with its rows.
    """
    import polars as pl

    file = records_file(path)
    names = column_names(file)
    missing = [column for column in REQUIRED if column not in names]
    if missing:
        raise refuse(file, "", f"has no column {', '.join(missing)}; records have {', '.join(REQUIRED)} at least")
    columns = ["model", *(["held"] if "held" in names else []), *RECORD_COLUMNS[1:]]
    raw = read_table(file).select([column for column in columns if column in names])
    table = raw.with_columns(*(_typed(column, raw.schema[column]) for column in raw.columns))
    problems = [problem for column in raw.columns for problem in _problems(column, raw[column], table[column], file)]
    if problems:
        raise InputError(problems)
    absent = [_null(column) for column in RECORD_COLUMNS if column not in names]
    return table.with_columns(*absent).select(
        pl.col(column).fill_null(_FILLED[column]) if column in _FILLED else column for column in columns
    )


_FILLED: dict[str, bool | str | list[str]] = {"held": False, "refused": False, "answer": "", "arguments": []}


def _typed(column: str, dtype: pl.DataType) -> pl.Expr:
    """The column in its own type; what does not fit becomes null, which `_problems` tells from what was null."""
    import polars as pl

    value = pl.col(column)
    if column == "arguments":
        return value.cast(pl.List(pl.String), strict=False) if dtype == pl.List else _texts(value).str.split(" ")
    if column in _INTEGERS:
        return (value if dtype.is_integer() else _texts(value).cast(pl.Float64, strict=False)).cast(
            pl.Int64, strict=False
        )
    if column in _FLAGS:
        return (
            value
            if dtype == pl.Boolean
            else _texts(value).str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
        )
    if column == "condition":
        return _texts(value).replace_strict(CONDITION_NAMES, default=None, return_dtype=pl.String)
    return value.cast(pl.String, strict=False)


def _texts(value: pl.Expr) -> pl.Expr:
    import polars as pl

    return value.cast(pl.String, strict=False).str.strip_chars()


def _null(column: str) -> pl.Expr:
    import polars as pl

    kinds: dict[str, pl.DataType] = {
        "arguments": pl.List(pl.String()),
        **dict.fromkeys(_INTEGERS, pl.Int64()),
        **dict.fromkeys(_FLAGS, pl.Boolean()),
    }
    return pl.lit(None, kinds.get(column, pl.String())).alias(column)


def _problems(column: str, raw: pl.Series, typed: pl.Series, path: Path) -> list[Problem]:
    if column in REQUIRED and raw.null_count():
        return [Problem(str(path), column, f"is empty in {say_rows(_rows(raw.is_null()))}")]
    bad = raw.is_not_null() & typed.is_null()
    if column in _ALLOWED:
        bad = bad | (typed.is_not_null() & ~typed.is_in(_ALLOWED[column]))
    if column in _RANGES:
        bad = bad | (typed.is_not_null() & ~typed.is_between(*_RANGES[column]))
    if not bad.any():
        return []
    rows = _rows(bad)
    wanted = _ALLOWED.get(column) or (tuple(CONDITION_NAMES) if column == "condition" else ())
    must = f"must be one of {', '.join(wanted)}" if wanted else "is no value of this column"
    return [Problem(str(path), column, f"{quoted(raw[rows[0] - 1])} in {say_rows(rows)} {must}")]


def _rows(flags: pl.Series) -> list[int]:
    """Numbers from 1 of the rows where `flags` is true."""
    return [int(index) + 1 for index in flags.arg_true()]
