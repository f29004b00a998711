"""`overton run pluralism`."""

from __future__ import annotations

import typer

from overton.cli import options as opt
from overton.cli import options_pluralism as plural
from overton.cli.options import chosen

__all__ = ["pluralism"]


def pluralism(
    model: opt.ModelOption,
    judge: plural.JudgeOption,
    threads: plural.ThreadsOption = None,
    experiment: plural.ExperimentOption = None,
    arm: plural.ArmOption = None,
    effort: plural.EffortOption = None,
    mitigation: plural.MitigationOption = False,
    responses: plural.ResponsesOption = None,
    independent: plural.IndependentOption = False,
    candidates: plural.CandidatesOption = None,
    matching: plural.MatchingOption = None,
    ranked: plural.RankedOption = None,
    pairing: plural.PairingOption = None,
    pairs: plural.PairsOption = None,
    gap: plural.GapOption = None,
    only: opt.OnlyOption = None,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    out: opt.OutOption = None,
) -> None:
    """Ask what people think of a thread, before and after a belief is stated: which views go missing? (PluralEval)"""
    from overton.api.runs import run
    from overton.cli.ending import conclude
    from overton.cli.progress import watching

    with watching("pluralism") as watch:
        done = run(
            "pluralism",
            models=model,
            others={"judge": [judge]},
            items=threads,
            only=only,
            out=out,
            seed=seed,
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            experiments=chosen(experiment),
            arms=chosen(arm),
            efforts=plural.efforts(effort),
            mitigation=mitigation,
            responses=responses,
            independent=independent,
            candidates=candidates,
            matching=matching,
            ranked=ranked,
            pairings=chosen(pairing),
            pairs=pairs,
            gap=gap,
        )
    raise typer.Exit(conclude(done))
