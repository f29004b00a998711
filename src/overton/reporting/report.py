"""What a report holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from overton.studies.exhibits import Callout, Chart, Section, TrialTable

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """A report, ready to be laid out.

    `facts` are pairs of a label and a value for the head of the page: models, items, trials, date, seed, version,
    failures. `warnings` stand right below. `data` is embedded as JSON, for readers who compute on: anything that
    msgspec can encode (NaN becomes null).
    """

    title: str
    summary: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    warnings: Sequence[Callout] = ()
    trials: TrialTable | None = None
    data: Any = None

    @property
    def charts(self) -> list[Chart]:
        """Every chart, in order of appearance."""
        return [exhibit for section in self.sections for exhibit in section.exhibits if isinstance(exhibit, Chart)]
