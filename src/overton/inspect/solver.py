"""A sample's trials, conducted in parallel, each in a span of the transcript; their records go to the scorer.

Studies run on asyncio. If Inspect runs on trio, a trial is conducted in a separate thread with its own loop, and only
its calls cross over, so that studies need to know of neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from overton.calls import Ask, Conduct, Question, Reply, Trial
from overton.engine.ask import gravity
from overton.inspect.ask import Conversation, EvalContext, InspectAsk
from overton.inspect.log_format import CallData, span_name
from overton.studies.study import AnyStudy


@dataclass
class SampleResults:
    """The results of a sample's trials so far: records by trial, calls in the order in which their outcomes came, and
    the first trial's conversation."""

    records: dict[str, list[Any]] = field(default_factory=dict)
    calls: list[CallData] = field(default_factory=list)
    shown: Conversation | None = None


async def conduct_trials(
    study: AnyStudy, trials: Sequence[Trial], table: EvalContext, results: SampleResults, at_once: int
) -> None:
    """Conduct the trials, at most `at_once` in parallel. If one fails, those in progress still finish.

    Raises:
        Exception: the gravest error of a trial.
    """
    import anyio

    await InspectAsk(table, "", study.first, results.calls.append).probe()
    turns = iter(trials)
    errors: list[Exception] = []
    threads = anyio.CapacityLimiter(at_once)

    async def work() -> None:
        for trial in turns:
            if errors:
                return
            try:
                await _conduct_one(study, trial, table, results, threads, shown=trial is trials[0])
            except Exception as error:  # noqa: BLE001 - raised below, once the others have finished
                errors.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(trials))):
            group.start_soon(work)
    if errors:
        raise min(errors, key=gravity)


async def _conduct_one(
    study: AnyStudy, trial: Trial, table: EvalContext, results: SampleResults, threads: Any, *, shown: bool
) -> None:
    from inspect_ai.util import span

    ask = InspectAsk(table, trial.name, study.first, results.calls.append)
    async with span(span_name(trial), type="trial"):
        try:
            results.records[trial.name] = await conduct_here(study.conduct, trial, ask, threads)
        finally:
            if shown:
                results.shown = ask.last


async def conduct_here(conduct: Conduct, trial: Trial, ask: Ask, limiter: Any) -> list[Any]:
    """The records of a trial, under either of Inspect's backends; `limiter` bounds the threads under trio."""
    import sniffio

    if sniffio.current_async_library() == "asyncio":
        return await conduct(trial, ask)
    from anyio.from_thread import BlockingPortal
    from anyio.to_thread import run_sync

    records: list[Any] = []
    errors: list[Exception] = []

    async def there(portal: Any) -> None:
        records.extend(await conduct(trial, _Across(ask, portal)))

    async with BlockingPortal() as portal:
        try:
            await run_sync(lambda: asyncio.run(there(portal)), limiter=limiter)
        except Exception as error:  # noqa: BLE001 - raised below: the portal would wrap it in a group
            errors.append(error)
    if errors:
        raise errors[0]
    return records


@dataclass
class _Across:
    """Makes calls on the other side of a portal."""

    ask: Ask
    portal: Any

    async def __call__(self, role: str, messages: Any, **how: Any) -> Reply:
        reply: Reply = await self._there(lambda: self.ask(role, messages, **how))
        return reply

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        replies: list[Reply] = await self._there(lambda: self.ask.all(questions))
        return replies

    async def _there(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return await asyncio.wrap_future(self.portal.start_task_soon(make))


# Not through the sample's store: whatever passes through it is logged, and the score already contains the records.
_RECORDS: WeakKeyDictionary[Any, Sequence[Any]] = WeakKeyDictionary()


def hand_over(state: Any, records: Sequence[Any]) -> None:
    """Leave the records of a sample's trials for its scorers."""
    _RECORDS[state] = records


def handed_over(state: Any) -> Sequence[Any] | None:
    """What the solver left; None if the sample was not just conducted, as when a log is scored again."""
    return _RECORDS.get(state)
