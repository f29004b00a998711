"""`overton export RUN --to inspect`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt

__all__ = ["Form", "export"]


class Form(StrEnum):
    """What a run can be exported to."""

    INSPECT = "inspect"


def export(
    run: opt.RunArgument,
    to: Annotated[
        Form,
        typer.Option(
            "--to", metavar="inspect", help="Inspect AI's logs, which 'inspect view' opens: one for each model."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the logs; logs by default.", show_default=False)
    ] = Path("logs"),
) -> None:
    """Write a run in the form of another tool. Nothing is asked; whole items only."""
    from overton.api.inspect_logs import export_run
    from overton.cli.output import results, say

    for log in export_run(run, out=out):
        results().print(str(log.path), markup=False, soft_wrap=True)
        if lacking := log.planned - log.samples:
            say(f"{log.lane}: {lacking} of {log.planned} samples are left out, since their items are not whole.")
