"""`overton items check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from overton.cli import options as opt
from overton.cli.options_stance import AnyQuestionsOption
from overton.errors import InputError, Problem

__all__ = ["check"]


def check(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="Issues, topics or threads: a folder, one file, or JSONL.")
    ],
    positions: opt.PositionsOption = None,
    unphrased: Annotated[
        bool, typer.Option("--unphrased", help="Let paraphrases be missing, as before 'items rephrase'.")
    ] = False,
    topics: Annotated[bool, typer.Option("--topics", help="They are topics of stance stability, not issues.")] = False,
    any_questions: AnyQuestionsOption = False,
    threads: Annotated[bool, typer.Option("--threads", help="They are threads.")] = False,
    references: Annotated[
        bool, typer.Option("--references", help="They are threads with reference viewpoints, as pluralism takes them.")
    ] = False,
) -> None:
    """Name every problem of every file; nothing is asked. Exit code 2 where an error would keep a run from starting."""
    from overton.api import issues
    from overton.api import threads as forum
    from overton.api import topics as api
    from overton.cli.output import results, say

    _one_kind(topics=topics, threads=threads, references=references)
    if topics:
        findings = api.check(path, published_rules=not any_questions)
    elif threads or references:
        findings = forum.check(path, references=references)
    else:
        findings = issues.check(path, positions, need_paraphrases=not unphrased)
    for finding in findings:
        results().print(str(finding), markup=False, soft_wrap=True)
    errors = sum(finding.severity == "error" for finding in findings)
    say(f"{errors} errors, {len(findings) - errors} warnings")
    raise typer.Exit(2 if errors else 0)


def _one_kind(**kinds: bool) -> None:
    said = [f"--{kind}" for kind, is_it in kinds.items() if is_it]
    if len(said) > 1:
        raise InputError([Problem(" ".join(said), "", "are different kinds of items; name one")])
