"""Text tables, CSV and JSON lines, checked before Polars gets them.

It pads short rows and missing keys: a line of a few bytes can become as many cells as another line has.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from overton.errors import Unreadable, quoted
from overton.untrusted import Limit, check_cells, decode_json, decode_text

__all__ = ["bad_line", "check_csv", "check_lines", "csv_columns", "first_keys"]

_LONGEST_HEADER = 1 << 20
_MOST_COLUMNS = 10_000
"""Polars stores each column separately: a line of commas takes seconds and gigabytes."""
_LONGEST_LINE = 1 << 26
_DEEPEST = 32
_BLOCK = 1 << 20

_object = msgspec.json.Decoder(dict[str, Any]).decode


def csv_columns(path: Path) -> list[str]:
    """The cells of the first row.

    Raises:
        Unreadable: it is too long, not UTF-8, or not CSV.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        reader = csv.reader(_decoded(file))
        try:
            return next(reader, [])
        except csv.Error as error:
            raise Unreadable(f"is not CSV: {error}", line=max(1, reader.line_num)) from None


def check_csv(path: Path, limit: Limit) -> None:
    """Refuse a CSV that expands to more cells than `limit` allows, does not start with a header, or names a column
    twice: which of the two counts would depend on the reader.

    Raises:
        Unreadable: the file is one of these.
        OSError: it cannot be read.
    """
    names = csv_columns(path)
    columns = len(names)
    if columns > _MOST_COLUMNS:
        raise Unreadable(f"has {columns:,} columns; a table may have at most {_MOST_COLUMNS:,}", line=1)
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise Unreadable(f"has the column {quoted(twice[0])} more than once; rename or remove one", line=1)
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
    check_cells((lines + 1) * columns, path.stat().st_size, limit)


def bad_line(path: Path) -> tuple[str, str] | None:
    """Where an unreadable CSV is wrong, and how; None if that cannot be determined."""
    columns = 0
    with path.open("rb") as file:
        lines = enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1)
        reader = csv.reader((decode_text(line) for _, line in lines), strict=True)
        try:
            for row in reader:
                columns = columns or len(row)
                if len(row) > columns:
                    return f"line {reader.line_num}", f"has {len(row)} cells, but the first row {columns}"
        except csv.Error as error:
            if "field limit" in str(error):  # Python's own limit, which Polars does not have
                return None
            return f"line {reader.line_num}", f"is not CSV: {error}"
        except Unreadable as error:
            return f"line {reader.line_num + 1}, byte {error.byte}", "is not UTF-8; save the file as UTF-8"
    return None


def first_keys(path: Path) -> list[str]:
    """The keys of the first line that is not blank.

    Raises:
        Unreadable: it is too long, or not a JSON object.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return list(next((data for _, data in _objects(file)), {}))


def check_lines(path: Path, limit: Limit) -> None:
    """Refuse JSON lines with one that is not an object, or that expand to more cells than `limit` allows.

    Raises:
        Unreadable: the file is one of these; with the number of the line.
        OSError: the file cannot be read.
    """
    size, rows = path.stat().st_size, 0
    keys: set[tuple[str, ...]] = set()
    with path.open("rb") as file:
        for number, data in _objects(file):
            rows += 1
            _gather(data, (), keys, number)
            if len(keys) > _MOST_COLUMNS:
                raise Unreadable(
                    f"has more than {_MOST_COLUMNS:,} columns up to here, the limit for a table", line=number
                )
            check_cells(rows * len(keys), size, limit)


def _gather(value: dict[str, Any] | list[Any], place: tuple[str, ...], keys: set[tuple[str, ...]], line: int) -> None:
    """Add the places of all nested values: each becomes a column, if only inside another."""
    if len(place) > _DEEPEST:
        raise Unreadable(f"is nested more than {_DEEPEST} levels deep", line=line)
    for key, inner in value.items() if isinstance(value, dict) else (("", one) for one in value):
        keys.add((*place, key))
        if isinstance(inner, dict | list):
            _gather(inner, (*place, key), keys, line)


def _objects(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), b""), 1):
        if len(line) > _LONGEST_LINE:
            raise Unreadable(f"is longer than {_LONGEST_LINE:,} bytes", line=number)
        if line.strip():
            try:
                yield number, decode_json(line, _object)
            except Unreadable as error:
                raise Unreadable(error.reason, line=number) from None


def _decoded(file: BinaryIO) -> Iterator[str]:
    left = _LONGEST_HEADER
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise Unreadable(f"has a first row of more than {_LONGEST_HEADER:,} bytes", line=1)
        try:
            yield decode_text(line)
        except Unreadable as error:
            raise Unreadable(error.reason, line=1) from None
