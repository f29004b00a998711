"""`overton resume RUN`."""

from __future__ import annotations

from typing import Annotated

import typer

from overton.cli import options as opt

__all__ = ["resume"]


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
