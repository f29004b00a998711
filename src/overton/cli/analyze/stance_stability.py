"""`overton analyze stance-stability`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli.analyze import shown

__all__ = ["stance_stability"]


def stance_stability(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A run folder, or a table of conversation, turn, stance (.parquet, .csv, .jsonl).",
        ),
    ],
    json: shown.JsonOption = False,
    no_change: Annotated[
        str,
        typer.Option("--no-change", help="Confidence at changes without any: zero, or mean (of all turns)."),
    ] = "zero",
    no_documents: Annotated[
        str, typer.Option("--no-documents", help="Term of a turn without documents: zero, or 'left out'.")
    ] = "zero",
    unclear: Annotated[
        str, typer.Option("--unclear", help="An unclear turn carries the last stance (carry), or is one (stance).")
    ] = "carry",
    labels: Annotated[
        str | None, typer.Option("--labels", help="Stances towards the proposition, or the question's premise.")
    ] = None,
    target: Annotated[
        str, typer.Option("--target", help="Flips against supportive, critical, balanced, or the first stance (first).")
    ] = "supportive",
    over: Annotated[str, typer.Option("--over", help="Resample conversations, or whole topics.")] = "conversations",
    level: shown.LevelOption = 0.95,
    resamples: shown.ResamplesOption = 2000,
    seed: shown.SeedOption = 0,
) -> None:
    """Stance changes, confidence, source re-use and the Chameleon score, each with an interval."""
    how = {"no_change": no_change, "no_documents": no_documents, "unclear": unclear, "target": target, "over": over}
    shown.show("stance-stability", file, json=json, level=level, resamples=resamples, seed=seed, labels=labels, **how)
