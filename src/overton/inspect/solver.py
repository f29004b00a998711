"""A sample's trials, conducted in parallel, each in a span of the transcript; their records go to the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from overton.calls import Trial
from overton.engine.ask import error_rank
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
    study: AnyStudy, trials: Sequence[Trial], context: EvalContext, results: SampleResults, at_once: int
) -> None:
    """Conduct the trials, at most `at_once` in parallel. If one fails, those in progress still finish.

    Raises:
        Exception: the gravest error of a trial.
    """
    import anyio

    await InspectAsk(context, "", study.first, results.calls.append).probe()
    turns = iter(trials)
    errors: list[Exception] = []

    async def work() -> None:
        for trial in turns:
            if errors:
                return
            try:
                await _conduct_trial(study, trial, context, results, shown=trial is trials[0])
            except Exception as error:  # noqa: BLE001 - raised below, once the others have finished
                errors.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(trials))):
            group.start_soon(work)
    if errors:
        raise min(errors, key=error_rank)


async def _conduct_trial(
    study: AnyStudy, trial: Trial, context: EvalContext, results: SampleResults, *, shown: bool
) -> None:
    from inspect_ai.util import span

    ask = InspectAsk(context, trial.name, study.first, results.calls.append)
    async with span(span_name(trial), type="trial"):
        try:
            results.records[trial.name] = await study.conduct(trial, ask)
        finally:
            if shown:
                results.shown = ask.last


# Not through the sample's store: whatever passes through it is logged, and the score already contains the records.
_RECORDS_BY_STATE: WeakKeyDictionary[Any, Sequence[Any]] = WeakKeyDictionary()


def leave_records(state: Any, records: Sequence[Any]) -> None:
    """Leave the records of a sample's trials for its scorers."""
    _RECORDS_BY_STATE[state] = records


def take_records(state: Any) -> Sequence[Any] | None:
    """The records that the solver left; None if the sample was not just conducted, as when a log is scored again."""
    return _RECORDS_BY_STATE.get(state)
