"""`overton items dilemmas`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt
from overton.cli.items.dumps import say_read

__all__ = ["dilemmas"]


def dilemmas(
    submissions: Annotated[list[Path], typer.Option("--submissions", help="Dump or API answer of posts; repeat.")],
    comments: Annotated[list[Path], typer.Option("--comments", help="Dump or API answer of comments; repeat.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to make.")] = Path("dilemmas.jsonl"),
    community: Annotated[str | None, typer.Option("--community", help="Keep one community's posts.")] = None,
    first: Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day (UTC).")] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day (UTC).")] = None,
    top: Annotated[int, typer.Option("--top", help="How many dilemmas, the most contested first.")] = 1000,
    fewest: Annotated[int, typer.Option("--fewest", help="Readable verdicts that a post must have.")] = 1,
    judge: Annotated[str | None, typer.Option("--judge", help="Model that reads what patterns cannot.")] = None,
    model_arg: opt.ModelArgOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Build dilemmas from forum dumps, step by step (appendix A of the deliberation paper)."""
    from overton.api.dilemmas import build
    from overton.cli.output import results, say
    from overton.cli.progress import watching

    with watching("dilemmas") as watch:
        built = build(
            submissions,
            comments,
            out,
            community=community,
            first=first.date() if first else None,
            last=last.date() if last else None,
            top=top,
            fewest=fewest,
            judge=judge,
            model_args=opt.model_arguments(model_arg),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
    for step in built.steps:
        say(f"{step.number}. {step.name}: {step.kept:,} posts. {step.note}")
    say_read(built.unread)
    results().print(str(built.path), markup=False, soft_wrap=True)
