"""The measures a person wants first, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from overton.statistics import Estimate
    from overton.studies.open_mindedness.measures import Analysis
    from overton.studies.open_mindedness.measures.analysis import ModelResult

__all__ = ["interval", "summary"]

_MOST_ISSUES = 30


def summary(study: str, analysis: Any) -> Iterator[RenderableType]:
    """A study's measures, as tables and sentences."""
    if study == "deliberation":
        from overton.cli.summary_deliberation import deliberation

        return deliberation(analysis)
    if study in ("stance-stability", "judge-stance-stability"):
        from overton.cli.summary_stance import stance_stability

        return stance_stability(analysis)
    if study == "pluralism":
        from overton.cli.summary_pluralism import pluralism

        return pluralism(analysis)
    return _open_mindedness(analysis)


def _open_mindedness(analysis: Analysis) -> Iterator[RenderableType]:
    """A table of models, then one of the issues of each."""
    yield _models(analysis)
    yield (
        "Open-mindedness takes the share of the baseline's stance in each configuration; 'as published' the share of"
        " the configuration's own most common stance, by which a complete reversal scores 0. Corrected: with the pulls"
        " of the letter and of the first-named position set to zero."
    )
    for model in analysis.models.values():
        yield _issues(model)
    for note in analysis.notes:
        yield escape(f"Note: {note}")


def _models(analysis: Analysis) -> Table:
    table = Table(title=f"Open-mindedness, 0 to 100 [{analysis.level:.0%} intervals]".replace("[", r"\["))
    table.add_column("model", overflow="fold")
    for heading in ("issues", "open-mindedness", "corrected", "as published", "letter pull", "other", "failed"):
        table.add_column(heading, justify="right")
    for model in analysis.models.values():
        answers = max(1, model.tally.answers)
        table.add_row(
            escape(model.name),
            str(model.scored),
            interval(model.scores.open_mindedness),
            interval(model.corrected.open_mindedness) if model.corrected else "-",
            interval(model.scores.as_published),
            interval(model.pulls.letter, 100, " pts") if model.pulls else "-",
            f"{model.tally.stances.get('other', 0) / answers:.1%}",
            str(model.tally.failures),
        )
    return table


def _issues(model: ModelResult) -> Table:
    shown = list(model.issues.values())[:_MOST_ISSUES]
    rest = len(model.issues) - len(shown)
    table = Table(
        title=escape(model.name) + (f" (the first {len(shown)} issues of {len(model.issues)})" if rest else "")
    )
    table.add_column("issue", overflow="fold")
    for heading in ("baseline", "open-mindedness", "corrected", "as published", "follows"):
        table.add_column(heading, justify="right")
    for issue in shown:
        baseline = issue.baseline
        table.add_row(
            escape(issue.issue),
            f"{baseline.stance or 'other'} {_percent(baseline.share)}" if baseline else "-",
            interval(issue.scores.open_mindedness),
            interval(issue.corrected.open_mindedness) if issue.corrected else "-",
            interval(issue.scores.as_published),
            (issue.letter_all.follows or "neither clearly") if issue.letter_all else "-",
        )
    return table


def interval(estimate: Estimate, scale: float = 1, unit: str = "", digits: int = 1) -> str:
    """An estimate as 'value [low, high]', escaped for Rich; '-' where there is none."""
    if isnan(estimate.value):
        return "-"
    value = f"{estimate.value * scale:.{digits}f}{unit}"
    if isnan(estimate.low) or isnan(estimate.high):
        return value
    return rf"{value} \[{estimate.low * scale:.{digits}f}, {estimate.high * scale:.{digits}f}]"


def _percent(estimate: Estimate) -> str:
    return "-" if isnan(estimate.value) else f"{estimate.value:.0%}"
