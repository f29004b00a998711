"""Layouts of a report's tables and charts, and the sections made from layouts and an analysis.

A layout is data: it names measures, and the subject of each row. A measure gives a column its numbers, their format and
its title. A layout may have a shorter title. Where no layout fits, a section has a function instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isnan
from typing import Literal, NamedTuple, TypeAlias

from overton.statistics import Estimate
from overton.studies.charts.axes import Axis, difference_axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.frame import Analysis
from overton.studies.numbers import Kind
from overton.studies.probabilities import probabilities_section, weighing_section
from overton.studies.sections import COLOURS, Cell, Chart, Column, Exhibit, Section, Table
from overton.studies.warnings import fault_section, with_faults

ITEM = "item"
"""A value of `RowsOf.by`: each item has a row."""

CONDITION = "condition"
"""A value of `RowsOf.sides`: a row compares two conditions of one model."""


@dataclass(frozen=True)
class RowsOf:
    """The subject of each row of a table, or each dot of a chart: by default a model in a condition.

    by     the facet with a row for each value, or `ITEM` for a row for each item. `title` is the heading of the column
           with these values. Without a title there is no such column
    sides  facets with two sides, or `CONDITION`. Each row compares two sides. Models and conditions have rows only if
           they have two sides of the first facet
    together  rows are about all models together, and name no model
    """

    by: str = ""
    title: str = ""
    sides: tuple[str, ...] = ()
    together: bool = False


@dataclass(frozen=True)
class MeasureColumn:
    """The numbers of a measure, one for each row.

    title    the heading, by default the measure's own title
    of       'all': all units of a row. 'first' or 'second': the units of that side. 'difference': the difference
           between the two sides
    variant, against  as in the table of estimates
    sides    a facet with two sides. The column has the difference between the sides, over the units of the row. It is
             left out if no row has such a difference
    condition  the condition of the column's numbers, by default the row's condition
    kind     the format of the numbers, by default the measure's format
    detail   summaries leave the column out

    A column is left out if its measure cannot be computed from the records.
    """

    measure: str
    title: str = ""
    kind: Kind | None = None
    of: Literal["all", "first", "second", "difference"] = "all"
    variant: str = "plain"
    against: str | None = None
    sides: str = ""
    condition: str = ""
    detail: bool = False


@dataclass(frozen=True)
class CountColumn:
    """The cells of the column `name` in one of the tables in `Analysis.counts`.

    table   the table's name in `Analysis.counts`; it has a row for each model, condition and value of a facet
    item    the column with the items' ids, if the table has a row for each item instead
    words   texts that replace the cells
    kind    the format of the numbers
    detail  summaries leave the column out

    A column of another kind than 'count' is left out if it has no numbers.
    """

    name: str
    title: str
    table: str = "counts"
    item: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "count"
    detail: bool = False


@dataclass(frozen=True)
class WordsColumn:
    """Words about each model: `words(analysis, model)`."""

    title: str
    words: Callable[[Analysis, str], str]


OverviewColumn: TypeAlias = MeasureColumn | WordsColumn


@dataclass(frozen=True)
class TableOf:
    """A table with a row for each number of a measure.

    The first `MeasureColumn` without a `condition` determines the measure. A table without rows or numbers is left out,
    or replaced by `otherwise`. `head` is the heading of the models' column. The other fields are those of `Table`.
    """

    title: str
    columns: Sequence[MeasureColumn | CountColumn]
    rows: RowsOf = RowsOf()
    head: str = "Model"
    note: str = ""
    source: str = ""
    summary: bool = False
    otherwise: Exhibit | None = None


@dataclass(frozen=True)
class DotsOf:
    """A chart of a measure's numbers and their intervals, with a panel for each model and condition.

    The chart has a dot for each value of a facet or each item, and is left out if it has no dots. `axis` is the title
    of the axis. The other fields are those of `Chart`.
    """

    name: str
    title: str
    description: str
    column: MeasureColumn
    rows: RowsOf
    axis: str


Layout: TypeAlias = Exhibit | TableOf | DotsOf
Part: TypeAlias = Layout | Callable[[Analysis], Iterable[Layout]]


@dataclass(frozen=True)
class SectionOf:
    """A section: its exhibits in order. Each exhibit is declared by a layout, given in full, or made by a function
    where no layout fits."""

    key: str
    title: str
    parts: Sequence[Part]


def make_sections(layouts: Iterable[SectionOf], analysis: Analysis, plain: str) -> list[Section]:
    """The sections of an analysis. In the `plain` condition a row is named by the model alone, otherwise by model and
    condition."""
    source = _Source(analysis, plain)
    return [Section(layout.key, layout.title, source.exhibits(layout.parts)) for layout in layouts]


def make_exhibits(parts: Iterable[Part], analysis: Analysis, plain: str) -> list[Exhibit]:
    """The exhibits of a section; `plain` as in `make_sections`."""
    return _Source(analysis, plain).exhibits(parts)


def make_report(
    layouts: Iterable[SectionOf],
    analysis: Analysis,
    plain: str,
    *,
    judged: str,
    faults: tuple[str, str, str],
    probabilities: TableOf | None = None,
) -> list[Section]:
    """The sections of a study's report: those from `make_sections`, and the sections that all studies have.

    The text `judged` describes the judges; each of the study's own sections ends with it. `faults` has three texts for
    the section on malformed replies. They are the plural word for replies, the heading of the column of conditions, and
    a sentence on how the headline treats malformed replies. The table `probabilities` belongs to the section on token
    probabilities, if there is one. A section without exhibits is left out.
    """
    made = make_sections(layouts, analysis, plain)
    if (weighed := weighing_section(analysis.weighing)) is not None:
        parts = make_exhibits([probabilities] if probabilities else [], analysis, plain)
        made.append(replace(weighed, exhibits=[*weighed.exhibits, *parts]))
    if (labels := probabilities_section(analysis.chances)) is not None:
        made.append(labels)
    signed = (section.signed(judged) for section in made if section.exhibits)
    return with_faults(signed, fault_section(analysis.faults, *faults), analysis.warnings)


TOGETHER = "all together"
"""The name of the row with numbers of all models together."""


def make_overview(columns: Sequence[OverviewColumn], analysis: Analysis, plain: str) -> Table | None:
    """The table of a run's first screen, None if there are no numbers.

    The table has a row for each model, or for each model and condition that the first measure has. If a measure has
    numbers only for all models together, there is a row for them, too.
    """
    source = _Source(analysis, plain)
    of_rows = [column for column in columns if isinstance(column, MeasureColumn) and not column.condition]
    settings = {group[:2]: group for column in of_rows[:1] for group in source.groups(RowsOf(), column.measure)}
    known = [*settings.values()] or [_Group(model, "") for model in analysis.models]
    named = {group.model for group in known}
    known += [_Group(model, "") for model in analysis.models if model not in named]
    groups = [group for group in known if group.model]
    if any(not any(source.overview(column, groups)) and source.number(column, _ALL) is not None for column in of_rows):
        groups = [_ALL, *groups]
    every = {column: source.overview(column, groups) for column in columns}
    kept = {column: cells for column, cells in every.items() if any(map(_has_value, cells))}
    if not any(isinstance(column, MeasureColumn) for column in kept):
        return None
    heads = [Column(column.title) if isinstance(column, WordsColumn) else source.column(column) for column in kept]
    names = [source.model(group) if group.model else TOGETHER for group in groups]
    return Table("Overview", [Column("Model"), *heads], [*zip(names, *kept.values(), strict=True)])


def _has_value(cell: Cell) -> bool:
    return not isnan(cell.value) if isinstance(cell, Estimate) else bool(cell)


class _Group(NamedTuple):
    """The units of one row: of a model in a condition, and of a facet's value, two sides or an item.

    `values` has the facet's value, or the two sides. If the sides are two conditions, `condition` is empty.
    """

    model: str
    condition: str
    facet: str | None = None
    values: tuple[str, ...] = ()
    item: str | None = None

    def where(self, *values: str) -> str:
        """The condition and the values of facets, in the form that the table of estimates uses."""
        return " / ".join([self.condition, *values] if self.condition else values)


_ALL = _Group("", "")


@dataclass(frozen=True)
class _Source:
    """An analysis as the source of the cells for each group of units."""

    analysis: Analysis
    plain: str

    def exhibits(self, parts: Iterable[Part]) -> list[Exhibit]:
        return [exhibit for part in parts for exhibit in self.exhibits_of(part) if exhibit is not None]

    def exhibits_of(self, part: Part) -> Iterable[Exhibit | None]:
        if isinstance(part, TableOf):
            return [self.table(part)]
        if isinstance(part, DotsOf):
            return [self.chart(part)]
        if callable(part):
            return [exhibit for made in part(self.analysis) for exhibit in self.exhibits_of(made)]
        return [part]

    def table(self, layout: TableOf) -> Exhibit | None:
        measures = [
            column.measure for column in layout.columns if isinstance(column, MeasureColumn) and not column.condition
        ]
        groups = self.groups(layout.rows, measures[0]) if measures else self.settings
        by = [layout.rows.title] if layout.rows.title else []
        named = [] if layout.rows.together else [layout.head]
        columns = [Column(head) for head in (*named, *by, *(("First", "Second") if layout.rows.sides else ()))]
        rows, heads = [self.names(group, layout.rows) for group in groups], len(columns)
        for column in layout.columns:
            cells = self.cells(column, groups)
            is_count = isinstance(column, CountColumn) and column.kind == "count"
            if is_count or any(cell is not None for cell in cells):
                columns.append(self.column(column))
                rows = [[*row, cell] for row, cell in zip(rows, cells, strict=True)]
        if not rows or len(columns) == heads:
            return layout.otherwise
        return Table(layout.title, columns, rows, layout.note, layout.source, layout.summary)

    def chart(self, layout: DotsOf) -> Chart | None:
        groups, column = self.groups(layout.rows, layout.column.measure), self.column(layout.column)
        points = [
            Dot(group.item or group.values[0], 0, number, panel=self.model(group), more=_sides_in_words(group))
            for group in groups
            if (number := self.number(layout.column, group)) is not None
        ]
        low, high = self.analysis.measures[layout.column.measure].range
        axis = (
            difference_axis(layout.axis, [point.estimate for point in points])
            if column.kind == "points"
            else Axis(layout.axis, low or 0.0, high or 0.0, column.kind)
        )
        rows, series = sorted({point.row for point in points}), [Series(column.title, COLOURS["accent"], "circle")]
        panels = list(dict.fromkeys(point.panel for point in points))
        draw = partial(dots, points, rows, series, axis, panels=panels)
        return Chart(layout.name, layout.title, layout.description, draw) if points else None

    @cached_property
    def settings(self) -> list[_Group]:
        """Every model in every condition, in order."""
        return [_Group(*setting) for setting in self.analysis.settings]

    @cached_property
    def conditions(self) -> list[str]:
        return list(dict.fromkeys(setting.condition for setting in self.settings))

    def groups(self, rows: RowsOf, measure: str) -> list[_Group]:
        """The groups that have a number of a measure, in the order of the analysis' rows."""
        items = rows.by == ITEM
        if not rows.sides:
            facet = None if items else rows.by or None
            return list(self.groups_by(facet, measure, items=items, together=rows.together))
        every = [list(self.groups_by(facet, measure, items=items, sides=True)) for facet in rows.sides]
        settings = {group[:2] for group in every[0]}
        some = [group for groups in every for group in groups if group[:2] in settings]
        return sorted(some, key=lambda group: group[:2]) if len(every) > 1 else some

    def groups_by(
        self, facet: str | None, measure: str, *, items: bool = False, sides: bool = False, together: bool = False
    ) -> Iterator[_Group]:
        """The groups that a facet's values form. With `sides`, a group has the facet's two sides. With `items`, each
        group has one item."""
        for row in self.analysis.rows_of(measure, None if facet == CONDITION else facet, variant="plain"):
            model, condition, against = row.model or "", row.condition or "", row.against
            if (row.item is not None) != items or (against is not None) != sides or (row.model is None) != together:
                continue
            second = () if against is None else (against,)
            if facet is None:
                yield _Group(model, condition, item=row.item)
            elif facet != CONDITION:
                own = next((name for name in self.conditions if condition.startswith(f"{name} / ")), "")
                value = condition.removeprefix(f"{own} / ") if own else condition
                yield _Group(model, own, facet, (value, *second), row.item)
            elif against in self.conditions:
                yield _Group(model, "", values=(condition, *second))

    def names(self, group: _Group, rows: RowsOf) -> list[Cell]:
        """The cells that name a row."""
        model = [self.model(group)] if group.model else []
        values = group.values if rows.title or not rows.by else ()
        return [*model, *([] if group.item is None else [group.item]), *values]

    def model(self, group: _Group) -> str:
        return group.model if group.condition in {"", self.plain} else f"{group.model}, {group.condition}"

    def column(self, column: MeasureColumn | CountColumn) -> Column:
        if isinstance(column, CountColumn):
            return Column(column.title, "text" if column.words else column.kind, detail=column.detail)
        declared = self.analysis.measures[column.measure]
        differs = column.of == "difference" or column.against is not None or column.sides
        kind: Kind = column.kind or ("points" if differs and declared.kind == "share" else declared.kind)
        return Column(column.title or declared.title, kind, detail=column.detail)

    def cells(self, column: MeasureColumn | CountColumn, groups: Sequence[_Group]) -> list[Cell]:
        if isinstance(column, MeasureColumn):
            if column.measure not in self.analysis.measures:
                raise KeyError(column.measure)
            return [self.number(column, group) for group in groups]
        cells = {
            (row["model"] or "", row.get("condition") or "", row.get(column.item or "facet")): row.get(column.name)
            for row in self.analysis.counts[column.table]
        }
        keys = [
            (group.model, group.condition, group.item)
            if column.item
            else (group.model, group.where(*group.values[:1]), group.facet)
            for group in groups
        ]
        return [column.words.get(str(cells.get(key))) if column.words else cells.get(key) for key in keys]

    def overview(self, column: OverviewColumn, groups: Sequence[_Group]) -> list[Cell]:
        """The cells of a column of the first screen."""
        if isinstance(column, WordsColumn):
            return [column.words(self.analysis, group.model) if group.model else None for group in groups]
        return self.cells(column, groups) if column.measure in self.analysis.measures else [None] * len(groups)

    def number(self, column: MeasureColumn, group: _Group) -> Estimate | None:
        """A group's number in a column; None if the analysis has no such number."""
        facet, values, against = group.facet, group.values, column.against
        if column.sides:
            first, against = self.sides(column, group)
            facet, values = " / ".join(filter(None, (facet, column.sides))), (*values, first)
        elif column.of == "difference":
            values, against = values[:1], values[1]
        elif column.of == "second":
            values = values[1:]
        elif column.of == "first":
            values = values[:1]
        elif len(values) == 2:
            facet, values = None, ()
        row = self.analysis.row(
            column.measure,
            model=group.model or None,
            item=group.item,
            facet=facet,
            condition=column.condition or group.where(*values) or None,
            variant=column.variant,
            against=against,
        )
        return None if row is None else row.number

    def sides(self, column: MeasureColumn, group: _Group) -> tuple[str, ...]:
        """The two sides of a model in a condition, over all units. Their names are empty if there are no sides."""
        rows = self.groups_by(column.sides, column.measure, sides=True)
        return next((row.values for row in rows if row[:2] == group[:2]), ("", ""))


def _sides_in_words(group: _Group) -> str:
    return "first: {}; second: {}".format(*group.values) if len(group.values) == 2 else ""
