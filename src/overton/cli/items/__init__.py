"""`overton items check|STUDY|...`."""

from __future__ import annotations

import typer

from overton.cli.items import check, compare_clusterings, compare_references, dilemmas, threads
from overton.cli.studies import ItemMaking

__all__ = ["app"]

app = typer.Typer(cls=ItemMaking, help="Check and make what studies ask about.", no_args_is_help=True)
app.command()(check.check)
app.command()(dilemmas.dilemmas)
app.command()(threads.threads)
app.command("compare-clusterings")(compare_clusterings.compare_clusterings)
app.command("compare-references")(compare_references.compare_references)
