"""`overton run open-mindedness`."""

from __future__ import annotations

import typer

from overton.cli import options as opt
from overton.cli.options import chosen

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
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    out: opt.OutOption = None,
) -> None:
    """Measure how far arguments move a model's stance on contested issues (MillStone)."""
    from overton.api.issues import issues_at
    from overton.api.runs import run
    from overton.cli.ending import conclude
    from overton.cli.progress import watching

    items = issues_at(issues, positions)
    with watching("open-mindedness") as watch:
        done = run(
            "open-mindedness",
            models=model,
            items=items,
            only=only,
            out=out,
            seed=seed,
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            trials=trials,
            conditions=chosen(condition),
            templates=chosen(template),
            draws=draws,
        )
    raise typer.Exit(conclude(done))
