"""`overton run deliberation`."""

from __future__ import annotations

import typer

from overton.cli import options as opt
from overton.cli.options import chosen

__all__ = ["deliberation"]


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
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    out: opt.OutOption = None,
) -> None:
    """Let models discuss dilemmas until they agree: who changes their mind, who holds out, and why."""
    from overton.api.runs import run
    from overton.cli.ending import conclude
    from overton.cli.progress import watching

    with watching("deliberation") as watch:
        done = run(
            "deliberation",
            models=agent,
            others={"values": values_judge or []},
            items=dilemmas,
            only=only,
            out=out,
            seed=seed,
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            formats=chosen(format_),
            orders=orders,
            named_orders=opt.orderings(order),
            goals=chosen(goal),
            sizes=chosen(size),
            rounds=rounds,
            trials=trials,
        )
    raise typer.Exit(conclude(done))
