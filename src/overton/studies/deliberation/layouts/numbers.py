"""The numbers of an analysis by setting, and tables of differences with both tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from overton.statistics import Estimate
from overton.studies.charts import Axis
from overton.studies.deliberation.findings import SettingNames
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import Kind, rounded_p
from overton.studies.sections import Callout, Cell, Column, Table

if TYPE_CHECKING:
    pass

SHARE = Axis("Share of deliberations (%)", 0, 1, "share")


@dataclass(frozen=True)
class ReportSource:
    """An analysis, and how its settings are named."""

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
        """A number; None if the analysis has none."""
        where = {"model": model, "facet": facet, "condition": condition, "variant": variant}
        row = self.analysis.row(measure, **where)
        return None if row is None else row.number

    def shown(self, measure: str, condition: str, facet: str, model: str | None = None) -> Estimate:
        """A number that the analysis has."""
        return self.analysis.estimate(measure, model=model, facet=facet, condition=condition)

    @cached_property
    def counts(self) -> Mapping[tuple[str | None, str | None], Cells]:
        """The rows of the table 'counts', by model and setting."""
        cells = self.analysis.counts["counts"]
        return {(_text(row["model"]), _text(row["condition"])): row for row in cells}

    @cached_property
    def missing(self) -> Mapping[str, str]:
        """Why there are no numbers of some kinds."""
        return {str(row["what"]): str(row["why"]) for row in self.analysis.counts.get("not_computed", ())}

    def absent(self, key: str, what: str) -> Callout:
        """A note that says why something is not shown."""
        return Callout(f"{what} not computed: {self.missing.get(key, 'the data do not determine it')}.")

    @cached_property
    def tests(self) -> Mapping[tuple[object, ...], Cells]:
        """The tests of differences: by whose they are, and their kind."""
        keys = (*_WHERE, "kind")
        return {tuple(row[key] for key in keys): row for row in self.analysis.counts.get("tests", ())}

    def test(self, row: EstimateRow, kind: str) -> Cells:
        """A difference's test: 'unpaired' or 'paired'."""
        return self.tests[*(getattr(row, key) for key in _WHERE), kind]

    def several_goals(self, panels: Sequence[str]) -> list[str]:
        """The panels of a chart by goal; none if there is only one goal."""
        return list(dict.fromkeys(panels)) if self.names.goals else []


_WHERE = ("measure", "model", "facet", "condition", "against")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True)
class Compared:
    """A row of a table of differences: the leading cells, both numbers, and the difference of the second from the
    first."""

    head: Sequence[Cell]
    first: Estimate
    second: Estimate
    row: EstimateRow


def table_of_differences(
    source: ReportSource,
    title: str,
    heads: Sequence[str],
    rows: Sequence[Compared],
    *,
    sides: tuple[str, str] = ("First", "Second"),
    kind: Kind = "share",
    note: str = "",
    published: str = "",
) -> Table:
    """Differences with both tests; `heads` name the leading cells, `sides` the two numbers compared."""
    tests = [tuple(source.test(compared.row, kind) for kind in ("unpaired", "paired")) for compared in rows]
    named = [f"p, {test['test']}" for test in tests[0]] if tests else ["p", "p, paired"]
    columns = [*map(Column, heads), Column(sides[0], kind), Column(sides[1], kind)]
    columns += [Column("Difference", "points" if kind == "share" else "value"), *map(Column, named)]
    cells: list[list[Cell]] = [
        [*compared.head, compared.first, compared.second, compared.row.number, *map(p_value, both)]
        for compared, both in zip(rows, tests, strict=True)
    ]
    of = max((int(paired["of"] or 0) for _, paired in tests), default=0)
    corrected = f"P values are corrected for {of} comparisons (Holm), uncorrected in brackets. " if of > 1 else ""
    return Table(title, columns, cells, note=f"{note} {corrected}{_TESTS}".strip(), source=published)


_TESTS = (
    "The first test is the paper's and treats all observations as independent; the second compares within dilemmas."
)


def p_value(test: Cells) -> str:
    """The P value corrected for the comparisons made together, and the uncorrected one where it differs."""
    p, adjusted = test["p"], test["adjusted"]
    if p is None:
        return "–"
    own = rounded_p(float(p))
    return own if int(test["of"] or 0) < 2 else f"{rounded_p(float(adjusted or 0))} ({own})"


def ordinal(position: int | None) -> str:
    """'speaks first', ... or nothing if all speak at once."""
    if position is None:
        return ""
    names = {1: "first", 2: "second", 3: "third"}
    return f"speaks {names.get(position, f'in place {position}')}"


def twice(share: Estimate | None) -> bool:
    """Whether a share is of two cases or more: one alone says next to nothing."""
    return share is not None and share.value * share.n > 1.5


def both_models(source: ReportSource, row: EstimateRow) -> tuple[Estimate, Estimate]:
    """The numbers of the two models that a row compares."""
    first, second = (
        source.shown(row.measure, str(row.condition), str(row.facet), model) for model in (row.against, row.model)
    )
    return first, second
