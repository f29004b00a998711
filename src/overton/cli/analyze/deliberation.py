"""`overton analyze deliberation`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli.analyze import shown

__all__ = ["deliberation"]


def deliberation(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A run folder, or a table of decisions (.parquet, .csv, .jsonl).")
    ],
    json: shown.JsonOption = False,
    estimator: Annotated[
        str, typer.Option("--estimator", help="random (dilemma effects random), taste, or paper (the published fit).")
    ] = "random",
    conformity: Annotated[str, typer.Option("--conformity", help="shared, or 'by model'.")] = "shared",
    others: Annotated[
        bool, typer.Option("--all-estimators", help="Fit the choice model by the other estimators too.")
    ] = False,
    goals: Annotated[str, typer.Option("--goals", help="Fit the goals apart, or together.")] = "apart",
    level: shown.LevelOption = 0.95,
    resamples: shown.ResamplesOption = 2000,
    seed: shown.SeedOption = 0,
) -> None:
    """Inertia, conformity, changes of verdict, consensus and values, each with an interval."""
    how = {"estimator": estimator, "conformity": conformity, "goals": goals, "others": others}
    shown.show("deliberation", file, json=json, level=level, resamples=resamples, seed=seed, **how)
