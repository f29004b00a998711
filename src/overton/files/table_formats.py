"""Tables as files for other programs, in a new folder: CSV, Parquet or Excel workbooks.

A CSV may be opened in a spreadsheet program, so texts that the program would take for formulas get an apostrophe in
front. Lists are written as JSON. A workbook has the same texts without the apostrophe, because its cells have the type
text. NaN becomes an empty cell in a workbook. Parquet keeps values unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from overton.errors import InputError, MissingExtra, Problem
from overton.files.atomic import cannot_be_written, new_folder, replacing
from overton.untrusted import cell

if TYPE_CHECKING:
    import polars as pl


_MOST_ROWS, _MOST_COLUMNS, _MOST_CHARS = 1_048_576, 16_384, 32_767
"""The limits of a sheet in an Excel workbook: rows (including the header), columns, and characters in a cell."""
_WORKBOOK = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "nan_inf_to_errors": True,
}
"""Options of the workbook: texts are never turned into formulas, numbers or links. A sheet cannot hold infinity, and
shows an error instead."""


def _write_workbook(table: pl.DataFrame, file: BinaryIO) -> None:
    """Write a workbook with one sheet.

    Raises:
        InputError: the table is larger than a sheet can be.
        MissingExtra: the library for workbooks is not installed.
    """
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise MissingExtra("--to xlsx", "spreadsheets") from error
    texts = _with_texts(table, str)
    _check_fits(texts)
    with Workbook(file, _WORKBOOK) as book:
        texts.fill_nan(None).write_excel(book, float_precision=6, autofit=texts.height < _MOST_FITTED)


_MOST_FITTED = 10_000
"""Column widths are fitted to the texts only in sheets of at most this many rows, because every text has to be
measured."""


def _check_fits(table: pl.DataFrame) -> None:
    """Refuse a table that a sheet cannot hold. Otherwise the workbook would be truncated without a warning.

    Raises:
        InputError: the table is too large.
    """
    import polars as pl

    else_use = "use --to csv or parquet"
    if table.height >= _MOST_ROWS or table.width > _MOST_COLUMNS:
        said = f"{table.height:,} rows and {table.width:,} columns are more than a sheet holds: {else_use}"
        raise InputError([Problem("option to", "xlsx", said)])
    for column in table.select(pl.col(pl.String).str.len_chars().max()):
        if (longest := column.item() or 0) > _MOST_CHARS:
            said = f"column {column.name} has a text of {longest:,} characters, and a cell holds {_MOST_CHARS:,}"
            raise InputError([Problem("option to", "xlsx", f"{said}: {else_use}")])


_WRITERS: dict[str, Callable[[pl.DataFrame, BinaryIO], object]] = {
    "csv": lambda table, file: _with_texts(table, cell).write_csv(file),
    "parquet": lambda table, file: table.write_parquet(file),
    "xlsx": _write_workbook,
}
FORMATS = tuple(_WRITERS)
"""The formats. A format's name is also the suffix of its files."""


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path, form: str) -> list[Path]:
    """Write tables, by name, into a new folder; return the files.

    If writing fails, no folder is left. `form` is one of `FORMATS`.

    Raises:
        InputError: the format is unknown, or a table is larger than the format allows.
        MissingExtra: the format needs a library that is not installed.
        RunExists: something already exists at `folder`.
        RunError: a file cannot be written.
    """
    import polars as pl

    if form not in _WRITERS:
        raise InputError([Problem("option to", form, f"must be one of {', '.join(_WRITERS)}")])
    try:
        with new_folder(folder) as fresh:
            for name, table in tables.items():
                with replacing(fresh / f"{name}.{form}") as (_, file):
                    _WRITERS[form](table, file)
    except pl.exceptions.PolarsError as error:
        raise cannot_be_written(folder, error) from error
    return [folder / f"{name}.{form}" for name in tables]


def _with_texts(table: pl.DataFrame, spell: Callable[[str], str]) -> pl.DataFrame:
    """The table with all values turned into texts, except numbers, truth values and times. `spell` is applied to
    texts."""
    import polars as pl

    def as_text(value: Any) -> str | None:
        if value is None:
            return None
        return spell(value if isinstance(value, str) else msgspec.json.encode(value).decode())

    def in_cells(column: pl.Series) -> pl.Series:
        kind = column.dtype
        if kind.is_numeric() or kind.is_temporal() or kind in (pl.Boolean, pl.Null):
            return column.alias(spell(column.name))
        return pl.Series(spell(column.name), list(map(as_text, column.to_list())), pl.String)

    return pl.DataFrame([in_cells(column) for column in table])
