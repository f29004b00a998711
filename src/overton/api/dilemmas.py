"""Dilemmas: the starter ones, one's own, and those built from a forum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import as_file
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.runs import Arguments, Run, model_requests
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Watch

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
    from overton import starter

    with as_file(starter.dilemmas()) as path:
        return dilemmas_at(path)


def dilemmas_at(path: str | Path) -> list[Dilemma]:
    """The dilemmas in a JSONL file, one `Dilemma` a line.

    Raises:
        InputError: every line that is not one, every id that comes twice.
    """
    from overton.studies.deliberation.items import Dilemma

    file = Path(path)
    problems: list[Problem] = []
    found: dict[str, Dilemma] = {}
    for number, line in enumerate(_lines(file), 1):
        try:
            dilemma = msgspec.json.decode(line, type=Dilemma)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(Problem(str(file), f"line {number}", f"is not a dilemma: {error}"))
            continue
        reasons = _reasons(dilemma, found)
        problems += [Problem(str(file), f"line {number}", reason) for reason in reasons]
        found[dilemma.id] = dilemma
    if not found and not problems:
        problems.append(Problem(str(file), "", "holds no dilemmas"))
    if problems:
        raise InputError(problems)
    return list(found.values())


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
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"".join(msgspec.json.encode(dilemma) + b"\n" for dilemma in selected.dilemmas))
    return Built(target, selected.dilemmas, selected.steps, unread, run)


def _judged(surveyed: Survey, requests: Any, target: Path, **how: Any) -> Run | None:
    """The run in which a judge reads what patterns could not; None where they read everything."""
    from overton.studies.deliberation import crowd

    unclear = surveyed.unclear()
    folder = target.with_name(target.name + ".judged")
    return Run(folder, local.start(crowd.STUDY, unclear, requests, folder, **how)) if unclear else None


def _lines(file: Path) -> list[bytes]:
    try:
        return [line for line in file.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise InputError([Problem(str(file), "", f"cannot be read: {error.strerror}")]) from error


def _reasons(dilemma: Dilemma, found: dict[str, Dilemma]) -> list[str]:
    reasons = []
    if dilemma.id in found:
        reasons.append(f"the id {dilemma.id!r} is there already")
    if not dilemma.id or not all(letter.isascii() and (letter.isalnum() or letter in "-_.") for letter in dilemma.id):
        reasons.append(f"the id {dilemma.id[:40]!r} must be letters, digits, '-', '_' and '.'")
    if not dilemma.text.strip():
        reasons.append("the text is empty")
    return reasons
