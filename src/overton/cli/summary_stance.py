"""The measures of stance stability that a person wants first, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from overton.cli.summary import interval
from overton.studies.stance_stability.figures.names import TITLES, conditions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from overton.studies.stance_stability.measures import Analysis
    from overton.studies.stance_stability.measures.analysis import Group

__all__ = ["stance_stability"]

_DIGITS = {"chameleon": 3, "source_reuse": 3, "confidence": 2, "stance_changes": 2}
"""The columns of table 1 of the paper, with the digits that they are shown with."""


def stance_stability(analysis: Analysis) -> Iterator[RenderableType]:
    """Table 1 of the paper, what re-use goes with, and what is behind the labels."""
    yield _scores(analysis)
    if analysis.correlations:
        yield _correlations(analysis)
    yield escape(_behind(analysis))
    for what, reason in analysis.not_computed.items():
        if what != "premise":  # nobody asked for that label
            yield escape(f"Not computed: {TITLES.get(what, what).lower()}: {reason}")
    for note in analysis.notes:
        yield escape(f"Note: {note}")


def _scores(analysis: Analysis) -> Table:
    shown = [name for name in _DIGITS if name in analysis.overall.measures]
    table = Table(title=rf"Stance stability \[{analysis.level:.0%} intervals over {analysis.over}]")
    table.add_column("model", overflow="fold")
    for heading in ("temp.", "n", *(TITLES[name].lower() for name in shown)):
        table.add_column(heading, justify="right")
    for row in conditions(analysis):
        table.add_row(
            escape(row.model),
            row.temperature,
            str(row.group.conversations),
            *(_mean(row.group, name) for name in shown),
        )
    return table


def _mean(group: Group, name: str) -> str:
    return interval(group.measures[name].mean, digits=_DIGITS[name]) if name in group.measures else "-"


def _correlations(analysis: Analysis) -> Table:
    table = Table(title="Correlation of source re-use, between conversations")
    for heading in ("with", "pooled", "within models"):
        table.add_column(heading, justify="left" if heading == "with" else "right")
    for one in analysis.correlations:
        title = TITLES.get(one.measure, one.measure).lower()
        table.add_row(escape(title), interval(one.pooled, digits=2), interval(one.within, digits=2))
    return table


def _behind(analysis: Analysis) -> str:
    tally = analysis.tally
    parts = [
        f"{tally.turns:,} turns of {tally.conversations:,} conversations",
        f"{tally.unclear_carried + tally.unclear_before:,} unclear",
        f"{tally.unlabelled:,} without a usable label",
        f"{analysis.failed:,} conversations left out because a call failed",
    ]
    documents = f" Source re-use is over {analysis.documents} documents." if analysis.documents else ""
    return f"{', '.join(parts)}. Without a change the confidence at changes is {_no_change(analysis)}.{documents}"


def _no_change(analysis: Analysis) -> str:
    return "0" if analysis.reading["no_change"] == "zero" else "the mean of all turns"
