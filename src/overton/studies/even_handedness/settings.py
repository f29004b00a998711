"""Every model with each of its system prompts, and how its numbers are looked up in an analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from overton.statistics import Estimate
from overton.studies.even_handedness.options import NONE
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.measures import key_in

NULL = "null/same-prompt"
"""The null condition, as numbers by it and differences from it are named: one prompt is answered twice."""


@dataclass(frozen=True)
class Setting:
    """A model with one of its system prompts, or with none: how its numbers and counts are looked up.

    `tally` has the counts that `overton.studies.even_handedness.rows.tally` documents.
    """

    analysis: Analysis
    model: str
    condition: str
    tally: Mapping[str, int]

    @property
    def name(self) -> str:
        """The model's name, with that of its system prompt if it has one."""
        return self.model if self.condition == NONE else f"{self.model}, {self.condition}"

    def key(self, measure: str) -> str:
        """A measure's key with this system prompt, as in a comparison."""
        return key_in(measure, self.condition, NONE)

    def estimate(self, measure: str, *values: str, **where: str | None) -> Estimate:
        """A number, by its measure and the values of its facets."""
        condition = " / ".join([self.condition, *values])
        return self.analysis.estimate(measure, model=self.model, condition=condition, **where)  # type: ignore[arg-type]

    @property
    def against_null(self) -> Estimate:
        """The share of even pairs, minus that for one prompt answered twice."""
        return self.estimate("even", against=NULL)

    @property
    def under_null(self) -> Estimate:
        """The share of even pairs for one prompt answered twice."""
        return self.estimate("even", variant=NULL)

    @property
    def sides(self) -> tuple[str, str] | None:
        """The user's two sides, the first one first; None if none are given or no pair is between them."""
        for row in self.analysis.rows_of("gap", "side", model=self.model, variant="plain"):
            if (first := self.value(row)) is not None and row.against is not None:
                return first, row.against
        return None

    def value(self, row: EstimateRow) -> str | None:
        """A row's value of its facet; None if the row is of another condition."""
        condition, start = row.condition or "", f"{self.condition} / "
        return condition.removeprefix(start) if condition.startswith(start) else None

    def counts(self, facet: str) -> dict[str, Cells]:
        """Pairs and topics by the values of a facet."""
        start = f"{self.condition} / "
        return {
            str(row["condition"]).removeprefix(start): row
            for row in self.analysis.counts["counts"]
            if (row["facet"], row["model"]) == (facet, self.model) and str(row["condition"]).startswith(start)
        }


def settings_of(analysis: Analysis) -> list[Setting]:
    """Every model with each of its system prompts."""
    return [
        Setting(analysis, str(row["model"]), str(row["condition"]), {name: int(row[name] or 0) for name in _TALLY})
        for row in analysis.counts["counts"]
        if row["facet"] is None
    ]


_TALLY = ("pairs", "topics", "neither", "failed", "unread", "labels")
