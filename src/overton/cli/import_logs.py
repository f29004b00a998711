"""`overton import LOG...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt

__all__ = ["import_logs"]


def import_logs(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Logs of one of Overton's tasks, or folders of them.")
    ],
    out: opt.OutOption = None,
) -> None:
    """Make a run of Inspect AI's logs, to report, analyze, resume and extend as any other."""
    from overton.api import inspect_logs
    from overton.cli.ending import conclude

    raise typer.Exit(conclude(inspect_logs.import_logs(logs, out=out)))
