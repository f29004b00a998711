"""Tables of outcomes as Polars reads them, from Parquet, CSV or JSON lines, with limits and clear errors."""

from __future__ import annotations

import csv
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.errors import InputError, Problem
from overton.studies.table import RECORDS_FORMAT, RECORDS_KEY, RawTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["column_names", "open_table", "read_table"]

_LARGEST = 4_000_000_000
"""A table's file has at most this many bytes."""


def _refuse(place: Path, key: str, reason: str) -> InputError:
    """The error for one problem."""
    return InputError([Problem(str(place), key, reason)])


def open_table(path: Path) -> RawTable:
    """The table at `path`, or in a run folder its records, to be read by a study; only its columns are looked at yet.

    Raises:
        InputError: it is no table that can be read.
    """
    file = _records_file(path)
    return RawTable(str(file), file.suffix, tuple(column_names(file)), lambda: read_table(file))


def _records_file(path: Path) -> Path:
    """The file that holds the records at `path`: itself, or 'records.parquet' in a run folder.

    Raises:
        InputError: a folder without records.
    """
    if not path.is_dir():
        return path
    if not (path / "records.parquet").is_file():
        raise _refuse(path, "", "is a folder without records.parquet; finish the run, or name a file")
    return path / "records.parquet"


def column_names(path: Path) -> list[str]:
    """The table's columns, without reading it all.

    Raises:
        InputError: it is no table that can be read.
    """
    import polars as pl

    _check_file(path)
    try:
        if path.suffix == ".parquet":
            _check_format(path, pl.read_parquet_metadata(path).get(RECORDS_KEY))
            return list(pl.read_parquet_schema(path))
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix == ".csv":
                return next(csv.reader(file), [])
            first = json.loads(next((line for line in islice(file, 1000) if line.strip()), "{}"))
            return list(first) if isinstance(first, dict) else []
    except (pl.exceptions.PolarsError, OSError, ValueError, RecursionError, csv.Error) as error:
        raise _refuse(path, "", f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


def _check_format(path: Path, found: str | None) -> None:
    """Refuse records of ours in another format; a table that was made elsewhere names none."""
    if found not in (None, str(RECORDS_FORMAT)):
        raise _refuse(path, "", f"holds records of format {found}; this version of Overton reads {RECORDS_FORMAT}")


def read_table(path: Path) -> pl.DataFrame:
    """The whole table; every column of a CSV is text, an empty cell null.

    Raises:
        InputError: it cannot be read; for JSON lines with the number of the first bad line.
    """
    import polars as pl

    _check_file(path)
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        if path.suffix == ".csv":
            return pl.read_csv(path, infer_schema=False).with_columns(pl.all().replace("", None))
        return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        where = _bad_line(path) if path.suffix == ".jsonl" else ""
        raise _refuse(path, where, f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise _refuse(path, "", "is not a file" if path.exists() else "does not exist")
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        raise _refuse(path, "", "is no .parquet, .csv or .jsonl file")
    if path.stat().st_size > _LARGEST:
        raise _refuse(path, "", f"is larger than {_LARGEST:,} bytes")


def _bad_line(path: Path) -> str:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not _is_object(line):
                return f"line {number}"
    return ""


def _is_object(line: bytes) -> bool:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
