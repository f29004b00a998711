"""`overton items topics`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt

if TYPE_CHECKING:
    from overton.api.runs import Run

__all__ = ["topics"]


def topics(
    model: Annotated[str, typer.Option("--model", "-m", help="Model that proposes topics and writes the questions.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to make: a run, with the dataset topics.jsonl in it.")],
    domain: Annotated[
        list[str] | None, typer.Option("--domain", help="What topics are about; repeat. The paper's twelve by default.")
    ] = None,
    per_domain: Annotated[int, typer.Option("--per-domain", min=1, help="Topics of each domain.")] = 100,
    seed: opt.SeedOption = 0,
    model_arg: opt.ModelArgOption = None,
    price: opt.PriceOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Write contested topics with fifteen checked questions each (Chameleon, appendix A.2)."""
    from overton.api import topics as api
    from overton.cli.ending import conclude_making
    from overton.cli.progress import watching

    with watching("topics") as watch:
        run = api.make(
            domain or api.published_domains(),
            model=model,
            out=out,
            per_domain=per_domain,
            seed=seed,
            model_args=opt.model_arguments(model_arg),
            prices=opt.prices(price),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
    _tell(run)
    raise typer.Exit(conclude_making(run))


def _tell(run: Run) -> None:
    """What became of all that was proposed, and why what was dropped was."""
    from overton.api import topics as api
    from overton.cli.output import say

    counted = api.counts(run)
    for domain, counts in counted.items():
        say(f"{domain}: " + ", ".join(f"{count} {status}" for status, count in counts.items()))
    for topic, problems in api.lost(run).items():
        say(f"{topic}: {'; '.join(problems)}")
