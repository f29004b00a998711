"""Parquet, CSV and JSON lines, checked first and read as frames.

It pads short rows and missing keys: a line of a few bytes can become as many cells as another line has.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from overton.errors import InputError, Problem, Unreadable, quoted
from overton.files.parquet import check_parquet
from overton.studies.tables import RECORDS_FORMAT, RECORDS_KEY, RawTable
from overton.untrusted import Limit, check_cells, decode_json, decode_text, panics_as_unreadable

if TYPE_CHECKING:
    import polars as pl


_MAX_FILE_BYTES = 4_000_000_000
"""A table's file may have at most this many bytes."""

_LIMIT = Limit(64_000_000_000, ratio=400, free=1 << 29)
"""The memory that a table may take: with repetitive records, one byte of the file may become a hundred."""


def _table_error(place: Path, key: str, reason: str) -> InputError:
    return InputError([Problem(str(place), key, reason)])


def open_table(path: Path) -> RawTable:
    """The table at `path`, or a run folder's records, for a study to read; so far only its columns are read.

    Raises:
        InputError: it is not a readable table.
    """
    file = _records_file(path)
    return RawTable(str(file), file.suffix, tuple(column_names(file)), lambda: read_table(file))


TABLE_SUFFIXES = (".parquet", ".csv", ".jsonl")
_MAX_FILES = 10_000
"""A folder has at most this many tables."""


def table_files(folder: Path, folders: Sequence[str] = ()) -> list[list[Path]]:
    """The tables in `folder`, and those in the `folders` in it together, each by name and without hidden ones.

    If a file name is in several of the `folders`, it is the file in the last of these. A group without any is left out,
    and a folder with records is a table itself.

    Raises:
        InputError: there are too many, or a folder cannot be read.
    """
    if (folder / "records.parquet").is_file():
        return []
    inside = {name: path for inner in folders for name, path in _tables_in(folder / inner).items()}
    return [[found[name] for name in sorted(found)] for found in (_tables_in(folder), inside) if found]


def _tables_in(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        return {}
    try:
        inside = [path for path in folder.iterdir() if path.suffix in TABLE_SUFFIXES and not path.name.startswith(".")]
    except OSError as error:
        raise _table_error(folder, "", f"cannot be read: {error.strerror}") from error
    if len(inside) > _MAX_FILES:
        raise _table_error(folder, "", f"contains more than {_MAX_FILES:,} tables")
    return {path.name: path for path in inside}


def _records_file(path: Path) -> Path:
    """The file with the records at `path`: itself, or 'records.parquet' in a run folder.

    Raises:
        InputError: a folder without records.
    """
    if not path.is_dir():
        return path
    if not (path / "records.parquet").is_file():
        raise _table_error(path, "", "is a folder without records.parquet; finish the run, or name a file")
    return path / "records.parquet"


def column_names(path: Path) -> list[str]:
    """The table's columns, without reading all of it.

    Raises:
        InputError: it is not a readable table.
    """
    import polars as pl

    _check_file(path)
    with _report_as_input_errors(path):
        if path.suffix == ".csv":
            return csv_columns(path)
        if path.suffix == ".jsonl":
            return first_keys(path)
        _check_parquet(path)
        with path.open("rb") as file:
            return list(pl.read_parquet_schema(file))


def _check_parquet(path: Path) -> None:
    """Refuse files unsafe for Polars, and records of ours in another format; tables made elsewhere name no format."""
    import polars as pl

    check_parquet(path, _LIMIT)
    with path.open("rb") as file:
        found = pl.read_parquet_metadata(file).get(RECORDS_KEY)
    if found not in (None, str(RECORDS_FORMAT)):
        reason = f"has records of format {found[:60]}; this version of Overton reads {RECORDS_FORMAT}"
        raise _table_error(path, "", reason)


def read_table(path: Path) -> pl.DataFrame:
    """The whole table; every column of a CSV is text, an empty cell null.

    Raises:
        InputError: it cannot be read, or takes too much memory for its size; for JSON lines, with the number of the
            first bad line.
    """
    import polars as pl

    _check_file(path)
    with _report_as_input_errors(path):
        # Polars does not get the path itself: it would take '[' and '*' in a name for a pattern.
        if path.suffix == ".parquet":
            _check_parquet(path)
            return _check_text_size(pl.read_parquet(path, glob=False), path)
        if path.suffix == ".csv":
            check_csv(path, _LIMIT)
            return pl.read_csv(path, infer_schema=False, glob=False).with_columns(pl.all().replace("", None))
        check_lines(path, _LIMIT)
        with path.open("rb") as file:
            return pl.read_ndjson(file, infer_schema_length=None)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise _table_error(path, "", "is not a file" if path.exists() else "does not exist")
    if path.suffix not in TABLE_SUFFIXES:
        raise _table_error(path, "", "is not a .parquet, .csv or .jsonl file")
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise _table_error(path, "", f"is larger than {_MAX_FILE_BYTES:,} bytes")


def _check_text_size(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The table, if its texts have an acceptable total size: a file may store a long one once for a million rows."""
    size = sum(_text_bytes(column) for column in table)
    if size > max(_LIMIT.free, _LIMIT.ratio * path.stat().st_size):
        raise Unreadable(f"contains {size:,} bytes of text, more than is allowed for so small a file")
    return table


def _text_bytes(column: pl.Series) -> int:
    """Bytes of all texts in a column, including nested ones."""
    import polars as pl

    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return _text_bytes(column.cast(pl.String))
    if isinstance(column.dtype, pl.String):
        return int(column.str.len_bytes().cast(pl.UInt64).sum())
    if isinstance(column.dtype, pl.List | pl.Array):
        return _text_bytes(column.explode())
    if isinstance(column.dtype, pl.Struct):
        return sum(_text_bytes(column.struct.field(field.name)) for field in column.dtype.fields)
    return 0


@contextmanager
def _report_as_input_errors(path: Path) -> Iterator[None]:
    """Report errors in reading this file; Polars panics over damage that it does not foresee."""
    import polars as pl

    try:
        with panics_as_unreadable():
            yield
    except Unreadable as error:
        raise _table_error(path, f"line {error.line}" if error.line else "", error.reason) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        if path.suffix == ".csv" and (found := bad_line(path)):
            raise _table_error(path, *found) from None
        raise _table_error(path, "", f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


_MAX_HEADER_BYTES = 1 << 20
_MAX_COLUMNS = 10_000
"""Polars stores each column separately: a line of commas takes seconds and gigabytes."""
_MAX_LINE_BYTES = 1 << 26
_MAX_DEPTH = 32
_BLOCK_BYTES = 1 << 20

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def csv_columns(path: Path) -> list[str]:
    """The cells of the first row.

    Raises:
        Unreadable: it is too long, not UTF-8, or not CSV.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        reader = csv.reader(_read_header_lines(file))
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
    if columns > _MAX_COLUMNS:
        raise Unreadable(f"has {columns:,} columns; a table may have at most {_MAX_COLUMNS:,}", line=1)
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise Unreadable(f"has the column {quoted(twice[0])} more than once; rename or remove one", line=1)
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK_BYTES), b""))
    check_cells((lines + 1) * columns, path.stat().st_size, limit)


def bad_line(path: Path) -> tuple[str, str] | None:
    """Where an unreadable CSV is wrong, and how; None if that cannot be determined."""
    columns = 0
    with path.open("rb") as file:
        lines = enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), 1)
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
        return list(next((data for _, data in _read_objects(file)), {}))


def check_lines(path: Path, limit: Limit) -> None:
    """Refuse JSON lines with one that is not an object, or that expand to more cells than `limit` allows.

    Raises:
        Unreadable: the file is one of these; with the number of the line.
        OSError: the file cannot be read.
    """
    size, rows = path.stat().st_size, 0
    keys: set[tuple[str, ...]] = set()
    with path.open("rb") as file:
        for number, data in _read_objects(file):
            rows += 1
            _add_places(data, (), keys, number)
            if len(keys) > _MAX_COLUMNS:
                raise Unreadable(
                    f"has more than {_MAX_COLUMNS:,} columns up to here, the limit for a table", line=number
                )
            check_cells(rows * len(keys), size, limit)


def _add_places(
    value: dict[str, Any] | list[Any], place: tuple[str, ...], keys: set[tuple[str, ...]], line: int
) -> None:
    """Add the places of all nested values: each becomes a column, if only inside another."""
    if len(place) > _MAX_DEPTH:
        raise Unreadable(f"is nested more than {_MAX_DEPTH} levels deep", line=line)
    for key, inner in value.items() if isinstance(value, dict) else (("", member) for member in value):
        keys.add((*place, key))
        if isinstance(inner, dict | list):
            _add_places(inner, (*place, key), keys, line)


def _read_objects(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES + 1), b""), 1):
        if len(line) > _MAX_LINE_BYTES:
            raise Unreadable(f"is longer than {_MAX_LINE_BYTES:,} bytes", line=number)
        if line.strip():
            try:
                yield number, decode_json(line, _decode_object)
            except Unreadable as error:
                raise Unreadable(error.reason, line=number) from None


def _read_header_lines(file: BinaryIO) -> Iterator[str]:
    left = _MAX_HEADER_BYTES
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise Unreadable(f"has a first row of more than {_MAX_HEADER_BYTES:,} bytes", line=1)
        try:
            yield decode_text(line)
        except Unreadable as error:
            raise Unreadable(error.reason, line=1) from None
