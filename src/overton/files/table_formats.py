"""Frames as files for other programs, in a new folder: CSV or Parquet.

A CSV may be opened in a spreadsheet: texts that it would take for formulas begin with an apostrophe, and lists are
JSON. Parquet keeps values as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from overton.errors import InputError, Problem
from overton.files.atomic import cannot_be_written, new_folder, replacing
from overton.untrusted import cell

if TYPE_CHECKING:
    import polars as pl


_WRITERS: dict[str, Callable[[pl.DataFrame, BinaryIO], object]] = {
    "csv": lambda table, file: _with_text_cells(table).write_csv(file),
    "parquet": lambda table, file: table.write_parquet(file),
}


def write_tables(tables: Mapping[str, pl.DataFrame], folder: Path, form: str) -> list[Path]:
    """Write tables, by name, into a new folder, whole or not at all; returns the files.

    `form` is 'csv' or 'parquet', and the suffix of each file.

    Raises:
        InputError: no such format.
        RunExists: there is something at `folder` already.
        RunError: it cannot be written.
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


def _with_text_cells(table: pl.DataFrame) -> pl.DataFrame:
    """The table with every value that is not a number, a truth value or a time as the text of a cell."""
    import polars as pl

    def in_cells(column: pl.Series) -> pl.Series:
        kind = column.dtype
        if kind.is_numeric() or kind.is_temporal() or kind in (pl.Boolean, pl.Null):
            return column.alias(cell(column.name))
        return pl.Series(cell(column.name), list(map(_cell_text, column.to_list())), pl.String)

    return pl.DataFrame([in_cells(column) for column in table])


def _cell_text(value: Any) -> str | None:
    if value is None:
        return None
    return cell(value if isinstance(value, str) else msgspec.json.encode(value).decode())
