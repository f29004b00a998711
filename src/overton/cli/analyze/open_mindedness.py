"""`overton analyze open-mindedness`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli.analyze import shown

__all__ = ["open_mindedness"]


def open_mindedness(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A run folder, records (.parquet, .csv, .jsonl), or a table of counts."),
    ],
    json: shown.JsonOption = False,
    level: shown.LevelOption = 0.95,
    resamples: shown.ResamplesOption = 2000,
    seed: shown.SeedOption = 0,
) -> None:
    """Open-mindedness, baselines, shifts, letter and order bias, each with an interval."""
    shown.show("open-mindedness", file, json=json, level=level, resamples=resamples, seed=seed)
