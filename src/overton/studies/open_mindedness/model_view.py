"""One model of an analysis, with the values that findings and warnings need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from overton.statistics import Estimate, not_computed
from overton.studies.frame import Analysis, Cells


@dataclass(frozen=True)
class ModelView:
    """One model of an analysis."""

    analysis: Analysis
    name: str

    def number(self, measure: str, condition: str | None = None, item: str | None = None) -> Estimate:
        """One of the model's uncorrected numbers."""
        row = self.analysis.row(measure, model=self.name, condition=condition, item=item)
        return not_computed("the model was not asked") if row is None else row.number

    @cached_property
    def counts(self) -> Cells:
        """The model's row of the table 'counts': numbers of calls and answers."""
        return next(cells for cells in self.analysis.counts["counts"] if cells["model"] == self.name)

    @cached_property
    def issues(self) -> list[Cells]:
        """Properties of the model's issues."""
        return [cells for cells in self.analysis.counts["issues"] if cells["model"] == self.name]

    @cached_property
    def conditions(self) -> list[Cells]:
        """The model's rows of the table 'conditions': its issues in each configuration with answers."""
        return [cells for cells in self.analysis.counts["conditions"] if cells["model"] == self.name]

    def count(self, name: str) -> int:
        """One of the model's counts; 0 if it is missing."""
        return int(self.counts[name] or 0)

    @property
    def follows(self) -> str:
        """The influence, such as a letter, that most answers follow regardless of the prompt's content. '' if there is
        no such influence, or if it is the last argument, which is content."""
        found = self.counts["follows"]
        return "" if found in {None, "last"} else str(found)


def models_of(analysis: Analysis) -> list[ModelView]:
    """The models of an analysis, in order."""
    return [ModelView(analysis, name) for name in analysis.models]
