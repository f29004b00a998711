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
    from overton.api import clusterings
    from overton.cli.output import print_json, results
    from overton.cli.tables import show
    from overton.studies.plain import SCHEMA, document
    from overton.studies.pluralism.comparing import references_table
    from overton.studies.pluralism.referencing import REFERENCING

    found = clusterings.compare_references(first, second)
    if json:
        print_json(document(REFERENCING.name, SCHEMA, found))
        return
    show([references_table(found)], results())
