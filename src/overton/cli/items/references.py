"""`overton items references`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt
from overton.cli import options_references as ref

if TYPE_CHECKING:
    from overton.api.runs import Run

__all__ = ["references", "tell"]


def references(
    threads: Annotated[Path, typer.Argument(metavar="THREADS", help="JSONL file of threads, or a folder of them.")],
    model: Annotated[str, typer.Option("--model", "-m", help="Model that states, groups and sums up opinions.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to make: a run, with the dataset references.jsonl in it.")
    ] = None,
    method: Annotated[str, typer.Option("--method", help=f"The clustering: {ref.METHODS}.")] = "algorithm-1",
    embedder: ref.EmbedderOption = None,
    alpha: ref.AlphaOption = None,
    distance: ref.DistanceOption = None,
    least: ref.LeastOption = None,
    temperature: ref.WriterTemperatureOption = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what it would ask and cost.")] = False,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Make the reference viewpoints of threads: opinions stated one by one, clustered, summed up (PluralEval, 4.1)."""
    from overton.api import references as api
    from overton.api.runs import fresh_folder
    from overton.cli.ending import conclude_making
    from overton.cli.plan.shown import show
    from overton.cli.progress import watching

    options = {"alpha": alpha, "distance": distance, "least": least, **ref.temperature_of(temperature)}
    arguments, priced = opt.model_arguments(model_arg), opt.prices(price)
    if plan:
        planned = api.plan(
            threads,
            model=model,
            methods=(method,),
            embedder=embedder,
            seed=seed,
            model_args=arguments,
            prices=priced,
            **options,
        )
        show(planned, max_cost, max_calls, json=False)
        return
    with watching("references") as watch:
        run = api.build(
            threads,
            model=model,
            out=out or fresh_folder(api.MAKER),
            method=method,
            embedder=embedder,
            seed=seed,
            model_args=arguments,
            prices=priced,
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
            **options,
        )
    tell(run)
    raise typer.Exit(conclude_making(run))


def tell(run: Run) -> None:
    """What became of threads, comments and opinions under each clustering."""
    from overton.api.references import built_threads
    from overton.cli.output import say
    from overton.studies.pluralism.referencing import counted

    for method, counts in counted(built_threads(run)).items():
        told = [f"{counts[name]:,} {words}" for name, words in _COUNTED.items() if counts.get(name)]
        say(f"{method}: {', '.join(told)}")


_COUNTED = {
    "built": "threads built",
    "empty": "threads without an opinion",
    "failed": "threads failed",
    "comments": "comments",
    "opinions": "opinions",
    "viewpoints": "viewpoints",
    "none": "comments that state no opinion",
    "unread": "comments whose opinions could not be read",
    "refused": "comments that the model refused",
    "uncalled": "comments whose call failed",
    "repaired": "lists of opinions repaired",
    "asked_again": "asked for again",
    "clustering.asked_again": "clustering requests repeated",
    "clustering.unread": "of them in vain",
    "clustering.own": "opinions left alone since no reply named a cluster",
    "clustering.regrouped": "opinions that the first grouping left out",
    "clustering.noise": "opinions outside of all clusters",
    "clustering.replaced": "summaries replaced by an opinion",
}
"""What `referencing.counted` counts, in words."""
