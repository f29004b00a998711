"""`overton plan deliberation`."""

from __future__ import annotations

from overton.cli import options as opt
from overton.cli.options import chosen
from overton.cli.plan import shown

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
    max_cost: shown.MaxCostOption = None,
    max_calls: shown.MaxCallsOption = None,
    out: shown.OutOption = None,
    json: shown.JsonOption = False,
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
    shown.show(planned, max_cost, max_calls, json=json)
