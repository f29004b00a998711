"""The command of open-mindedness: paraphrases made without a model, by filling an issue's positions into templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from overton.errors import InputError, Problem
from overton.runs.items import read_items, write_items
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.paraphrases.rephrasing import STUDY
from overton.studies.open_mindedness.paraphrases.templates import render_templates
from overton.studies.options import Option
from overton.studies.study import Done


@dataclass(frozen=True)
class FilledIn:
    """Issues with their paraphrases: the file, how many were filled in, and how many already had some."""

    path: Path
    issues: Sequence[Issue]
    filled: int

    @property
    def kept(self) -> int:
        """How many already had paraphrases."""
        return len(self.issues) - self.filled


def fill_templates(
    issues: Annotated[str | Path, Option("Folder of ProCon files, one file, or JSONL", file=True, argument=True)],
    out: Annotated[str | Path, Option("JSONL file to write", file=True)] = "issues.jsonl",
    *,
    positions: Annotated[
        str | Path | None,
        Option("CSV with issue, topic, pro, con; by default positions.csv in or beside the folder", file=True),
    ] = None,
    again: Annotated[bool, Option("Also fill in issues that already have paraphrases")] = False,
) -> FilledIn:
    """Give each issue the six paraphrases of appendix B, its question and positions filled into the templates.

    No model is asked: positions are quoted word for word, and the issue is named by its own question.

    Raises:
        InputError: an issue cannot be read or has no positions, or `out` exists.
        RunError: `out` cannot be written.
    """
    read: list[Issue] = read_items(STUDY, issues, positions=positions)
    wanted = [issue for issue in read if again or not issue.paraphrases]
    if lacking := [issue.id for issue in wanted if not (issue.pro and issue.con)]:
        reason = "has no positions to fill in: give pro and con in the file or in positions.csv"
        raise InputError([Problem(str(issues), name, reason) for name in lacking])
    ids = {issue.id for issue in wanted}
    made = [_fill_paraphrases(issue) if issue.id in ids else issue for issue in read]
    file = Path(out)
    return FilledIn(write_items(STUDY, made, file if file.suffix else file / "issues.jsonl"), made, len(wanted))


def _fill_paraphrases(issue: Issue) -> Issue:
    six = render_templates(f'the question "{issue.question.strip()}"', issue.pro or "", issue.con or "")
    return msgspec.structs.replace(issue, paraphrases=six)


def show_fill_templates(done: FilledIn) -> Done:
    """How many issues were filled in, and the file."""
    kept = f"; {done.kept} already had paraphrases (--again fills those in too)" if done.kept else ""
    return Done(lines=[f"{done.filled} of {len(done.issues)} issues filled in{kept}."], path=str(done.path))
