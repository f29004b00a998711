"""`overton items threads`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt
from overton.cli.items.dumps import say_read

__all__ = ["threads"]


def threads(
    submissions: Annotated[list[Path], typer.Option("--submissions", help="Dump or API answer of posts; repeat.")],
    comments: Annotated[list[Path], typer.Option("--comments", help="Dump or API answer of comments; repeat.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to make.")] = Path("threads.jsonl"),
    community: Annotated[str | None, typer.Option("--community", help="Keep one community's posts.")] = None,
    year: Annotated[int | None, typer.Option("--year", help="Keep one year's posts (UTC).")] = None,
    min_comments: Annotated[
        int | None, typer.Option("--min-comments", help="Usable comments at least; table 2's number, or 10.")
    ] = None,
    max_comments: Annotated[
        int | None, typer.Option("--max-comments", help="Usable comments at most; table 2's number, or 50.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", help="Threads of a community, at random; table 2's number, or 500.")
    ] = None,
    replies: Annotated[bool, typer.Option("--replies", help="Answers to comments count as comments, too.")] = False,
    seed: opt.SeedOption = 0,
) -> None:
    """Sample threads from forum dumps, step by step, without names and identifiers (PluralEval, table 2)."""
    from overton.api.threads import sample_threads
    from overton.cli.output import results, say

    sampled = sample_threads(
        submissions,
        comments,
        out,
        community=community,
        year=year,
        min_comments=min_comments,
        max_comments=max_comments,
        sample=sample,
        replies=replies,
        seed=seed,
    )
    for step in sampled.steps:
        say(f"{step.number}. {step.name}: {step.kept:,}. {step.note}")
    say_read(sampled.unread)
    results().print(str(sampled.path), markup=False, soft_wrap=True)
