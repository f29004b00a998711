"""`overton demo`: a real model, real numbers, a few minutes, no key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    full: Annotated[
        bool, typer.Option("--full", help="Leave out nothing: twelve issues, 990 calls each. Takes hours.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to make; one below runs/ by default.")
    ] = None,
) -> None:
    """Measure a small model that runs in this process on starter issues, in all eleven configurations."""
    from overton.api import demo as demonstration
    from overton.cli.ending import conclude
    from overton.cli.output import say
    from overton.cli.progress import watching

    say(demonstration.describe(full=full))
    demonstration.prepare(progress=say)
    with watching("demo") as watch:
        run = demonstration.demo(full=full, out=out, watch=watch)
    say(
        f"{demonstration.MODEL} is held to the answer's form by a grammar. It is small: this shows the tool, not what"
        " capable models think."
    )
    raise typer.Exit(conclude(run))
