"""Deliberation's own command: dilemmas built from a forum, with calls made as in any other run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from overton.errors import InputError, Problem
from overton.files.forum import ReadCounts, notes_on, read_comments, read_posts
from overton.files.texts import write_objects
from overton.runs.progress import Watch  # the command line reads the hints of what it calls
from overton.runs.run import Run
from overton.runs.setup import Arguments
from overton.runs.start import run
from overton.studies.deliberation.dilemmas import crowd
from overton.studies.deliberation.dilemmas.posts import SelectionOptions
from overton.studies.deliberation.dilemmas.selection import select, survey
from overton.studies.options import Option, option_place
from overton.studies.study import Done

if TYPE_CHECKING:
    from overton.studies.deliberation.dilemmas.selection import PostStep
    from overton.studies.deliberation.items import Dilemma, Verdict


@dataclass(frozen=True)
class BuiltDilemmas:
    """Dilemmas built from a forum: the dataset's file, the steps with what each kept, and what could not be read.

    `judged` is the run in which a judge read unclear comments, None if no judge was asked.
    """

    path: Path
    dilemmas: list[Dilemma]
    steps: tuple[PostStep, ...]
    unread: tuple[ReadCounts, ReadCounts]
    judged: Run | None = None


def dilemmas(
    submissions: Annotated[Sequence[str | Path], Option("Dump or API response with posts", file=True)],
    comments: Annotated[Sequence[str | Path], Option("Dump or API response with comments", file=True)],
    out: Annotated[str | Path, Option("JSONL file to write", file=True)] = "dilemmas.jsonl",
    *,
    community: Annotated[str | None, Option("Keep only this community's posts")] = None,
    first: Annotated[str | date | None, Option("First day (UTC), such as 2026-01-31", flag="--from")] = None,
    last: Annotated[str | date | None, Option("Last day (UTC)", flag="--to")] = None,
    top: Annotated[int, Option("How many dilemmas, the most contested first", least=1)] = 1000,
    fewest: Annotated[int, Option("Fewest readable verdicts that a post must have", least=0)] = 1,
    judge: Annotated[str | None, Option("Model that reads the comments that patterns cannot")] = None,
    model_args: Arguments | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
) -> BuiltDilemmas:
    """Build dilemmas from forum dumps or API responses by appendix A's seven steps, into the JSONL file `out`.

    `first` and `last` are days (UTC), both included; `top` is how many of the most contested dilemmas are taken;
    `fewest` is how many comments with a readable verdict a post must have. Comments that patterns cannot read go to
    `judge` if one is given, in a run beside the file (`out` with `.judged`); otherwise they are counted and left out.

    Raises:
        InputError: a file cannot be read or has nothing of its kind, `out` exists, or the range of dates is empty.
    """
    target = Path(out)
    if target.exists():
        raise InputError([Problem(option_place("out"), str(target), "already exists; nothing is ever overwritten")])
    posts, said = [Path(path) for path in submissions], [Path(path) for path in comments]
    options = SelectionOptions(first=_parse_day("first", first), last=_parse_day("last", last), top=top, fewest=fewest)
    unread = (ReadCounts(), ReadCounts())
    surveyed = survey(
        read_posts(posts, community=community, tally=unread[0]),
        read_comments(said, community=community, tally=unread[1]),
        options,
        for_judge=judge is not None,
    )
    unclear = surveyed.unclear() if judge is not None else []
    judged: Run | None = None
    verdicts: dict[str, Verdict] = {}
    if judge is not None and unclear:
        judged = run(
            crowd.STUDY.name,
            models=[judge],
            items=unclear,
            out=target.with_name(target.name + ".judged"),
            model_args=model_args,
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
        verdicts = crowd.judged(judged.rows())
    selected = select(surveyed, read_posts(posts, community=community), verdicts)
    return BuiltDilemmas(write_objects(selected.dilemmas, target), selected.dilemmas, selected.steps, unread, judged)


def show_dilemmas(built: BuiltDilemmas) -> Done:
    """The steps with what each kept, what was read from the dumps, and the file."""
    return Done(lines=[*_step_lines(built), *notes_on(built.unread)], path=str(built.path))


def _step_lines(built: BuiltDilemmas) -> Iterator[str]:
    for step in built.steps:
        yield f"{step.number}. {step.name}: {step.kept:,} posts. {step.note}"


def _parse_day(name: str, given: str | date | None) -> date | None:
    if given is None or isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InputError([Problem(option_place(name), given, "must be a date such as 2026-01-31")]) from None
