"""`overton items compare-references`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["compare_references"]


def compare_references(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Threads with viewpoints: JSONL, or a run.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="The same threads with others.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two sets of reference viewpoints, hand-made ones for instance, by the comments that each names."""
    from rich.table import Table

    from overton.api import clusterings
    from overton.cli.output import print_json, results
    from overton.cli.summary import interval
    from overton.studies.plain import SCHEMA, document
    from overton.studies.pluralism.referencing import REFERENCING

    found = clusterings.compare_references(first, second)
    if json:
        print_json(document(REFERENCING.name, SCHEMA, found))
        return
    left_out = f", {found.unpaired} left out" if found.unpaired else ""
    table = Table(title=f"{found.first} and {found.second}: means over {found.threads} threads{left_out}")
    table.add_column("")
    table.add_column("mean", justify="right")
    table.add_row("Omega index (adjusted Rand, where comments may be in several)", interval(found.omega, digits=2))
    table.add_row(f"viewpoints, {found.first}", interval(found.first_viewpoints, digits=2))
    table.add_row(f"viewpoints, {found.second}", interval(found.second_viewpoints, digits=2))
    table.add_row("difference", interval(found.more, digits=2))
    results().print(table)
