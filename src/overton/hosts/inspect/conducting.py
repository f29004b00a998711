"""A sample's trials, conducted side by side, each in a span of the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from overton.calls import Trial
from overton.engine.conducting import gravity
from overton.hosts.inspect.asking import Conversation, InspectAsk, Table
from overton.hosts.inspect.layout import CallData
from overton.hosts.inspect.loops import conduct_here
from overton.hosts.inspect.viewing import span_name
from overton.studies.study import AnyStudy

__all__ = ["Held", "hold_trials"]


@dataclass
class Held:
    """What came of a sample's trials so far: records by trial, calls in the order in which their outcomes came, and
    the first trial's conversation."""

    records: dict[str, list[Any]] = field(default_factory=dict)
    calls: list[CallData] = field(default_factory=list)
    shown: Conversation | None = None


async def hold_trials(study: AnyStudy, trials: Sequence[Trial], table: Table, held: Held, at_once: int) -> None:
    """Conduct the trials, at most so many side by side. Those under way come to their end where one of them cannot.

    Raises:
        Exception: the gravest of what went wrong.
    """
    import anyio

    turns = iter(trials)
    errors: list[Exception] = []
    threads = anyio.CapacityLimiter(at_once)

    async def work() -> None:
        for trial in turns:
            if errors:
                return
            try:
                await _hold(study, trial, table, held, threads, shown=trial is trials[0])
            except Exception as error:  # noqa: BLE001 - raised below, once the others have ended
                errors.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(trials))):
            group.start_soon(work)
    if errors:
        raise min(errors, key=gravity)


async def _hold(study: AnyStudy, trial: Trial, table: Table, held: Held, threads: Any, *, shown: bool) -> None:
    from inspect_ai.util import span

    ask = InspectAsk(table, trial.name, study.first, held.calls.append)
    async with span(span_name(trial), type="trial"):
        try:
            held.records[trial.name] = await conduct_here(study.conduct, trial, ask, threads)
        finally:
            if shown:
                held.shown = ask.last
