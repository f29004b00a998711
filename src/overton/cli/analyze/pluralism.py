"""`overton analyze pluralism`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli.analyze import shown

__all__ = ["pluralism"]


def pluralism(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A run folder, or a table of matches, rankings or pairs (.parquet, .csv, .jsonl)."
        ),
    ],
    json: shown.JsonOption = False,
    summaries: Annotated[
        Path | None, typer.Option("--summaries", help="Table of thread, summary, stance, votes, beside one of matches.")
    ] = None,
    denominator: Annotated[
        str,
        typer.Option("--denominator", help="Precision of a stance: of non-neutral responses, or those labelled so."),
    ] = "non-neutral",
    level: shown.LevelOption = 0.95,
    resamples: shown.ResamplesOption = 2000,
    seed: shown.SeedOption = 0,
) -> None:
    """Viewpoints voiced and left out, suppression, and popularity ranked and in pairs, each with an interval."""
    how = {"denominator": denominator, **({"summaries": summaries} if summaries else {})}
    shown.show("pluralism", file, json=json, level=level, resamples=resamples, seed=seed, **how)
