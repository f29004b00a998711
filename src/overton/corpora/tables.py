"""Tables of outcomes as Polars reads them, from Parquet, CSV or JSON lines, with limits and clear errors."""

from __future__ import annotations

import csv
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.errors import InputError, Problem
from overton.studies.open_mindedness.conditions import CONDITIONS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CONDITION_NAMES", "LARGEST", "column_names", "read_table", "refuse", "say_rows"]

LARGEST = 4_000_000_000
"""A table's file has at most this many bytes."""

CONDITION_NAMES = {
    **{name: name for name in CONDITIONS},
    "neither": "baseline",
    "pro": "one-sided-pro",
    "con": "one-sided-con",
    "75pro": "convincing-pro",
    "75con": "convincing-con",
    "all": "balanced",
}
"""Our names of the configurations, and the published ones."""

_SHOWN = 5


def refuse(place: Path, key: str, reason: str) -> InputError:
    """The error for one problem."""
    return InputError([Problem(str(place), key, reason)])


def column_names(path: Path) -> list[str]:
    """The table's columns, without reading it all.

    Raises:
        InputError: it is no table that can be read.
    """
    import polars as pl

    _check_file(path)
    try:
        if path.suffix == ".parquet":
            return list(pl.read_parquet_schema(path))
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix == ".csv":
                return next(csv.reader(file), [])
            first = json.loads(next((line for line in islice(file, 1000) if line.strip()), "{}"))
            return list(first) if isinstance(first, dict) else []
    except (pl.exceptions.PolarsError, OSError, ValueError, RecursionError, csv.Error) as error:
        raise refuse(path, "", f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


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
        raise refuse(path, where, f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


def say_rows(numbers: list[int]) -> str:
    """Row numbers for a message, the first few of many."""
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    rows = "row" if len(numbers) == 1 else "rows"
    return f"{rows} {shown}" + (f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else "")


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise refuse(path, "", "is not a file" if path.exists() else "does not exist")
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        raise refuse(path, "", "is no .parquet, .csv or .jsonl file")
    if path.stat().st_size > LARGEST:
        raise refuse(path, "", f"is larger than {LARGEST:,} bytes")


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
