"""`overton corpus index|search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli.known import StrictCommand

app = typer.Typer(help="Index a collection of pages for local search, and query it.", no_args_is_help=True)


@app.command(cls=StrictCommand)
def index(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of .txt, .md, .html and .jsonl files.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to create for the index.")],
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave out and list what cannot be read.")] = False,
) -> None:
    """Index a folder's pages: each text or HTML file, and each JSON line with url and text (and title, date)."""
    from overton import corpus
    from overton.cli.output import results, say

    made = corpus.index(folder, out, lenient=lenient)
    for problem in made.problems:
        say(f"left out: {problem}")
    for suffix, count in sorted(made.skipped.items()):
        say(f"skipped: {count:,} files of other kinds ({suffix})")
    say(f"{made.pages:,} pages; use them with --search index/{made.path}")
    results().print(str(made.path), soft_wrap=True)


@app.command(cls=StrictCommand)
def search(
    collection: Annotated[str, typer.Argument(metavar="INDEX", help="An index's folder, or 'starter'.")],
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    top: Annotated[
        int,
        typer.Option("--top", min=1, max=100, metavar="N", help="How many hits; 10 by default.", show_default=False),
    ] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a query's hits, best first, as a run would get them."""
    from overton import corpus
    from overton.cli.output import print_json, results

    hits = corpus.search(collection, query, top=top)
    if json:
        print_json(hits)
        return
    for number, hit in enumerate(hits, 1):
        results().print(f"{number}. {hit.title}\n   {hit.url}\n   {hit.snippet}", soft_wrap=True)
