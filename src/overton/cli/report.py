"""`overton report RUN...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of one or more runs of one study.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="HTML file; a single run's own report.html by default.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Folder for each chart as PNG and SVG.")
    ] = None,
) -> None:
    """Write one self-contained HTML report of runs, several models side by side."""
    from overton.api import reports
    from overton.cli.output import results

    results().print(str(reports.report(runs, out=out, figures=figures)), markup=False, soft_wrap=True)
