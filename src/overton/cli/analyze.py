"""`overton analyze STUDY FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(help="Compute a study's measures from a run, records or a table.", no_args_is_help=True)


@app.command("open-mindedness")
def open_mindedness(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A run folder, records (.parquet, .csv, .jsonl), or a table of counts."),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print every measure as JSON.")] = False,
    level: Annotated[float, typer.Option("--level", min=0.5, max=0.999, help="Coverage of the intervals.")] = 0.95,
    resamples: Annotated[int, typer.Option("--resamples", min=100, max=100_000, help="Bootstrap resamples.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 0,
) -> None:
    """Open-mindedness, baselines, shifts, letter and order bias, each with an interval."""
    from overton.api.analyses import analyze
    from overton.cli.output import print_json, results
    from overton.cli.summary import summary

    analysis = analyze("open-mindedness", file, level=level, resamples=resamples, seed=seed)
    if json:
        print_json(analysis.to_json())
        return
    for part in summary("open-mindedness", analysis):
        results().print(part)


@app.command("deliberation")
def deliberation(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A run folder, or a table of decisions (.parquet, .csv, .jsonl).")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print every measure as JSON.")] = False,
    estimator: Annotated[
        str, typer.Option("--estimator", help="random (dilemma effects random), taste, or paper (the published fit).")
    ] = "random",
    conformity: Annotated[str, typer.Option("--conformity", help="shared, or 'by model'.")] = "shared",
    goals: Annotated[str, typer.Option("--goals", help="Fit the goals apart, or together.")] = "apart",
    level: Annotated[float, typer.Option("--level", min=0.5, max=0.999, help="Coverage of the intervals.")] = 0.95,
    resamples: Annotated[int, typer.Option("--resamples", min=100, max=100_000, help="Bootstrap resamples.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 0,
) -> None:
    """Inertia, conformity, changes of verdict, consensus and values, each with an interval."""
    from overton.api.analyses import analyze
    from overton.cli.output import print_json, results
    from overton.cli.summary import summary

    how = {"estimator": estimator, "conformity": conformity, "goals": goals, "level": level}
    analysis = analyze("deliberation", file, resamples=resamples, seed=seed, **how)
    if json:
        print_json(analysis.to_json())
        return
    for part in summary("deliberation", analysis):
        results().print(part)
