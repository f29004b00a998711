"""`overton items check|rephrase|audit|topics|dilemmas|threads|references|compare-*`."""

from __future__ import annotations

import typer

from overton.cli.items import (
    audit,
    check,
    compare_clusterings,
    compare_references,
    dilemmas,
    references,
    rephrase,
    threads,
    topics,
)

__all__ = ["app"]

app = typer.Typer(
    help="Check and make what studies ask about: issues, topics, dilemmas, threads.", no_args_is_help=True
)
app.command()(check.check)
app.command()(rephrase.rephrase)
app.command()(audit.audit)
app.command()(topics.topics)
app.command()(dilemmas.dilemmas)
app.command()(threads.threads)
app.command()(references.references)
app.command("compare-clusterings")(compare_clusterings.compare_clusterings)
app.command("compare-references")(compare_references.compare_references)
