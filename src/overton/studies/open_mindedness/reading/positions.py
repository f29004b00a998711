"""The table that adds topic and positions to issues: CSV with the columns issue, topic, pro, con."""

from __future__ import annotations

import csv
from io import StringIO
from typing import NamedTuple

from overton.errors import quoted
from overton.studies.noting import Notes, unreadable
from overton.studies.open_mindedness.reading.draft import Draft
from overton.studies.parsing import Text, read_whole

__all__ = ["Position", "add_positions", "read_table"]

_COLUMNS = ("issue", "topic", "pro", "con")


class Position(NamedTuple):
    """One row of the table; None where a cell is empty."""

    line: int
    topic: str | None
    pro: str | None
    con: str | None


def read_table(file: Text, notes: Notes) -> dict[str, Position]:
    """The table's rows by issue; problems are noted with their line."""
    text = read_whole(file, notes)
    if text is None:
        return {}
    reader = csv.reader(StringIO(text, newline=""))
    table: dict[str, Position] = {}
    try:
        columns = [column.strip().lower() for column in next(reader, [])]
        if _header_is_bad(columns, notes):
            return {}
        for row in reader:
            if any(cell.strip() for cell in row):
                _add_row(table, dict(zip(columns, row, strict=False)), len(row) == len(columns), reader.line_num, notes)
    except csv.Error as error:
        notes.error(f"line {reader.line_num}", f"is not valid CSV: {error}")
    return table


def add_positions(draft: Draft, table: dict[str, Position]) -> None:
    """Fill in what `draft` lacks."""
    if (row := table.get(draft.id)) is not None:
        draft.topic = draft.topic or row.topic
        if draft.pro is None and draft.con is None:
            draft.pro, draft.con = row.pro, row.con


def _header_is_bad(columns: list[str], notes: Notes) -> bool:
    for column in columns:
        if column not in _COLUMNS:
            notes.warning("line 1", f"the column {quoted(column)} is left out; known are {', '.join(_COLUMNS)}")
    if "issue" not in columns or len(set(columns)) < len(columns):
        notes.error("line 1", f"must name the columns {', '.join(_COLUMNS)}, each once")
        return True
    return False


def _add_row(table: dict[str, Position], row: dict[str, str], whole: bool, line: int, notes: Notes) -> None:
    where = f"line {line}"
    if not whole:
        notes.error(where, "has not as many cells as the header; put texts that hold commas into quotation marks")
        return
    cells = {column: row.get(column, "").strip() or None for column in _COLUMNS}
    issue = cells["issue"]
    for column, cell in cells.items():
        if cell is not None and (reason := unreadable(cell)) is not None:
            notes.error(f"{where}, {column}", reason)
    if issue is None:
        notes.error(f"{where}, issue", "is empty")
    elif issue in table:
        notes.error(f"{where}, issue", f"{quoted(issue)} stands already in line {table[issue].line}")
    elif (cells["pro"] is None) != (cells["con"] is None):
        notes.error(where, "names one position without the other")
    else:
        table[issue] = Position(line, cells["topic"], cells["pro"], cells["con"])
