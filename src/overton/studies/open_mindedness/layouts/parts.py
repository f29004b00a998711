"""Parts that several sections of the report use: names for readers, access to numbers, and tables of configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts.axes import Axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.frame import Analysis, Cells
from overton.studies.layouts import MeasureColumn, TableOf, make_exhibits
from overton.studies.numbers import Kind
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Table

LABELS = {
    "baseline": "Baseline",
    "one-sided-pro": "One-sided, pro",
    "one-sided-con": "One-sided, con",
    "convincing-pro": "Clear and convincing, pro",
    "convincing-con": "Clear and convincing, con",
    "balanced": "Balanced",
    "three-pro": "Three arguments, pro",
    "three-con": "Three arguments, con",
}
"""Labels for readers, by the configurations' names in records."""

SCORE = Axis("Open-mindedness (at most 100)", 0, 100, "score")
PLAIN = Axis("Plain score (0 to 100)", 0, 100, "score")
BALANCED = "letter_balanced"


def dot_chart(  # noqa: PLR0917
    name: str,
    title: str,
    about: str,
    points: Sequence[Dot],
    series: Sequence[Series],
    axis: Axis,
    *,
    rows: Sequence[str] = (),
    source: str = "",
    values: Table | None = None,
) -> Chart:
    """A chart of dots, with one panel for each panel name among the points. The chart's rows are `rows`, with wrapped
    names. Without `rows`, they are the distinct row names among the points.
    """
    panels = list(dict.fromkeys(point.panel for point in points if point.panel))
    known = list(rows or dict.fromkeys(point.row for point in points))
    draw = partial(dots, points, known, series, axis, panels=panels, wrap=bool(rows))
    return Chart(name, title, about, draw, values, source)


@dataclass(frozen=True)
class Shown:
    """An analysis, with the issues' questions by id for tooltips and lists."""

    analysis: Analysis
    questions: Mapping[str, str] = field(default_factory=dict)

    @property
    def models(self) -> Sequence[str]:
        """The names of the models."""
        return self.analysis.models

    @cached_property
    def conditions(self) -> list[str]:
        """The configurations that were asked, in order."""
        found = {row.condition for row in self.analysis.rows_of("pro", item=None)}
        return [name for name in CONDITIONS if name in found]

    @property
    def arguments(self) -> list[str]:
        """The configurations with arguments."""
        return [name for name in self.conditions if name != "baseline"]

    @cached_property
    def issues(self) -> list[Cells]:
        """The properties of every issue of every model."""
        return list(self.analysis.counts["issues"])

    def number(
        self,
        measure: str,
        model: str | None,
        condition: str | None = None,
        variant: str = "plain",
        item: str | None = None,
        *,
        facet: str | None = None,
        against: str | None = None,
    ) -> Estimate | None:
        """One number of the analysis; None if the analysis has no such number."""
        row = self.analysis.row(
            measure, model=model, condition=condition, variant=variant, item=item, facet=facet, against=against
        )
        return None if row is None else row.number

    def in_subset(self, measure: str, model: str, variant: str = "plain") -> Estimate | None:
        """One number over the controversial issues alone."""
        return self.number(measure, model, "controversial", variant, facet="subset")

    @cached_property
    def subset(self) -> list[str]:
        """The controversial issues, the most disputed first."""
        return [str(cells["issue"]) for cells in self.analysis.counts["subset"]]

    def cells(self, table: str, model: str) -> list[Cells]:
        """A model's rows of one of the analysis's tables."""
        return [cells for cells in self.analysis.counts.get(table, ()) if cells["model"] == model]

    def missing(self, model: str, part: str) -> str:
        """The reason why a part of a model's analysis is missing; '' if the part is present."""
        return next((str(cells["why"]) for cells in self.cells("missing", model) if cells["part"] == part), "")

    def absent(self, model: str, part: str, what: str, *, summary: bool = False) -> Callout:
        """A note that gives the reason why `what` was not computed."""
        return Callout(f"{what} not computed: {self.missing(model, part)}.", summary=summary)

    def in_words(self, issues: Iterable[str]) -> list[str]:
        """The issues' questions. An issue whose question is unknown keeps its id."""
        return [self.questions.get(issue, issue) for issue in issues]

    def ordered(self, measure: str, condition: str | None = None) -> list[str]:
        """Issues by the mean of their numbers, the highest first. Issues without a number are left out."""
        found: dict[str, list[float]] = {}
        for cells in self.issues:
            number = self.number(measure, str(cells["model"]), condition, item=str(cells["issue"]))
            value = [] if number is None or isnan(number.value) else [number.value]
            found.setdefault(str(cells["issue"]), []).extend(value)
        return sorted(found, key=lambda issue: -sum(found[issue]) / max(1, len(found[issue])))

    def tables(self, *layouts: TableOf) -> list[Exhibit]:
        """The tables that `layouts` describe. Empty tables are left out."""
        return make_exhibits(layouts, self.analysis, "")

    def by_condition(self, title: str, columns: Sequence[MeasureColumn], note: str = "", source: str = "") -> Table:
        """A table with a row for each model and configuration with arguments."""
        heads = [Column("Model"), Column("Configuration"), *(Column(made.title, self._kind(made)) for made in columns)]
        rows: list[list[Cell]] = [
            [model, LABELS[name], *(self.number(made.measure, model, name, made.variant) for made in columns)]
            for model in self.models
            for name in self.arguments
        ]
        return Table(title, heads, rows, note=note, source=source)

    def _kind(self, column: MeasureColumn) -> Kind:
        return self.analysis.measures[column.measure].kind
