"""Topics: the starter ones, one's own, and those made by a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.api.items import check_items, read_items, write_items
from overton.api.runs import Arguments, Prices, Run, model_requests
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Watch
from overton.studies.stance_stability import STUDY

if TYPE_CHECKING:
    from overton.studies.noting import Finding
    from overton.studies.stance_stability.domains import Domain
    from overton.studies.stance_stability.generating import MadeTopic
    from overton.studies.stance_stability.items import Topic

__all__ = [
    "MAKER",
    "check",
    "counts",
    "lost",
    "made_topics",
    "make",
    "published_domains",
    "starter_topics",
    "topics_at",
    "write_dataset",
]

MAKER = "topics"
"""The study whose runs hold a dataset of topics."""


def starter_topics() -> list[Topic]:
    """The twenty-four topics that come with Overton, two of each of the paper's twelve domains."""
    return read_items(STUDY)


def topics_at(path: str | Path, *, published_rules: bool = True) -> list[Topic]:
    """The topics at `path`, a JSONL file or a folder; see `read_items`.

    Raises:
        InputError: every problem of every file, with file, line and key.
    """
    return read_items(STUDY, path, any_questions=not published_rules)


def check(path: str | Path, *, published_rules: bool = True) -> list[Finding]:
    """Everything that keeps the topics at `path` from being used. Nothing is asked."""
    return check_items(STUDY, path, any_questions=not published_rules)


def published_domains() -> list[str]:
    """The names of the paper's twelve domains (table 2)."""
    from overton.studies.stance_stability.domains import PUBLISHED

    return [domain.name for domain in PUBLISHED]


def make(
    domains: Sequence[str],
    *,
    model: str,
    out: str | Path,
    per_domain: int = 100,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
) -> Run:
    """Topics of `domains`, with their questions, written by `model` (appendix A.2), as a run in the folder `out`.

    The dataset is `topics.jsonl` in that folder; `made_topics` says what became of every topic that was proposed.

    Raises:
        InputError: no domain, or one named twice; see also `run`.
    """
    from overton.studies.stance_stability import generating
    from overton.studies.stance_stability.domains import Domain

    items = [Domain.named(name) for name in domains]
    _check_domains(items)
    options = generating.TopicsOptions(per_domain=per_domain)
    manifest = local.start(
        generating.STUDY,
        items,
        model_requests({"writer": [model]}, model_args, prices),
        Path(out),
        options=options,
        seed=seed,
        limits=Limits(max_cost, max_calls),
        watch=watch,
    )
    return write_dataset(Run(Path(out), manifest))


def _check_domains(domains: Sequence[Domain]) -> None:
    ids = [domain.id for domain in domains]
    problems = [
        Problem("--domain", name, "is named twice") for name in sorted({name for name in ids if ids.count(name) > 1})
    ]
    if not ids:
        problems.append(Problem("--domain", "", f"name at least one; the paper's are {', '.join(published_domains())}"))
    if problems:
        raise InputError(problems)


def made_topics(run: Run) -> list[MadeTopic]:
    """What became of every topic that was proposed; `generating.counted` counts them by domain and status."""
    from overton.studies.stance_stability.generating import MadeTopic

    rows = run.records().drop("model", "held").to_dicts()
    return [msgspec.convert(row, MadeTopic, strict=False) for row in rows]


def counts(run: Run) -> dict[str, dict[str, int]]:
    """How many topics were written, were duplicates, were dropped, ...: by domain and status."""
    from overton.studies.stance_stability.generating import counted

    return {
        domain: {str(status): count for status, count in found.items()}
        for domain, found in counted(made_topics(run)).items()
    }


def lost(run: Run) -> dict[str, tuple[str, ...]]:
    """What was proposed and is not in the dataset for a fault of its own or of a call, by topic or domain, and why."""
    return {
        one.topic or one.domain: one.problems
        for one in made_topics(run)
        if one.status in ("dropped", "failed", "missing")
    }


def write_dataset(run: Run) -> Run:
    """Write the dataset of a `topics` run beside its records, anew if it is there; gives the run back."""
    from overton.studies.stance_stability.generating import topics_of

    write_items(STUDY, topics_of(made_topics(run)), run.path, replace=True)
    return run
