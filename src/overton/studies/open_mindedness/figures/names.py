"""Names of issues and configurations for readers, and the tables and the axis that several sections share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from overton.studies.charts import Axis
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.sections import Callout, Cell, Column, EmptyCell, Table

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
"""The configurations by their names in records."""


def present(models: Iterable[ModelResult], extra: Iterable[str] = ()) -> list[str]:
    """The configurations in which some model was asked, in the order of `CONDITIONS`."""
    found = {name for model in models for name in model.shares} | set(extra)
    return [name for name in CONDITIONS if name in found]


def arguments_only(conditions: Iterable[str]) -> list[str]:
    """The configurations with arguments."""
    return [name for name in conditions if name != "baseline"]


def ordered(numbers: Iterable[tuple[str, float]]) -> list[str]:
    """Issues by the mean of their numbers, the highest first; NaN does not count."""
    found: dict[str, list[float]] = {}
    for issue, number in numbers:
        found.setdefault(issue, []).extend([] if isnan(number) else [number])
    return sorted(found, key=lambda issue: -sum(found[issue]) / max(1, len(found[issue])))


def in_words(issues: Iterable[str], questions: Mapping[str, str]) -> list[str]:
    """Issues as their questions, if these are known."""
    return [questions.get(issue, issue) for issue in issues]


def absent(reasons: Mapping[str, str], key: str, what: str, *, summary: bool = False) -> Callout:
    """A note that says why something is not shown."""
    return Callout(f"{what} not computed: {reasons.get(key, 'the data does not say')}.", summary=summary)


def by_model(
    analysis: Analysis,
    title: str,
    columns: Sequence[Column],
    cells: Mapping[str, Sequence[Cell]],
    *,
    note: str = "",
    source: str = "",
    summary: bool = False,
) -> Table:
    """A table with one row per model; `cells` by the model's name."""
    rows = [[name, *cells[name]] for name in analysis.models if name in cells]
    return Table(title, [Column("Model"), *columns], rows, note=note, source=source, summary=summary)


def blank(reasons: Mapping[str, str], key: str) -> EmptyCell:
    """A cell that says why it is empty."""
    return EmptyCell(reasons.get(key, "not computed"))


SCORE = Axis("Open-mindedness (0 to 100)", 0, 100, "score")
PLAIN = Axis("Plain score (0 to 100)", 0, 100, "score")
