"""Formatting of values for readers: hostile text is made safe to show, and numbers are formatted for tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import msgspec
from markupsafe import Markup

from overton.statistics import NO_INTERVAL, Estimate
from overton.studies.numbers import NOT_DETERMINED, Kind, interval, number, reason
from overton.studies.sections import Cell, Column, EmptyCell, NamedItem, Table
from overton.untrusted import visible

_SURROGATES = re.compile("[\ud800-\udfff]")


def visible_throughout(value: Any) -> Any:
    """`value`, a JSON-like structure, with every string in it made visible."""
    return _change_texts(value, visible)


def _change_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _change_texts(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_change_texts(inner, change) for inner in value]
    return value


def encoded(value: Any) -> bytes:
    """Encode `value`, anything that msgspec can encode, as JSON. NaN becomes null, and lone surrogates are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = _change_texts(msgspec.to_builtins(value), lambda text: _SURROGATES.sub("\ufffd", text))
        return msgspec.json.encode(plain)


def inside_script(json: bytes) -> Markup:
    """JSON made safe for a script element: special characters are escaped, so that no text can end the element."""
    text = json.decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@dataclass(frozen=True)
class CellView:
    """A cell as displayed: the value, its interval and its count. It also has the unformatted limits and the number by
    which rows are sorted."""

    text: str
    interval: str = ""
    count: str = ""
    reason: str = ""
    sort: float | None = None
    low: float | None = None
    high: float | None = None
    more: Sequence[str] = ()


@dataclass(frozen=True)
class TableView:
    """A table as displayed; `headings` are pairs of a title and the count that all cells of the column share. The count
    is '' if the cells' counts differ."""

    table: Table
    headings: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[CellView]]
    intervals: str

    @property
    def numeric(self) -> list[bool]:
        """For each column, whether it is numeric."""
        return [column.kind != "text" for column in self.table.columns]


def format_table(table: Table) -> TableView:
    """Format every cell of the table. Counts that a whole column shares move to its heading, and a note explains the
    intervals."""
    counts = [_shared_count(table, index) for index in range(len(table.columns))]
    rows = [
        [_format_cell(cell, column, count) for cell, column, count in zip(row, table.columns, counts, strict=True)]
        for row in table.rows
    ]
    headings = [
        (column.title, f"n = {count:,}" if count is not None else "")
        for column, count in zip(table.columns, counts, strict=True)
    ]
    return TableView(table, headings, rows, _explain_intervals(table))


def _format_cell(cell: Cell, column: Column, shared: int | None) -> CellView:
    match cell:
        case None:
            return CellView("\u2013")
        case NamedItem():
            return CellView(cell.text, more=cell.more)
        case EmptyCell():
            return CellView("\u2013", reason=cell.reason)
        case Estimate():
            return _format_estimate(cell, column.kind, shared)
        case int() | float():
            return CellView(number(cell, column.kind), sort=None if isnan(cell) else cell)
        case _:
            return CellView(str(cell))


def _format_estimate(estimate: Estimate, kind: Kind, shared: int | None) -> CellView:
    if isnan(estimate.value):
        return CellView("\u2013", reason=reason(estimate))
    count = "" if shared is not None else f"n = {estimate.n:,}"
    low, high = (None, None) if isnan(estimate.low) or isnan(estimate.high) else (estimate.low, estimate.high)
    return CellView(number(estimate.value, kind), interval(estimate, kind), count, "", estimate.value, low, high)


def _shared_count(table: Table, index: int) -> int | None:
    cells = [row[index] for row in table.rows]
    counts = {cell.n for cell in cells if isinstance(cell, Estimate) and not isnan(cell.value)}
    return counts.pop() if len(counts) == 1 else None


def _explain_intervals(table: Table) -> str:
    bounded = [cell for row in table.rows for cell in row if isinstance(cell, Estimate) and not isnan(cell.low)]
    levels = sorted({cell.level for cell in bounded})
    methods = {level: sorted({cell.method for cell in bounded if cell.level == level}) for level in levels}
    explained = [f"{100 * level:g}% intervals: {'; '.join(made)}" for level, made in methods.items()]
    open_ended = any(cell.undetermined for cell in bounded)
    return "; ".join([*explained, *([_NOT_DETERMINED] if open_ended else []), *_why_no_interval(table)])


_NOT_DETERMINED = f"{NOT_DETERMINED}: the limit lies at the end of the measure's range"


def _why_no_interval(table: Table) -> list[str]:
    """The reasons why numbers have no interval, without the counts, which are shown next to the numbers."""
    reasons = {
        cell.method.removeprefix(NO_INTERVAL).partition(" (")[0]
        for row in table.rows
        for cell in row
        if isinstance(cell, Estimate) and cell.method.startswith(NO_INTERVAL)
    }
    return [f"no interval: {', '.join(sorted(reasons))}"] if reasons else []
