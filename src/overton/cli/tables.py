"""A study's results, printed in a terminal: the tables of the report, with their notes and warnings.

Every text may be hostile. So no text acts as markup, and characters that would move the cursor are spelled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from overton.reporting.cells import CellView, TableView, format_table
from overton.studies.findings import DO_NOT_QUOTE, evidence, shared_cautions
from overton.studies.sections import Callout, Method, Prose, Statement, Table
from overton.untrusted import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from overton.studies.findings import Finding
    from overton.studies.sections import Exhibit, Section


MOST_ROWS = 60
"""The maximum number of rows of a table in a summary. A line below the table gives the number of rows left out."""

COLUMN_GAP = 2
_NARROW, _NARROWEST = 18, 4
"""Minimum widths of columns with text. A table is split if columns of the first width do not fit; the second is for
parts that still do not fit."""
_SUPERSCRIPTS = str.maketrans(
    "0123456789",
    "\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}"
    "\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}\N{SUPERSCRIPT SIX}\N{SUPERSCRIPT SEVEN}\N{SUPERSCRIPT EIGHT}"
    "\N{SUPERSCRIPT NINE}",
)


def show_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print the findings with the numbers that `overton show RUN --finding` takes."""
    if not findings:
        return
    shared = shared_cautions(findings)
    console.print(Text("What was found", style="bold"))
    if shared:
        console.print(Text(_format_cautions(shared, quotable=any(finding.quotable for finding in findings))))
    for number, finding in enumerate(findings, 1):
        console.print(Padding(Text(_format_finding(number, finding, shared)), (0, 0, 0, 2)))
    console.print()


def _format_finding(number: int, finding: Finding, shared: Sequence[str]) -> str:
    own = [text for text in finding.cautions if text not in shared]
    cautioned = f" {_format_cautions(own, quotable=finding.quotable)}" if own else ""
    return visible(f"{number}. {finding.sentence} ({evidence(finding)}){cautioned}")


def _format_cautions(texts: Sequence[str], *, quotable: bool) -> str:
    return visible(" ".join([*([] if quotable else [f"{DO_NOT_QUOTE}."]), *texts]))


def show_sections(sections: Iterable[Section], console: Console, *, most: int = MOST_ROWS) -> None:
    """Print sections under their titles, with at most `most` rows per table."""
    for number, section in enumerate(sections):
        if number:
            console.print()
        console.print(Text(visible(section.title), style="bold"))
        show(section.exhibits, console, most=most)


def show_first(sections: Sequence[Section], console: Console) -> None:
    """Print sections that come before the findings, then a separating line."""
    show_sections(sections, console)
    if sections:
        console.print()


def show(exhibits: Iterable[Exhibit], console: Console, *, most: int | None = None) -> None:
    """Print exhibits at the console's width. Charts are for reports, and are skipped."""
    for exhibit in exhibits:
        for part in _render_exhibit(exhibit, console.width, most):
            console.print(part)


def _render_exhibit(exhibit: Exhibit, width: int, most: int | None) -> Iterator[RenderableType]:
    match exhibit:
        case Table():
            yield from _render_table(exhibit, width, most)
        case Callout():
            word = "Warning" if exhibit.kind == "warning" else "Note"
            yield from (Text(f"{word}: {line}") for line in visible(exhibit.text).splitlines())
        case Statement():
            yield Padding(Text(visible(_statement_text(exhibit))), (0, 0, 0, 2))
        case Prose() | Method():
            yield Text(visible(exhibit.text))


def _statement_text(statement: Statement) -> str:
    return " ".join(
        filter(
            None, [f"\N{BULLET} {statement.text}", statement.evidence and f"({statement.evidence})", statement.caution]
        )
    )


@dataclass(frozen=True)
class PrintedColumn:
    """A column as printed; a cell may have several lines. A column of texts is never made narrower than `narrow`
    characters."""

    title: str
    cells: Sequence[str]
    text: bool
    narrow: int = _NARROW

    @property
    def widest(self) -> int:
        """The width of its widest line, not counting the title."""
        return max((cell_len(line) for cell in self.cells for line in cell.splitlines()), default=0)

    @property
    def least(self) -> int:
        """The width below which numbers would break or texts would be hard to read."""
        words = max(map(cell_len, self.title.split()), default=0)
        return min(self.narrow, max(self.widest, words)) if self.text else max(self.widest, words)

    @property
    def whole(self) -> int:
        """The width at which nothing is wrapped."""
        return max(self.widest, cell_len(self.title))


def _render_table(table: Table, width: int, most: int | None) -> Iterator[RenderableType]:
    made = format_table(table)
    made_rows = made.rows if most is None else made.rows[:most]
    reasons: dict[str, int] = {}
    columns, same = _printed_columns(made, made_rows, reasons, " "), list[str]()
    if least_width(columns) + sum(column.widest - column.least for column in columns if column.text) > width:
        columns, same = _take_out_constants(columns)
    if least_width(columns) > width:
        columns, same = _take_out_constants(_printed_columns(made, made_rows, reasons, "\n"))
    yield ""
    yield Text(visible(table.title), style="italic")
    yield from map(Text, same)
    for number, part in enumerate(_split_to_width(columns, width)):
        if number:
            yield ""
        yield _make_grid(part, width)
    if left_out := len(made.rows) - len(made_rows):
        yield Text(f"The first {len(made_rows):,} of {len(made.rows):,} rows; {left_out:,} are left out.")
    yield from (Text(visible(line), style="dim") for line in _notes_below(made, reasons))


def _printed_columns(
    made: TableView, rows: Sequence[Sequence[CellView]], reasons: dict[str, int], joint: str
) -> list[PrintedColumn]:
    """The columns as printed, with `joint` between a value and its interval. Reasons for empty cells are added to
    `reasons` with a number."""
    return [
        PrintedColumn(
            visible(column.title), [_format_cell(row[place], reasons, joint) for row in rows], column.kind == "text"
        )
        for place, column in enumerate(made.table.columns)
    ]


def _take_out_constants(columns: Sequence[PrintedColumn]) -> tuple[list[PrintedColumn], list[str]]:
    """Take out text columns with the same text in every row. Return the other columns, and a line for each column taken
    out."""
    same = [column for column in columns if column.text and len(column.cells) > 1 and len(set(column.cells)) == 1]
    lines = [f"{column.title}: {column.cells[0] or 'none'}" for column in same]
    unlike = [column for column in columns if column not in same]
    return (unlike, lines) if unlike else (list(columns), [])


def _format_cell(cell: CellView, reasons: dict[str, int], joint: str) -> str:
    if cell.reason:
        return cell.text + str(reasons.setdefault(cell.reason, len(reasons) + 1)).translate(_SUPERSCRIPTS)
    return visible(f"{cell.text}{joint}{cell.interval}" if cell.interval else cell.text)


def least_width(columns: Sequence[PrintedColumn]) -> int:
    """The smallest width of a table at which numbers stay whole and texts stay readable."""
    return sum(column.least for column in columns) + COLUMN_GAP * (len(columns) - 1)


def _split_to_width(columns: Sequence[PrintedColumn], width: int) -> Iterator[list[PrintedColumn]]:
    """Split the columns into parts that fit the width. Each part begins with the first columns, which name the rows."""
    names = list(takewhile(lambda column: column.text, columns))
    part = list(names)
    for column in columns[len(names) :]:
        if len(part) > len(names) and least_width([*part, column]) > width:
            yield part
            part = list(names)
        part.append(column)
    yield part


def _make_grid(columns: Sequence[PrintedColumn], width: int) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, COLUMN_GAP - 1, 0, 0))
    for column, wide in zip(columns, column_widths(columns, width), strict=True):
        grid.add_column(Text(column.title), justify="left" if column.text else "right", width=wide, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*map(Text, row))
    return grid


def column_widths(columns: Sequence[PrintedColumn], width: int) -> list[int]:
    """The width of each column. Spare width goes first to columns of texts, then to titles of other columns. Within
    each of these two groups, the narrowest column comes first.

    If the width is too small, texts are wrapped further, widest column first; numbers are never broken.
    """
    widths = [column.least for column in columns]
    for _ in range(least_width(columns) - width):
        texts = [(wide, place) for place, wide in enumerate(widths) if columns[place].text and wide > _NARROWEST]
        if not texts:
            break
        widths[max(texts)[1]] -= 1
    for _ in range(width - least_width(columns)):
        narrow = [
            (not columns[place].text, wide, place) for place, wide in enumerate(widths) if wide < columns[place].whole
        ]
        if not narrow:
            break
        widths[min(narrow)[-1]] += 1
    return widths


def _notes_below(made: TableView, reasons: dict[str, int]) -> Iterator[str]:
    """The notes below a table: reasons for empty cells, the table's own note, its intervals, and its number in the
    paper."""
    more_lines = {cell.text: cell.more for row in made.rows for cell in row if cell.more}
    yield from (f"{text} {' '.join(more)}" for text, more in more_lines.items())
    for reason, number in reasons.items():
        yield f"{str(number).translate(_SUPERSCRIPTS)} {reason}"
    source = f"The paper's {made.table.source}." if made.table.source else ""
    intervals = f"{made.intervals}." if made.intervals else ""
    if said := " ".join(part for part in (made.table.note, intervals, source) if part):
        yield said
