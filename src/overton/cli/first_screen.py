"""A run's first screen as printed: about twenty lines, and at most `MOST_LINES` lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from overton.cli.tables import COLUMN_GAP, PrintedColumn, column_widths, least_width
from overton.reporting.cells import CellView, format_table
from overton.statistics import Estimate
from overton.studies.numbers import brief_interval, brief_value
from overton.untrusted import visible_line

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType

    from overton.reports.first_screen import FirstScreen
    from overton.studies.sections import Cell, Column, Table

MOST_LINES = 26
"""The maximum number of lines on a terminal of 100 columns."""
_MOST_LINES_OF_TEXT = 4
"""The maximum number of lines of a finding or a caution. Texts of other people may be long."""
_FEWEST_ROWS = 2
_INDENT = 2
_LONGEST_NAME = 24
"""Names up to this width are not wrapped."""
_BETWEEN = " " * 6


def show_first_screen(screen: FirstScreen, report: Path | None, console: Console) -> None:
    """Print the screen, with as many rows of the table as fit."""
    above: list[RenderableType] = [_cut(Text(visible_line(screen.heading), style="bold"), console)]
    above += [
        Padding(_cut(Text(f"\N{BULLET} {visible_line(text)}"), console, 2), (0, 0, 0, 2)) for text in screen.findings
    ]
    below = [_cut(Text(visible_line(text)), console) for text in _notes(screen)]
    below += [Text(line, no_wrap=True, overflow="ignore") for line in _last_lines(screen, report, console.width)]
    room = MOST_LINES - sum(_height(part, console) for part in (*above, *below))
    for part in (*above, *_table_parts(screen, console, room), *below):
        console.print(part, soft_wrap=isinstance(part, Text) and part.overflow == "ignore")


def _notes(screen: FirstScreen) -> Iterator[str]:
    yield from filter(None, (_levels(screen), screen.caution, screen.naming))


def _levels(screen: FirstScreen) -> str:
    """A sentence on the confidence levels of intervals. Intervals of findings are wider if they are corrected for
    multiple tests."""
    cells = [cell for row in (screen.table.rows if screen.table else ()) for cell in row if isinstance(cell, Estimate)]
    levels = sorted({cell.level for cell in cells if cell.low == cell.low})
    if not levels:
        return ""
    own = [finding.number for finding in screen.said if finding.number is not None]
    wider = any(number.level > levels[0] + 1e-9 for number in own if number.low == number.low)
    said = f"Intervals in the table: {100 * levels[0]:g}%"
    return (
        (f"{said}. Intervals in the findings are wider if they are corrected for multiple tests.")
        if wider
        else f"{said}."
    )


def _last_lines(screen: FirstScreen, report: Path | None, width: int) -> Iterator[str]:
    """The report's path on a separate line, which scripts can find, then further commands, as many per line as fit."""
    if report:
        yield visible_line(f"Report: {report}")
    parts = [f"{title}: {command}" for title, command in screen.further.items()]
    line = ""
    for part in map(visible_line, parts):
        if line and cell_len(f"{line}{_BETWEEN}{part}") > width:
            yield line
            line = ""
        line = f"{line}{_BETWEEN}{part}" if line else part
    yield line


def _cut(text: Text, console: Console, indent: int = 0) -> Text:
    """The text, or its first lines if it is too long."""
    lines = text.wrap(console, console.width - indent)
    if len(lines) <= _MOST_LINES_OF_TEXT:
        return text
    last = lines[_MOST_LINES_OF_TEXT - 1]
    last.truncate(console.width - indent - 2)
    last.append(" \N{HORIZONTAL ELLIPSIS}")
    return Text("\n").join(lines[:_MOST_LINES_OF_TEXT])


def _height(part: RenderableType, console: Console) -> int:
    return 1 if isinstance(part, Text) and part.overflow == "ignore" else len(console.render_lines(part))


# The table


def _table_parts(screen: FirstScreen, console: Console, room: int) -> Iterator[RenderableType]:
    if screen.table is None or not screen.table.rows:
        return
    table, rows = screen.table, len(screen.table.rows)
    grid = _grid(table, rows, console.width)
    while rows > _FEWEST_ROWS and _height(grid, console) + (rows < len(table.rows)) > room:
        rows -= 1
        grid = _grid(table, rows, console.width)
    yield grid
    if rows < len(table.rows):
        yield Text(f"The first {rows} of {len(table.rows)} rows.", style="dim")


def _grid(table: Table, rows: int, width: int) -> Grid:
    """The first rows, with as many columns as fit side by side. The last column is kept as long as possible."""
    cells = [*zip(*_cells(table, rows), strict=True)]
    columns = [
        PrintedColumn(visible_line(column.title), cells[place], column.kind == "text", narrow=_LONGEST_NAME)
        for place, column in enumerate(table.columns)
    ]
    while len(columns) > 2 and least_width(columns) > width:
        columns.pop(-2 if len(columns) > 3 else -1)
    grid = Grid(box=None, show_edge=False, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
    for column, wide in zip(columns, column_widths(columns, width), strict=True):
        head = Text(column.title, style="bold")
        grid.add_column(head, justify="left" if column.text else "right", width=wide, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*map(Text, row))
    return grid


def _cells(table: Table, rows: int) -> list[list[str]]:
    """The cells of the first rows as text."""
    views = format_table(table).rows[:rows]
    return [
        [_cell(*each) for each in zip(row, table.columns, made, strict=True)]
        for row, made in zip(table.rows[:rows], views, strict=True)
    ]


def _cell(cell: Cell, column: Column, view: CellView) -> str:
    if not isinstance(cell, Estimate):
        return visible_line(view.text)
    shown = brief_value(cell, column.kind)
    return f"{shown} {brief_interval(cell, column.kind)}" if cell.low == cell.low else shown
