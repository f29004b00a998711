"""Null conditions that a run did not ask: what they would cost, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from overton.calls import Trial
from overton.runs.dry_run import count_calls
from overton.runs.event_loop import run_to_end
from overton.runs.folder import RunFolder
from overton.runs.run import Run
from overton.studies.nulls import Null, askable, renamed
from overton.studies.study import AnyStudy

__all__ = ["not_asked"]


def not_asked(study: AnyStudy, runs: Sequence[Run]) -> str:
    """Which nulls were not asked, and roughly what they would cost; '' if all were, or there are none to ask."""
    if study.kind != "asks":  # studies that label or make items have controls at most
        return ""
    missing = {run.path: [null for null in askable(study.nulls) if null.name not in _chosen(run)] for run in runs}
    names = list(dict.fromkeys(null.name for some in missing.values() for null in some))
    if not names:
        return ""
    counted = [(run, _calls(study, run, missing[run.path])) for run in runs]
    calls = sum(count for _, count in counted)
    money = sum(filter(None, (_price(run, count) for run, count in counted)))
    price = f" and about ${money:,.2f}" if money else ""
    every = len(names) == len(askable(study.nulls))
    which = "No null condition was asked" if every else f"These null conditions were not asked: {', '.join(names)}"
    return f"{which}. Asking all of them would take about {calls:,} more calls{price}: overton extend RUN --null all."


def _chosen(run: Run) -> Sequence[str]:
    return run.manifest.options.get("nulls") or ()


def _calls(study: AnyStudy, run: Run, nulls: Sequence[Null]) -> int:
    """The approximate number of calls: those of the first item's trials, as if every item had as many."""
    items = run.items()
    if not items or not nulls:
        return 0
    options = RunFolder(run.path).options(study, run.manifest.options)
    trials = [trial for null in nulls for trial in _of_first(null, items, options, run.manifest.seed)]
    if not trials:
        return 0
    course = run_to_end(count_calls(study, trials, 0))
    own = sum(count.calls for count in course.own.values()) * study.lanes(run.manifest.models)
    return (own + sum(count.calls for count in course.shared.values())) * len(items)


def _of_first(null: Null, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
    found = renamed(null, items, options, seed)
    first = next(found, None)
    if first is not None:
        yield first
        yield from takewhile(lambda trial: trial.item == first.item, found)


def _price(run: Run, calls: int) -> float | None:
    """What so many calls would cost, going by the cost of the run's own; None if that is unknown."""
    spent = run.manifest.spent
    return calls * spent.cost / spent.requests if spent.cost and spent.requests else None
