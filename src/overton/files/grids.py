"""A reader of CSV files and of the first sheet of spreadsheets (.xlsx). It returns cells as rows of texts, within
limits on size, rows and cells."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.errors import MissingExtra, Unreadable
from overton.studies.parsing import Grid
from overton.untrusted import Limit, Zip

if TYPE_CHECKING:
    import polars as pl


_SEPARATORS = (",", ";", "\t")
_MAX_FILE_BYTES = 20_000_000
_MAX_INFLATED_BYTES = 200_000_000
"""The maximum total size of all decompressed parts of the file, in bytes."""
_MAX_ROWS = 1_048_576
"""The most rows of a sheet, which is also the limit of spreadsheet programs."""
_MAX_COLUMNS = 2_000
_MAX_CELLS = 2_000_000
_MARKUP_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")
"""Declarations that no spreadsheet program writes. They are refused, because entities can expand without limit."""


def csv_grid(text: str) -> Grid:
    """Read the cells of a CSV file. The first line determines the separator: comma, semicolon or tab.

    Raises:
        Unreadable: the file is not CSV, or a row has more cells than the first row.
    """
    head = text.lstrip("\r\n").partition("\n")[0]
    separator = next((mark for mark in _SEPARATORS if mark in head), _SEPARATORS[0])
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((line, [cell.strip() for cell in row]))
                if any(rows[-1][1][len(rows[0][1]) :]):
                    has = f"has {len(row)} cells, but the first row {len(rows[0][1])}"
                    raise Unreadable(f"{has}; put texts that contain '{separator}' in quotation marks", line=line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise Unreadable(f"is not CSV: {error}", line=line) from None
    return Grid(rows, "line")


def sheet_grid(path: Path) -> Grid:
    """Read the cells of the first sheet. For a formula, the cell has the value that the spreadsheet program last
    stored.

    Raises:
        Unreadable: the file is not a spreadsheet, is damaged, or exceeds a limit.
        MissingExtra: the optional part 'spreadsheets' is not installed.
        OSError: the file cannot be read.
    """
    _check_archive(path)
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("A spreadsheet (.xlsx)", "spreadsheets") from None
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")  # warnings about styles, which are not read
            book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
            first, *others = book.worksheets
            first.reset_dimensions()  # files may state a wrong size, and every row would be filled up to it
            return Grid([*_read_rows(first.iter_rows(values_only=True))], "row", tuple(sheet.title for sheet in others))
    except Unreadable:
        raise
    except Exception as error:  # noqa: BLE001 the package raises whatever a damaged file makes it raise
        raise Unreadable(f"cannot be read as a spreadsheet: {str(error).partition(chr(10))[0][:200]}") from None


def frame_of(grid: Grid) -> pl.DataFrame:
    """Make a table of texts from the rows below the first. Empty cells are null, as when a CSV is read.

    Raises:
        Unreadable: the table has no header, a column without a name, or two columns with the same name.
    """
    import polars as pl

    if not grid.rows:
        raise Unreadable("has no rows")
    (line, header), *rows = grid.rows
    names = [name.strip() for name in header]
    while names and not names[-1]:
        names.pop()
    if not all(names):
        raise Unreadable("has a column without a name in its first row", line=line)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Unreadable(f"has the column {twice!r} more than once; rename or remove one", line=line)
    cells = [[*row, *[""] * len(names)] for _, row in rows]
    columns = {name: [row[place] or None for row in cells] for place, name in enumerate(names)}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


def _check_archive(path: Path) -> None:
    """Refuse a file that is too large, before or after decompression, or that declares entities."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise Unreadable(f"is larger than {_MAX_FILE_BYTES:,} bytes")
    made = 0
    with Zip(path, Limit(_MAX_INFLATED_BYTES)) as archive:
        for name in archive.names():
            end = b""
            for piece in archive.pieces(name):
                made += len(piece)
                if made > _MAX_INFLATED_BYTES:
                    raise Unreadable(f"is larger than {_MAX_INFLATED_BYTES:,} bytes once decompressed")
                if any(mark in end + piece for mark in _MARKUP_DECLARATIONS):
                    raise Unreadable("declares a document type or entities, as no spreadsheet does")
                end = piece[-len(_MARKUP_DECLARATIONS[0]) :]


def _read_rows(rows: Iterable[Iterable[Any]]) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with its row number from 1."""
    cells = 0
    for number, row in enumerate(rows, 1):
        texts = [_cell_text(value) for value in row]
        while texts and not texts[-1]:
            texts.pop()
        cells += len(texts)
        if number > _MAX_ROWS or len(texts) > _MAX_COLUMNS or cells > _MAX_CELLS:
            raise Unreadable(
                f"has more than {_MAX_ROWS:,} rows, {_MAX_COLUMNS:,} columns or {_MAX_CELLS:,} cells", line=number
            )
        if texts:
            yield number, texts


def _cell_text(value: Any) -> str:
    """The text of a cell, as in a CSV. Numbers without decimals become whole numbers."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value).strip()
