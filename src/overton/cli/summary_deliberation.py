"""The measures of deliberation that a person wants first, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from overton.cli.summary import interval

if TYPE_CHECKING:
    from rich.console import RenderableType

    from overton.studies.deliberation.measures import Analysis
    from overton.studies.deliberation.measures.analysis import Choice, Parameter

__all__ = ["deliberation"]


def deliberation(analysis: Analysis) -> Iterator[RenderableType]:
    """Consensus by setting, changes of verdict by model, and the choice model of each goal."""
    yield _consensus(analysis)
    yield _changes(analysis)
    for choice in analysis.choice:
        yield _choice(choice) if choice.not_computed is None else escape(f"No choice model: {choice.not_computed}")
    for note in analysis.notes:
        yield escape(f"Note: {note}")


def _consensus(analysis: Analysis) -> Table:
    table = Table(title=rf"Consensus \[{analysis.level:.0%} intervals over dilemmas]")
    table.add_column("setting", overflow="fold")
    for heading in ("deliberations", "consensus", "in round 1", "rounds to it"):
        table.add_column(heading, justify="right")
    for setting, found in analysis.consensus.settings:
        goal = f", {setting.goal}" if setting.goal else ""
        table.add_row(
            escape(f"{setting.format}{goal}: {', '.join(setting.agents)}"),
            str(found.deliberations),
            interval(found.reached, 100, "%"),
            interval(found.by_round[1], 100, "%") if 1 in found.by_round else "-",
            interval(found.rounds, digits=2),
        )
    return table


def _changes(analysis: Analysis) -> Table:
    table = Table(title="Deliberations in which a model changed its verdict")
    table.add_column("model", overflow="fold")
    table.add_column("changed", justify="right")
    for model, rate in analysis.changes.by_model.items():
        table.add_row(escape(model), interval(rate, 100, "%"))
    return table


def _choice(choice: Choice) -> Table:
    goal = f", goal {choice.goal}" if choice.goal else ""
    title = f"Choice model ({choice.estimator}{goal}): {choice.decisions:,} decisions on {choice.dilemmas:,} dilemmas"
    table = Table(title=title)
    table.add_column("parameter", overflow="fold")
    for heading in ("log-odds", "se", "odds ratio"):
        table.add_column(heading, justify="right")
    for name, parameter in _parameters(choice):
        table.add_row(escape(name), *_shown(parameter))
    return table


def _parameters(choice: Choice) -> Iterator[tuple[str, Parameter]]:
    for model, parameter in choice.inertia.items():
        yield f"inertia, {model}", parameter
    for name, conformity in (("earlier rounds", choice.previous), ("this round", choice.within)):
        if isinstance(conformity, Mapping):
            for model, parameter in conformity.items():
                yield f"conformity to {name}, {model}", parameter
        else:
            yield f"conformity to {name}", conformity


def _shown(parameter: Parameter) -> tuple[str, str, str]:
    if isnan(parameter.estimate):
        return escape(parameter.reason or "not estimable"), "", ""
    limits = rf"\[{parameter.low:.2f}, {parameter.high:.2f}]"
    return f"{parameter.estimate:.2f} {limits}", f"{parameter.se:.2f}", f"{parameter.odds_ratio:.2f}"
