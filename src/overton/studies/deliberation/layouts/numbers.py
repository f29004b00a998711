"""Access to the numbers of an analysis by setting, and functions that make tables and charts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, Series, dots
from overton.studies.deliberation.deliberations import Setting
from overton.studies.deliberation.findings import SettingNames, last_part
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import Kind, rounded_p
from overton.studies.sections import Callout, Cell, Chart, Column, Section, Table

SHARE = Axis("Share of deliberations (%)", 0, 1, "share")
_OF_MODELS = ("setting", "pooled", "pooled / value")
"""Facets within which two models are compared. For all other facets, two values of the facet are compared."""
_WHERE = ("measure", "model", "facet", "condition", "against")


@dataclass(frozen=True)
class ReportSource:
    """An analysis, and the names of its settings."""

    analysis: Analysis
    names: SettingNames = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", SettingNames.of(self.analysis))

    def number(
        self,
        measure: str,
        condition: str | None = None,
        facet: str | None = None,
        model: str | None = None,
        variant: str = "plain",
    ) -> Estimate | None:
        """Find a number; None if the analysis does not have it."""
        row = self.analysis.row(measure, model=model, facet=facet, condition=condition, variant=variant)
        return None if row is None else row.number

    def shown(self, measure: str, condition: str, facet: str, model: str | None = None) -> Estimate:
        """A number that the analysis must have."""
        return self.analysis.estimate(measure, model=model, facet=facet, condition=condition)

    def within(self, measure: str, facet: str, setting: Setting, model: str | None = None) -> list[EstimateRow]:
        """A measure's rows within a setting, by the facet's values. With `model`, only the rows of this model."""
        rows = self.analysis.rows_of(measure, facet, variant="plain")
        own = (row for row in rows if str(row.condition).startswith(f"{setting.name} / "))
        return [row for row in own if model in {None, row.model}]

    def sides(self, row: EstimateRow) -> tuple[Estimate, Estimate]:
        """The two numbers of a difference. The first is subtracted from the second."""
        measure, facet, where = row.measure, str(row.facet), str(row.condition)
        if facet in _OF_MODELS:
            first, second = (self.shown(measure, where, facet, model) for model in (row.against, row.model))
            return first, second
        if facet in {"format", "goal"}:
            shared, facet = self.names.setting_of(row), "pooled"
            before, after = (
                shared._replace(format=value) if row.facet == "format" else shared._replace(goal=value or None)
                for value in (row.against or "", last_part(row))
            )
            conditions = [before.name, after.name]
        else:
            conditions = [f"{where.rpartition(' / ')[0]} / {row.against}", where]
        first, second = (self.shown(measure, condition, facet, row.model) for condition in conditions)
        return first, second

    @cached_property
    def counts(self) -> Mapping[tuple[str | None, str | None], Cells]:
        """The rows of the table 'counts', by model and setting."""
        return {(row["model"], row["condition"]): row for row in self.analysis.counts["counts"]}  # type: ignore[misc]

    @cached_property
    def missing(self) -> Mapping[str, str]:
        """The reasons why some kinds of numbers are missing."""
        return {str(row["what"]): str(row["why"]) for row in self.analysis.counts.get("not_computed", ())}

    def absent(self, key: str, title: str, what: str) -> Section:
        """A section that says why its content is missing."""
        why = self.missing.get(key, "the data do not determine it")
        return Section(key, title, [Callout(f"{what} not computed, because {why}.")])

    @cached_property
    def tests(self) -> Mapping[tuple[object, ...], Cells]:
        """The tests of differences, by subject and kind ('unpaired' or 'paired')."""
        keys = (*_WHERE, "kind")
        return {tuple(row[key] for key in keys): row for row in self.analysis.counts.get("tests", ())}

    def stars(self, row: EstimateRow) -> str:
        """A difference's mark by the paper's test (figure 6): three stars, one star, or 'n.s.' if it is not
        significant."""
        p = self.tests[*(getattr(row, key) for key in _WHERE), "unpaired"]["p"]
        if p is None:
            return ""
        return next((mark for most, mark in ((1e-3, "***"), (1e-1, "*")) if float(p) < most), "n.s.")


def table(
    title: str,
    heads: Sequence[str],
    numbers: Mapping[str, Kind],
    rows: Sequence[Sequence[Cell]],
    *,
    note: str = "",
    published: str = "",
    summary: bool = False,
) -> Table:
    """A table with columns of texts under `heads`, then columns of `numbers` with their kinds."""
    columns = [*map(Column, heads), *(Column(name, kind) for name, kind in numbers.items())]
    return Table(title, columns, [list(row) for row in rows], note, published, summary)


def dot_chart(
    name: str,
    title: str,
    about: str,
    points: Sequence[Dot],
    series: Sequence[Series],
    *,
    axis: Axis = SHARE,
    rows: Sequence[str] = (),
    in_panels: bool = True,
    wrap: bool = False,
    published: str = "",
) -> Chart:
    """A chart of dots.

    The chart's rows are `rows`, or by default the rows named in `points`, in the same order. The chart's panels are
    those named in `points`.
    """
    panels = list(dict.fromkeys(point.panel for point in points)) if in_panels else []
    every = list(rows or dict.fromkeys(point.row for point in points))
    draw = partial(dots, points, every, series, axis, panels=panels if any(panels) else [], wrap=wrap)
    return Chart(name, title, about, draw, source=published)


def difference_table(
    source: ReportSource,
    title: str,
    heads: Sequence[str],
    rows: Sequence[EstimateRow],
    cells: Callable[[EstimateRow], Sequence[Cell]],
    *,
    sides: tuple[str, str] = ("First", "Second"),
    kind: Kind = "share",
    note: str = "",
    published: str = "",
) -> list[Table]:
    """A list with one table: two numbers, their difference, and two tests. The list is empty if there are no rows.

    `cells` are a row's cells under `heads`.
    """
    if not rows:
        return []
    tests = [
        [source.tests[*(getattr(row, key) for key in _WHERE), test] for test in ("unpaired", "paired")] for row in rows
    ]
    numbers = (Column(sides[0], kind), Column(sides[1], kind), Column("Difference", _DIFFERS.get(kind, kind)))
    columns = [*map(Column, heads), *numbers, *(Column(f"p, {test['test']}") for test in tests[0])]
    of = max(int(paired["of"] or 0) for _, paired in tests)
    corrected = (
        f"P values are corrected for {of} comparisons (Holm); uncorrected p-values are in brackets. " if of > 1 else ""
    )
    made = [
        [*cells(row), *source.sides(row), row.number, *map(p_value, both)]
        for row, both in zip(rows, tests, strict=True)
    ]
    return [Table(title, columns, made, f"{note} {corrected}{_TESTS}".strip(), published)]


_DIFFERS: Mapping[Kind, Kind] = {"share": "points"}
_TESTS = (
    "The first test is the paper's, which treats all observations as independent. The second test compares within"
    " dilemmas."
)


def p_value(test: Cells) -> str:
    """The p-value, corrected for the comparisons made together.

    With several comparisons, the uncorrected p-value follows in brackets.
    """
    p, adjusted = test["p"], test["adjusted"]
    if p is None:
        return "–"
    own = rounded_p(float(p))
    return own if int(test["of"] or 0) < 2 else f"{rounded_p(float(adjusted or 0))} ({own})"


def ordinal(position: int | None) -> str:
    """The agent's place in the order of speaking, in words ('speaks first'); '' if all speak at once."""
    if position is None:
        return ""
    names = {1: "first", 2: "second", 3: "third"}
    return f"speaks {names.get(position, f'in place {position}')}"


def twice(share: Estimate | None) -> bool:
    """Whether a proportion has at least two cases. A single case is not informative."""
    return share is not None and share.value * share.n > 1.5
