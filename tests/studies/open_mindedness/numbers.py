"""One model's numbers in an analysis, looked up as tests need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from overton.statistics import Estimate
from overton.studies.frame import Analysis


@dataclass(frozen=True)
class ModelNumbers:
    """The numbers of one model, and its rows of the other tables."""

    analysis: Analysis
    model: str | None = "m"

    def __call__(self, measure: str, condition: str | None = None, *, variant: str = "plain", **where: Any) -> Estimate:
        """One number."""
        row = self.analysis.row(measure, model=self.model, condition=condition, variant=variant, **where)
        assert row is not None, f"{measure} {condition} {variant} {where}: no such row"
        return row.number

    def has(self, measure: str, condition: str | None = None, *, variant: str = "plain", **where: Any) -> bool:
        """Whether there is such a number, or a reason why there is none."""
        return self.analysis.row(measure, model=self.model, condition=condition, variant=variant, **where) is not None

    def by_condition(self, measure: str, **where: Any) -> dict[str | None, Estimate]:
        """The numbers of a measure by condition."""
        rows = self.analysis.rows_of(measure, where.pop("facet", None), model=self.model, variant="plain", **where)
        return {row.condition: row.number for row in rows}

    def table(self, name: str, **where: Any) -> list[dict[str, Any]]:
        """Its rows of another table."""
        rows = [cells for cells in self.analysis.counts.get(name, ()) if cells.get("model") == self.model]
        return [cells for cells in rows if all(cells[key] == value for key, value in where.items())]

    @property
    def counts(self) -> dict[str, Any]:
        """Its row of the table of counts."""
        (cells,) = self.table("counts")
        return cells

    def issue(self, name: str) -> dict[str, Any]:
        """The properties of an issue."""
        (cells,) = self.table("issues", issue=name)
        return cells

    def issues_with(self, name: str, value: object = True) -> tuple[str, ...]:
        """The issues whose property has this value."""
        return tuple(cells["issue"] for cells in self.table("issues") if cells[name] is value)

    def missing(self, part: str) -> str:
        """The reason why a part is missing; '' if it is not."""
        return "".join(cells["why"] for cells in self.table("missing", part=part))


def notes_of(analysis: Analysis) -> list[str]:
    """The notes on an analysis."""
    return [str(cells["note"]) for cells in analysis.counts["notes"]]
