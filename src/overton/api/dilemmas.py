"""Dilemmas: the starter ones, one's own, and those built from a forum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.items import read_items
from overton.api.runs import Arguments, Run, model_requests
from overton.corpora.opening import write_objects
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Watch
from overton.studies.deliberation import STUDY

if TYPE_CHECKING:
    from overton.corpora.forum import Tally
    from overton.studies.deliberation.items import Dilemma, Verdict
    from overton.studies.deliberation.selection import Survey
    from overton.studies.deliberation.steps import Step

__all__ = ["Built", "build", "dilemmas_at", "starter_dilemmas"]


@dataclass(frozen=True)
class Built:
    """Dilemmas built from a forum: the dataset's file, the steps with what each kept, and what could not be read.

    `judged` is the run in which a judge read unclear comments, None where none was asked.
    """

    path: Path
    dilemmas: list[Dilemma]
    steps: tuple[Step, ...]
    unread: tuple[Tally, Tally]
    judged: Run | None = None


def starter_dilemmas() -> list[Dilemma]:
    """The twelve dilemmas that come with Overton; their crowds are simulated, and marked so."""
    return read_items(STUDY)


def dilemmas_at(path: str | Path) -> list[Dilemma]:
    """The dilemmas at `path`, a JSONL file or a folder; see `read_items`.

    Raises:
        InputError: every line that is not one, every id that comes twice.
    """
    return read_items(STUDY, path)


def build(
    submissions: Sequence[str | Path],
    comments: Sequence[str | Path],
    out: str | Path,
    *,
    community: str | None = None,
    first: date | None = None,
    last: date | None = None,
    top: int = 1000,
    fewest: int = 1,
    judge: str | None = None,
    model_args: Arguments | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
) -> Built:
    """Build dilemmas from forum dumps or answers of its API by appendix A's seven steps, into the JSONL file `out`.

    `first` and `last` are days (UTC), both included; `top` is how many are taken, the most contested ones; `fewest`
    how many comments with a readable verdict a post must have. Comments that patterns cannot read go to `judge` if one
    is given, in a run beside the file (`out` with `.judged`), else they are counted and left out.

    Raises:
        InputError: a file cannot be read or holds nothing of its kind, `out` exists, the range of dates is empty.
    """
    from overton.corpora.forum import Tally, read_comments, read_posts
    from overton.studies.deliberation import crowd
    from overton.studies.deliberation.selection import select, survey
    from overton.studies.deliberation.steps import SelectionOptions

    target = Path(out)
    if target.exists():
        raise InputError([Problem("--out", str(target), "exists already; nothing is ever written over")])
    posts, said = [Path(path) for path in submissions], [Path(path) for path in comments]
    options = SelectionOptions(first=first, last=last, top=top, fewest=fewest)
    unread = (Tally(), Tally())
    surveyed = survey(
        read_posts(posts, community=community, tally=unread[0]),
        read_comments(said, community=community, tally=unread[1]),
        options,
        for_judge=judge is not None,
    )
    limits = Limits(max_cost, max_calls)
    requests = model_requests({"judge": [judge] if judge else []}, model_args)
    run = _judged(surveyed, requests, target, limits=limits, watch=watch) if judge else None
    verdicts: dict[str, Verdict] = {}
    if run is not None:
        rows = run.records().drop("model", "held").to_dicts()
        verdicts = crowd.judged(msgspec.convert(row, crowd.CrowdVerdict, strict=False) for row in rows)
    selected = select(surveyed, read_posts(posts, community=community), verdicts)
    return Built(write_objects(selected.dilemmas, target), selected.dilemmas, selected.steps, unread, run)


def _judged(surveyed: Survey, requests: Any, target: Path, **how: Any) -> Run | None:
    """The run in which a judge reads what patterns could not; None where they read everything."""
    from overton.studies.deliberation import crowd

    unclear = surveyed.unclear()
    folder = target.with_name(target.name + ".judged")
    return Run(folder, local.start(crowd.STUDY, unclear, requests, folder, **how)) if unclear else None
