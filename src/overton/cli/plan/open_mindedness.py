"""`overton plan open-mindedness`."""

from __future__ import annotations

from overton.cli import options as opt
from overton.cli.options import chosen
from overton.cli.plan import shown

__all__ = ["open_mindedness"]


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
    max_cost: shown.MaxCostOption = None,
    max_calls: shown.MaxCallsOption = None,
    out: shown.OutOption = None,
    json: shown.JsonOption = False,
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
    shown.show(planned, max_cost, max_calls, json=json)
