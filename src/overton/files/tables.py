"""A reader of tables from Parquet, CSV and JSON lines, which checks files first.

Polars pads short rows and missing keys. So a line of a few bytes can take as much memory as the longest line.
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
from overton.files.grids import frame_of, sheet_grid
from overton.files.parquet import check_parquet
from overton.studies.tables import RECORDS_FORMAT, RECORDS_KEY, RawTable
from overton.untrusted import Limit, check_cells, decode_json, decode_text, panics_as_unreadable

if TYPE_CHECKING:
    import polars as pl


_MAX_FILE_BYTES = 4_000_000_000
"""The most bytes of a table's file."""

_LIMIT = Limit(64_000_000_000, ratio=400, free=1 << 29)
"""The limit on a table's memory. With repetitive records, one byte of the file may become a hundred bytes in memory."""


def _table_error(place: Path, key: str, reason: str) -> InputError:
    return InputError([Problem(str(place), key, reason)])


def open_table(path: Path) -> RawTable:
    """Open the table at `path`, or the records of a run folder, for a study to read. Only the column names are read at
    first.

    Raises:
        InputError: the file is not a readable table.
    """
    file = _records_file(path)
    return RawTable(str(file), file.suffix, tuple(column_names(file)), lambda: read_table(file))


TABLE_SUFFIXES = (".parquet", ".csv", ".jsonl")
"""The suffixes of table files in a folder."""

SPREADSHEET = ".xlsx"
"""The suffix of spreadsheets. A spreadsheet is read only if the user names the file."""

_MAX_FILES = 10_000
"""The most tables in a folder."""


def table_files(folder: Path, folders: Sequence[str] = ()) -> list[list[Path]]:
    """Up to two groups of table files: the files in `folder` itself, and the files in all subfolders named in
    `folders`.

    Each group is sorted by name, without hidden files. If several of the `folders` have a file of the same name, the
    file in the last of these folders is used. A group without files is left out. A folder with `records.parquet` counts
    as a single table and has no groups.

    Raises:
        InputError: there are too many tables, or a folder cannot be read.
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
    """The file with the records at `path`: `path` itself, or 'records.parquet' if it is a run folder.

    Raises:
        InputError: the folder has no records.
    """
    if not path.is_dir():
        return path
    if not (path / "records.parquet").is_file():
        raise _table_error(path, "", "is a folder without records.parquet; finish the run, or name a file")
    return path / "records.parquet"


def column_names(path: Path) -> list[str]:
    """The table's columns. Only a part of the file is read.

    Raises:
        InputError: the file is not a readable table.
    """
    import polars as pl

    _check_file(path)
    with _report_as_input_errors(path):
        if path.suffix == ".csv":
            return csv_columns(path)
        if path.suffix == ".jsonl":
            return first_keys(path)
        if path.suffix == SPREADSHEET:
            return frame_of(sheet_grid(path)).columns
        _check_parquet(path)
        with path.open("rb") as file:
            return list(pl.read_parquet_schema(file))


def _check_parquet(path: Path) -> None:
    """Refuse files that are unsafe for Polars, and Overton's records in an unknown format. Tables made elsewhere state
    no format."""
    import polars as pl

    check_parquet(path, _LIMIT)
    with path.open("rb") as file:
        found = pl.read_parquet_metadata(file).get(RECORDS_KEY)
    if found not in (None, str(RECORDS_FORMAT)):
        reason = f"has records of format {found[:60]}; this version of Overton reads {RECORDS_FORMAT}"
        raise _table_error(path, "", reason)


def read_table(path: Path) -> pl.DataFrame:
    """Read the whole table. Every column of a CSV or a spreadsheet is text, and empty cells are null.

    Raises:
        InputError: the table cannot be read, or takes too much memory for its size. For JSON lines, the message has the
            number of the first bad line.
    """
    import polars as pl

    _check_file(path)
    with _report_as_input_errors(path):
        # Polars does not get the path itself, because Polars would take '[' and '*' in a name for a pattern.
        if path.suffix == ".parquet":
            _check_parquet(path)
            return _check_text_size(pl.read_parquet(path, glob=False), path)
        if path.suffix == ".csv":
            check_csv(path, _LIMIT)
            return pl.read_csv(path, infer_schema=False, glob=False).with_columns(pl.all().replace("", None))
        if path.suffix == SPREADSHEET:
            return frame_of(sheet_grid(path))
        check_lines(path, _LIMIT)
        with path.open("rb") as file:
            return pl.read_ndjson(file, infer_schema_length=None)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise _table_error(path, "", "is not a file" if path.exists() else "does not exist")
    if path.suffix not in (*TABLE_SUFFIXES, SPREADSHEET):
        raise _table_error(path, "", "is not a .parquet, .csv, .jsonl or .xlsx file")
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise _table_error(path, "", f"is larger than {_MAX_FILE_BYTES:,} bytes")


def _check_text_size(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the table, or refuse it if its texts are too large in total. A small file may store a long text once and
    use it in a million rows."""
    size = sum(_text_bytes(column) for column in table)
    if size > max(_LIMIT.free, _LIMIT.ratio * path.stat().st_size):
        raise Unreadable(f"contains {size:,} bytes of text, more than is allowed for so small a file")
    return table


def _text_bytes(column: pl.Series) -> int:
    """The number of bytes of all texts in a column, including nested texts."""
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
    """Turn errors in reading this file into input errors. Polars panics over unexpected damage."""
    import polars as pl

    try:
        with panics_as_unreadable():
            yield
    except Unreadable as error:
        noun = "row" if path.suffix == SPREADSHEET else "line"
        raise _table_error(path, f"{noun} {error.line}" if error.line else "", error.reason) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        if path.suffix == ".csv" and (found := bad_line(path)):
            raise _table_error(path, *found) from None
        raise _table_error(path, "", f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


_MAX_HEADER_BYTES = 1 << 20
_MAX_COLUMNS = 10_000
"""The most columns of a table. Polars stores each column separately, so a line of commas would take seconds and
gigabytes."""
_MAX_LINE_BYTES = 1 << 26
_MAX_DEPTH = 32
_BLOCK_BYTES = 1 << 20

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def csv_columns(path: Path) -> list[str]:
    """The cells of a CSV's first row.

    Raises:
        Unreadable: the row is too long, not UTF-8, or not CSV.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        reader = csv.reader(_read_header_lines(file))
        try:
            return next(reader, [])
        except csv.Error as error:
            raise Unreadable(f"is not CSV: {error}", line=max(1, reader.line_num)) from None


def check_csv(path: Path, limit: Limit) -> None:
    """Refuse a CSV that expands to more cells than `limit` allows, does not start with a header, or has two columns
    with the same name. Readers differ in which of two such columns they use.

    Raises:
        Unreadable: the file is refused.
        OSError: the file cannot be read.
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
    """The location and the reason of the first error in an unreadable CSV; None if they cannot be determined."""
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
            if "field limit" in str(error):  # Python's csv module has a limit that Polars does not have
                return None
            return f"line {reader.line_num}", f"is not CSV: {error}"
        except Unreadable as error:
            return f"line {reader.line_num + 1}, byte {error.byte}", "is not UTF-8; save the file as UTF-8"
    return None


def first_keys(path: Path) -> list[str]:
    """The keys of the first line that is not blank.

    Raises:
        Unreadable: the line is too long, or not a JSON object.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return list(next((data for _, data in _read_objects(file)), {}))


def check_lines(path: Path, limit: Limit) -> None:
    """Refuse JSON lines if a line is not an object, or if they expand to more cells than `limit` allows.

    Raises:
        Unreadable: the file is refused; the message has the number of the line.
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
    """Add the paths of all nested values. Each path becomes a column, or a field inside a column."""
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
