"""An analysis as a person or a program reads it, and the options that every analysis has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["JsonOption", "LevelOption", "ResamplesOption", "SeedOption", "show"]

JsonOption = Annotated[bool, typer.Option("--json", help="Print every measure as JSON.")]
LevelOption = Annotated[float, typer.Option("--level", min=0.5, max=0.999, help="Coverage of the intervals.")]
ResamplesOption = Annotated[int, typer.Option("--resamples", min=100, max=100_000, help="Bootstrap resamples.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")]


def show(study: str, file: Path, *, json: bool, **how: Any) -> None:
    """Compute a study's measures and print them."""
    from overton.api.analyses import analyze
    from overton.cli.output import print_json, results
    from overton.cli.summary import summary
    from overton.studies.plain import SCHEMA, document

    analysis = analyze(study, file, **how)
    if json:
        print_json(document(study, SCHEMA, analysis))
        return
    for part in summary(study, analysis):
        results().print(part)
