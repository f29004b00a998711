"""`overton plan STUDY`: calls, tokens and price, before anything is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt
from overton.cli.options import chosen

if TYPE_CHECKING:
    from rich.table import Table

    from overton.hosts.local import Plan

__all__ = ["app"]

app = typer.Typer(help="Say what a run would ask and cost. Nothing is asked.", no_args_is_help=True)


@app.command("open-mindedness")
def open_mindedness(
    model: opt.ModelOption,
    issues: opt.IssuesOption = None,
    positions: opt.PositionsOption = None,
    trials: opt.TrialsOption = None,
    condition: opt.ConditionOption = None,
    template: opt.TemplateOption = None,
    draws: opt.DrawsOption = None,
    only: opt.OnlyOption = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", hidden=True)] = None,
    max_calls: Annotated[int | None, typer.Option("--max-calls", hidden=True)] = None,
    out: Annotated[str | None, typer.Option("--out", hidden=True)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count calls and tokens, and price them."""
    from overton.api.issues import issues_at
    from overton.api.runs import plan

    planned = plan(
        "open-mindedness",
        models=model,
        items=issues_at(issues, positions),
        only=only,
        seed=seed,
        model_args=opt.model_arguments(model_arg),
        prices=opt.prices(price),
        trials=trials,
        conditions=chosen(condition),
        templates=chosen(template),
        draws=draws,
    )
    _show(planned, max_cost, max_calls, json=json)


@app.command("deliberation")
def deliberation(
    agent: opt.AgentOption,
    values_judge: opt.ValuesJudgeOption = None,
    dilemmas: opt.DilemmasOption = None,
    format_: opt.FormatOption = None,
    orders: opt.OrdersOption = None,
    order: opt.OrderOption = None,
    goal: opt.GoalOption = None,
    size: opt.SizeOption = None,
    rounds: opt.RoundsOption = None,
    trials: opt.RepetitionsOption = None,
    only: opt.OnlyOption = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", hidden=True)] = None,
    max_calls: Annotated[int | None, typer.Option("--max-calls", hidden=True)] = None,
    out: Annotated[str | None, typer.Option("--out", hidden=True)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count calls and tokens if all agree at once, and if none ever do."""
    from overton.api.runs import plan

    planned = plan(
        "deliberation",
        models=agent,
        others={"values": values_judge or []},
        items=dilemmas,
        only=only,
        seed=seed,
        model_args=opt.model_arguments(model_arg),
        prices=opt.prices(price),
        formats=chosen(format_),
        orders=orders,
        named_orders=opt.orderings(order),
        goals=chosen(goal),
        sizes=chosen(size),
        rounds=rounds,
        trials=trials,
    )
    _show(planned, max_cost, max_calls, json=json)


def _show(planned: Plan, max_cost: float | None, max_calls: int | None, *, json: bool) -> None:
    from overton.cli.output import print_json, results, say

    if json:
        print_json(planned)
        return
    results().print(_table(planned))
    say("Tokens are estimated at four bytes each; 'at most' is if every answer used all the tokens it may.")
    _warn(planned, max_cost, max_calls)


def _table(planned: Plan) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{planned.study}: {planned.items} items, {planned.trials} trials a model")
    for heading in ("model", "role", "calls", "tokens in", "tokens out", "cost", "at most"):
        table.add_column(heading, justify="left" if heading in ("model", "role") else "right")
    for row in planned.models:
        calls = _range(row.calls, row.calls_at_most)
        sent = _range(row.input_tokens, row.input_tokens_at_most)
        received = f"{row.output_tokens:,}"
        table.add_row(
            escape(row.model), row.role, calls, sent, received, _dollars(row.cost), _dollars(row.cost_at_most)
        )
    return table


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
