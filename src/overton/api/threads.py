"""Threads: one's own, those with reference viewpoints, and threads sampled from a forum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from overton.api.items import check_items, read_items, write_items
from overton.errors import InputError, Problem
from overton.studies.pluralism import STUDY, reading
from overton.studies.pluralism.referencing import REFERENCING

if TYPE_CHECKING:
    from overton.corpora.forum import Tally
    from overton.studies.noting import Finding
    from overton.studies.pluralism.items import ReferenceThread, Thread
    from overton.studies.pluralism.sampling_rules import Step

__all__ = [
    "SampledThreads",
    "check",
    "references_at",
    "sample_threads",
    "starter_references",
    "starter_threads",
    "threads_at",
]


@dataclass(frozen=True)
class SampledThreads:
    """Threads sampled from a forum: their file, the steps with what each kept, and what could not be read of posts and
    of comments."""

    path: Path
    threads: list[Thread]
    steps: tuple[Step, ...]
    unread: tuple[Tally, Tally]


def starter_threads() -> list[Thread]:
    """The twelve threads that come with Overton, in three communities."""
    return read_items(REFERENCING, reading.starter_threads())


def starter_references() -> list[ReferenceThread]:
    """The same twelve with the viewpoints that were found in them by hand."""
    return read_items(STUDY)


def threads_at(path: str | Path) -> list[Thread]:
    """The threads at `path`; see `read_items`.

    Raises:
        InputError: every problem of every file, with file, line and key.
    """
    return read_items(REFERENCING, path)


def references_at(path: str | Path) -> list[ReferenceThread]:
    """The threads with reference viewpoints at `path`, a JSONL file or the folder of a run that made them.

    Raises:
        InputError: every problem of every file, with file, line and key.
    """
    return read_items(STUDY, path)


def check(path: str | Path, *, references: bool = False) -> list[Finding]:
    """Everything that keeps the threads at `path` from being used, with `references` those with viewpoints."""
    return check_items(STUDY if references else REFERENCING, path)


def sample_threads(
    submissions: Sequence[str | Path],
    comments: Sequence[str | Path],
    out: str | Path,
    *,
    community: str | None = None,
    year: int | None = None,
    min_comments: int | None = None,
    max_comments: int | None = None,
    sample: int | None = None,
    replies: bool = False,
    seed: int = 0,
) -> SampledThreads:
    """Sample threads from forum dumps or answers of its API by table 2's rules, into the JSONL file `out`.

    Numbers not given are table 2's for the `community`, and 10 to 50 comments and 500 threads for others; posts are of
    any year unless `year` names one. Files are read twice. Names and identifiers are removed, as
    `overton.studies.pluralism.anonymity` says.

    Raises:
        InputError: a file cannot be read or holds nothing of its kind, `out` exists, a number is out of range.
    """
    from overton.corpora.forum import Tally, read_comments, read_posts
    from overton.studies.pluralism import sampling, sampling_rules

    target = _jsonl(Path(out))
    rules = sampling_rules.rules_for(
        community,
        year=year,
        min_comments=min_comments,
        max_comments=max_comments,
        sample=sample,
        replies=replies,
        seed=seed,
    )
    posts, said = [Path(path) for path in submissions], [Path(path) for path in comments]
    unread = (Tally(), Tally())
    surveyed = sampling.survey(
        read_posts(posts, community=community, tally=unread[0]),
        read_comments(said, community=community, tally=unread[1]),
        rules,
    )
    sampled = sampling.sample(
        surveyed, read_posts(posts, community=community), read_comments(said, community=community)
    )
    return SampledThreads(write_items(REFERENCING, sampled.threads, target), sampled.threads, sampled.steps, unread)


def _jsonl(path: Path) -> Path:
    if path.exists():
        raise InputError([Problem("--out", str(path), "exists already; nothing is ever written over")])
    if path.suffix != ".jsonl":
        raise InputError([Problem("--out", str(path), "must end in .jsonl")])
    return path
