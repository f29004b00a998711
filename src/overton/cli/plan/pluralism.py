"""`overton plan pluralism`."""

from __future__ import annotations

from overton.cli import options as opt
from overton.cli import options_pluralism as plural
from overton.cli.options import chosen
from overton.cli.plan import shown

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
    max_cost: shown.MaxCostOption = None,
    max_calls: shown.MaxCallsOption = None,
    out: shown.OutOption = None,
    json: shown.JsonOption = False,
) -> None:
    """Count calls and tokens if first viewpoints qualify, and the judge is understood at once, or never."""
    from overton.api.runs import plan

    planned = plan(
        "pluralism",
        models=model,
        others={"judge": [judge]},
        items=threads,
        only=only,
        seed=seed,
        model_args=opt.model_arguments(model_arg),
        prices=opt.prices(price),
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
    shown.show(planned, max_cost, max_calls, json=json)
