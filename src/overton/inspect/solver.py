"""The solver of a sample. It conducts the sample's trials in parallel, each in its own span of the transcript, and
passes the records to the scorer."""

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
    """The results of a sample's trials so far: records by trial, calls in the order in which their outcomes arrived,
    and the first trial's conversation."""

    records: dict[str, list[Any]] = field(default_factory=dict)
    calls: list[CallData] = field(default_factory=list)
    shown: Conversation | None = None


async def conduct_trials(
    study: AnyStudy, trials: Sequence[Trial], context: EvalContext, results: SampleResults, at_once: int
) -> None:
    """Conduct the trials, at most `at_once` in parallel. If a trial fails, no further trials begin, but those in
    progress finish.

    Raises:
        Exception: the most serious error of all trials.
    """
    import anyio

    before = InspectAsk(context, "", study.first, results.calls.append)
    await before.probe()
    await before.try_judge()
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


# Records are not put into the sample's store, because it is logged and the score already contains the records.
_RECORDS_BY_STATE: WeakKeyDictionary[Any, Sequence[Any]] = WeakKeyDictionary()


def leave_records(state: Any, records: Sequence[Any]) -> None:
    """Leave the records of a sample's trials for its scorers."""
    _RECORDS_BY_STATE[state] = records


def take_records(state: Any) -> Sequence[Any] | None:
    """Take the records that the solver left. Return None if the solver did not run, as when a log is scored again."""
    return _RECORDS_BY_STATE.get(state)
