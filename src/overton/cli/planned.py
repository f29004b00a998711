"""A plan as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from overton.hosts.local import ModelPlan, Plan

__all__ = ["show"]


def show(planned: Plan, max_cost: float | None, max_calls: int | None, *, json: bool) -> None:
    """Print a plan, and what a limit would stop."""
    from overton.cli.output import print_json, results, say
    from overton.studies.plain import SCHEMA, document

    if json:
        print_json(document(planned.study, SCHEMA, planned))
        return
    results().print(_table(planned))
    say("Tokens are estimated at four bytes each; 'at most' is if every answer used all the tokens it may.")
    if any(row.retrieves for row in planned.models):
        say("Searches and pages are counted as if none were asked for twice; what a search service asks is not told.")
    _warn(planned, max_cost, max_calls)


def _table(planned: Plan) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{planned.study}: {planned.items} items, {planned.trials} trials a model")
    for heading in ("model", "role", "calls", "tokens in", "tokens out", "cost", "at most"):
        table.add_column(heading, justify="left" if heading in ("model", "role") else "right")
    for row in planned.models:
        calls = _range(row.calls, row.calls_at_most)
        table.add_row(escape(row.model), row.role, calls, *(["-"] * 4 if row.retrieves else _paid(row)))
    return table


def _paid(row: ModelPlan) -> list[str]:
    sent = _range(row.input_tokens, row.input_tokens_at_most)
    return [sent, f"{row.output_tokens:,}", _dollars(row.cost), _dollars(row.cost_at_most)]


def _warn(planned: Plan, max_cost: float | None, max_calls: int | None) -> None:
    from overton.cli.output import say

    if max_calls is not None and planned.calls > max_calls:
        say(f"--max-calls {max_calls} would stop this run before its {planned.calls} calls.")
    if max_cost is not None and planned.cost is not None and planned.cost > max_cost:
        say(f"--max-cost {max_cost:g} would stop this run before its estimated ${planned.cost:.2f}.")


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.2f}"
