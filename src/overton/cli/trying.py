"""`overton judge controls`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from overton.cli import options as opt


def controls(
    of: Annotated[
        str, typer.Argument(metavar="STUDY|RUN", help="A study, or a run's folder, whose own judge is tested.")
    ],
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="MODEL", help="The judge to test; a run's own judge by default. Repeatable."),
    ] = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    out: opt.OutOption = None,
    trust: opt.TrustOption = False,
    plan: Annotated[bool, typer.Option("--plan", help="Ask nothing; only count and price the calls.")] = False,
    json: opt.JsonOption = False,
) -> None:
    """Does the judge see what nobody can miss? Test it on texts whose label is beyond doubt."""
    from overton.cli.confirming import confirmation
    from overton.cli.ending import conclude, show_plan
    from overton.cli.progress import watching
    from overton.judge.controls import controls as try_on
    from overton.judge.controls import plan_controls

    given: dict[str, Any] = {"judge": judge, "seed": seed, "trust": trust}
    given |= {"model_args": opt.model_arguments(model_arg), "prices": opt.prices(price), "confirm": confirmation()}
    if plan:
        show_plan(plan_controls(of, **given), max_cost, max_calls, json=json)
        return
    with watching("controls") as watch:
        done = try_on(of, out=out, max_cost=max_cost, max_calls=max_calls, watch=watch, **given)
    raise typer.Exit(conclude(done, json=json))
