"""`overton items rephrase`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt

__all__ = ["rephrase"]


def rephrase(
    path: opt.IssuesArgument,
    model: Annotated[str, typer.Option("--model", "-m", help="Model that writes the paraphrases.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to make: a run, with the dataset issues.jsonl in it.")],
    positions: opt.PositionsOption = None,
    again: Annotated[bool, typer.Option("--again", help="Rephrase issues that have paraphrases, too.")] = False,
    model_arg: opt.ModelArgOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Write six neutral paraphrases an issue with a model (MillStone, appendix C)."""
    from overton.api import issues
    from overton.cli.ending import conclude_making
    from overton.cli.progress import watching

    with watching("rephrase") as watch:
        run = issues.rephrase(
            path,
            model=model,
            out=out,
            positions=positions,
            again=again,
            model_args=opt.model_arguments(model_arg),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
    raise typer.Exit(conclude_making(run))
