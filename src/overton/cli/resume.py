"""`overton resume RUN` and `overton extend RUN`."""

from __future__ import annotations

from typing import Annotated

import typer

from overton.cli import options as opt
from overton.cli import options_pluralism as plural
from overton.cli import options_stance as stance
from overton.cli.options import chosen

__all__ = ["extend", "resume"]


def resume(
    run: opt.RunArgument,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask failed calls again.")] = False,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Go on with a run; nothing that was answered is asked again."""
    from overton.api import runs
    from overton.cli.ending import conclude
    from overton.cli.progress import watching

    with watching("resume") as watch:
        done = runs.resume(run, retry_failed=retry_failed, max_cost=max_cost, max_calls=max_calls, watch=watch)
    raise typer.Exit(conclude(done))


def extend(
    run: opt.RunArgument,
    model: opt.MoreModelsOption = None,
    trials: opt.TrialsOption = None,
    condition: opt.ConditionOption = None,
    template: opt.TemplateOption = None,
    temperature: stance.TemperatureOption = None,
    ordering: stance.OrderingOption = None,
    turns: stance.TurnsOption = None,
    experiment: plural.ExperimentOption = None,
    arm: plural.ArmOption = None,
    effort: plural.EffortOption = None,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Add trials, models or conditions to a run, on purpose. What names several things adds to those it has."""
    from overton.api import runs
    from overton.cli.ending import conclude
    from overton.cli.progress import watching

    with watching("extend") as watch:
        done = runs.extend(
            run,
            models=model or (),
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            trials=trials,
            conditions=chosen(condition),
            templates=chosen(template),
            temperatures=stance.temperatures(temperature),
            orderings=chosen(ordering),
            turns=turns,
            experiments=chosen(experiment),
            arms=chosen(arm),
            efforts=plural.efforts(effort),
        )
    raise typer.Exit(conclude(done))
