"""Tables of outcomes as Polars reads them, from Parquet, CSV or JSON lines, with limits and clear errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from overton.corpora.parquet import check_parquet
from overton.corpora.text_tables import bad_line, check_csv, check_lines, csv_columns, first_keys
from overton.errors import InputError, Problem, Unreadable
from overton.studies.table import RECORDS_FORMAT, RECORDS_KEY, RawTable
from overton.untrusted import Limit, panics_as_unreadable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["column_names", "open_table", "read_table"]

_LARGEST = 4_000_000_000
"""A table's file may have at most this many bytes."""

_LIMIT = Limit(64_000_000_000, ratio=400, free=1 << 29)
"""What a table may take in memory: with repetitive records, one byte of the file may become a hundred."""


def _refuse(place: Path, key: str, reason: str) -> InputError:
    """The error for one problem."""
    return InputError([Problem(str(place), key, reason)])


def open_table(path: Path) -> RawTable:
    """The table at `path`, or a run folder's records, for a study to read; so far only its columns are read.

    Raises:
        InputError: it is not a readable table.
    """
    file = _records_file(path)
    return RawTable(str(file), file.suffix, tuple(column_names(file)), lambda: read_table(file))


def _records_file(path: Path) -> Path:
    """The file with the records at `path`: itself, or 'records.parquet' in a run folder.

    Raises:
        InputError: a folder without records.
    """
    if not path.is_dir():
        return path
    if not (path / "records.parquet").is_file():
        raise _refuse(path, "", "is a folder without records.parquet; finish the run, or name a file")
    return path / "records.parquet"


def column_names(path: Path) -> list[str]:
    """The table's columns, without reading all of it.

    Raises:
        InputError: it is not a readable table.
    """
    import polars as pl

    _check_file(path)
    with _troubles_named(path):
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
        raise _refuse(path, "", reason)


def read_table(path: Path) -> pl.DataFrame:
    """The whole table; every column of a CSV is text, an empty cell null.

    Raises:
        InputError: it cannot be read, or takes too much memory for its size; for JSON lines, with the number of the
            first bad line.
    """
    import polars as pl

    _check_file(path)
    with _troubles_named(path):
        # Polars does not get the path itself: it would take '[' and '*' in a name for a pattern.
        if path.suffix == ".parquet":
            _check_parquet(path)
            return _checked(pl.read_parquet(path, glob=False), path)
        if path.suffix == ".csv":
            check_csv(path, _LIMIT)
            return pl.read_csv(path, infer_schema=False, glob=False).with_columns(pl.all().replace("", None))
        check_lines(path, _LIMIT)
        with path.open("rb") as file:
            return pl.read_ndjson(file, infer_schema_length=None)


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise _refuse(path, "", "is not a file" if path.exists() else "does not exist")
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        raise _refuse(path, "", "is not a .parquet, .csv or .jsonl file")
    if path.stat().st_size > _LARGEST:
        raise _refuse(path, "", f"is larger than {_LARGEST:,} bytes")


def _checked(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The table, if its texts have an acceptable total size: a file may store a long one once for a million rows."""
    size = sum(_letters(column) for column in table)
    if size > max(_LIMIT.free, _LIMIT.ratio * path.stat().st_size):
        raise Unreadable(f"contains {size:,} bytes of text, more than is allowed for so small a file")
    return table


def _letters(column: pl.Series) -> int:
    """Bytes of all texts in a column, including nested ones."""
    import polars as pl

    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return _letters(column.cast(pl.String))
    if isinstance(column.dtype, pl.String):
        return int(column.str.len_bytes().cast(pl.UInt64).sum())
    if isinstance(column.dtype, pl.List | pl.Array):
        return _letters(column.explode())
    if isinstance(column.dtype, pl.Struct):
        return sum(_letters(column.struct.field(field.name)) for field in column.dtype.fields)
    return 0


@contextmanager
def _troubles_named(path: Path) -> Iterator[None]:
    """Report errors in reading this file; Polars panics over damage that it does not foresee."""
    import polars as pl

    try:
        with panics_as_unreadable():
            yield
    except Unreadable as error:
        raise _refuse(path, f"line {error.line}" if error.line else "", error.reason) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        if path.suffix == ".csv" and (found := bad_line(path)):
            raise _refuse(path, *found) from None
        raise _refuse(path, "", f"cannot be read as {path.suffix[1:]}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
