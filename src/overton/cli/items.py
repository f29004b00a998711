"""`overton items list|new`: what can be asked about, and a file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND|FILE]", help="issues, topics, threads, dilemmas, a study's name, or a file."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the ids and titles of the items that come with Overton, or of those in a file."""
    from rich.table import Table
    from rich.text import Text

    from overton.cli.output import print_json, results
    from overton.items import list_items

    found = list_items(kind)
    if json:
        print_json(found)
        return
    for noun, study in dict.fromkeys((item.kind, item.study) for item in found):
        table = Table(title=Text(f"{noun}s ({study})"))
        for heading in ("id", "about"):
            table.add_column(heading, overflow="fold", no_wrap=heading == "id")
        for item in found:
            if (item.kind, item.study) == (noun, study):
                table.add_row(Text(item.id), Text(item.title))
        results().print(table)


def new(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="issue, topic, thread, dilemma, or a study's name.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to create.", show_default=False)],
) -> None:
    """Create a file with one item to fill in, which passes its check as it is."""
    from overton import items
    from overton.cli.output import results, say
    from overton.errors import command

    made = items.new(kind, out)
    results().print(str(made), soft_wrap=True)
    say(f"Fill it in, and check it with: {command('items', 'check', made)}")
