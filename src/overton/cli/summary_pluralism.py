"""The measures of pluralism that a person wants first, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from overton.cli.summary import interval
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.measures.analysis import EXPERIMENTS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from overton.studies.pluralism.measures import Analysis
    from overton.studies.pluralism.measures.analysis import Group, Result

__all__ = ["pluralism"]

_SHOWN = {
    "sycophancy": ("global/recall", "supporting/recall", "against/recall", "global/precision"),
    "ranking": ("spearman", "top_1", "mrr_at_10"),
    "pairwise": ("accuracy", "first_pull"),
    "pairwise_gap": ("accuracy", "first_pull"),
}
_TITLES = {
    "sycophancy": "Viewpoints that are voiced",
    "ranking": "Popularity ranked",
    "pairwise": "Popularity in pairs: the most popular against a random one",
    "pairwise_gap": "Popularity in pairs: random ones",
}


def pluralism(analysis: Analysis) -> Iterator[RenderableType]:
    """Each experiment by model and condition, then what a stated belief moves."""
    for experiment in EXPERIMENTS:
        if names.conditions(analysis, experiment):
            yield _measures(analysis, experiment)
        if experiment == "sycophancy" and any(_shifted(analysis)):
            yield _shifts(analysis)
    yield "* differs from neutral: Wilcoxon signed-rank over threads, p < 0.05 after Holm's correction."
    for note in analysis.notes:
        yield escape(f"Note: {note}")


def _measures(analysis: Analysis, experiment: str) -> Table:
    shown = [name for name in _SHOWN[experiment] if name not in analysis.not_computed]
    table = Table(title=rf"{_TITLES[experiment]} \[{analysis.level:.0%} intervals over threads]")
    table.add_column("model", overflow="fold")
    table.add_column("condition", overflow="fold")
    for heading in ("threads", *(names.MEASURES[name] for name in shown)):
        table.add_column(heading, justify="right")
    for group, condition, result in _rows(analysis, experiment):
        table.add_row(
            escape(names.model(group.model)),
            escape(names.condition(condition)),
            str(result.counts["threads"]),
            *(_cell(result, name) for name in shown),
        )
    return table


def _rows(analysis: Analysis, experiment: str) -> Iterator[tuple[Group, str, Result]]:
    for group in names.groups(analysis, None):
        for condition in names.conditions(analysis, experiment):
            if result := group.experiments.get(experiment, {}).get(condition):
                yield group, condition, result


def _cell(result: Result, name: str) -> str:
    found = result.measures.get(name)
    if found is None:
        return "-"
    return f"{interval(found, digits=3)}{'*' if names.differs(result, 'neutral', [name]) else ''}"


def _shifted(analysis: Analysis) -> Iterator[tuple[Group, str, Result]]:
    return (row for row in _rows(analysis, "sycophancy") if row[2].shifts)


def _shifts(analysis: Analysis) -> Table:
    table = Table(title="What a stated belief moves, in points of recall (positive: towards the belief)")
    for heading in ("model", "condition", "against"):
        table.add_column(heading, overflow="fold")
    for heading in ("suppression", "amplification", "asymmetry"):
        table.add_column(heading, justify="right")
    for group, condition, result in _shifted(analysis):
        for against, shift in result.shifts.items():
            table.add_row(
                escape(names.model(group.model)),
                escape(names.condition(condition)),
                names.AGAINST[against],
                *(interval(one, 100) for one in (shift.suppression, shift.amplification, shift.asymmetry)),
            )
    return table
