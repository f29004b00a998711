"""How numbers read in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from overton.statistics import Estimate
from overton.studies.exhibits import Cell, Column, Missing, Table
from overton.studies.numbers import Kind, interval, number, reason

__all__ = ["ShownCell", "ShownTable", "shown"]


@dataclass(frozen=True)
class ShownCell:
    """A cell as it reads: the value, its interval, its count, and what to sort by."""

    text: str
    interval: str = ""
    count: str = ""
    reason: str = ""
    sort: float | None = None


@dataclass(frozen=True)
class ShownTable:
    """A table as it reads; `headings` are pairs of a title and the count shared by the whole column, or ''."""

    table: Table
    headings: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[ShownCell]]
    intervals: str

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers."""
        return [column.kind != "text" for column in self.table.columns]


def shown(table: Table) -> ShownTable:
    """The table with every cell formatted, counts that a column shares moved to its heading, intervals explained."""
    counts = [_shared_count(table, index) for index in range(len(table.columns))]
    rows = [
        [_cell(cell, column, count) for cell, column, count in zip(row, table.columns, counts, strict=True)]
        for row in table.rows
    ]
    headings = [
        (column.title, f"n = {count:,}" if count is not None else "")
        for column, count in zip(table.columns, counts, strict=True)
    ]
    return ShownTable(table, headings, rows, _intervals(table))


def _cell(cell: Cell, column: Column, shared: int | None) -> ShownCell:
    match cell:
        case None:
            return ShownCell("\u2013")
        case Missing():
            return ShownCell("\u2013", reason=cell.reason)
        case Estimate():
            return _estimate(cell, column.kind, shared)
        case int() | float():
            return ShownCell(number(cell, column.kind), sort=None if isnan(cell) else cell)
        case _:
            return ShownCell(str(cell))


def _estimate(estimate: Estimate, kind: Kind, shared: int | None) -> ShownCell:
    if isnan(estimate.value):
        return ShownCell("\u2013", reason=reason(estimate))
    count = "" if shared is not None else f"n = {estimate.n:,}"
    return ShownCell(number(estimate.value, kind), interval(estimate, kind), count, sort=estimate.value)


def _shared_count(table: Table, index: int) -> int | None:
    cells = [row[index] for row in table.rows]
    counts = {cell.n for cell in cells if isinstance(cell, Estimate) and not isnan(cell.value)}
    return counts.pop() if len(counts) == 1 else None


def _intervals(table: Table) -> str:
    bounded = [cell for row in table.rows for cell in row if isinstance(cell, Estimate) and not isnan(cell.low)]
    methods = {level: sorted({cell.method for cell in bounded if cell.level == level}) for level in _levels(bounded)}
    return "; ".join(f"{100 * level:g}% intervals: {'; '.join(made)}" for level, made in methods.items())


def _levels(cells: Sequence[Estimate]) -> list[float]:
    return sorted({cell.level for cell in cells})
