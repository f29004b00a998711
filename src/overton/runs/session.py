"""A session of a run. Journaled calls are recalled, the remaining calls are made, and the records are written."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from time import monotonic

from overton.calls.model import Model
from overton.engine import (
    Budget,
    Dispatcher,
    Lane,
    Limits,
    RateLimiter,
    RetryPolicy,
    ServerPool,
    count_missing,
    run_lanes,
    watching_servers,
)
from overton.engine.batches import Batches
from overton.errors import (
    BatchRefused,
    DiskError,
    LimitReached,
    Notice,
    OvertonError,
    RunError,
    RunLocked,
    Stopped,
    StudyError,
)
from overton.runs.answerers import distinct_answerers
from overton.runs.digests import digests_of
from overton.runs.event_loop import few_collections, run_to_end, until_interrupted
from overton.runs.experiment import Experiment
from overton.runs.first_replies import try_judges, watch_first_replies
from overton.runs.folder import Spent, read_manifest, write_manifest
from overton.runs.lanes import lanes_of, unwritable_of, write_dataset, write_records
from overton.runs.machine import reserve_bytes
from overton.runs.precision import stop_states
from overton.runs.progress import CallsEach, Progress, TimeLeft, Watch, calls_each
from overton.runs.run import Run, open_journal, spent_so_far
from overton.runs.temperature_probe import probe_judges, recall_probes
from overton.studies.study import AnyStudy


def missing_trials(run: Run, *, retry_failed: bool = False) -> int:
    """Count the trials that the journal cannot complete. No calls are made, so no model, key or network is needed.

    Raises:
        RunMismatch: a call would now differ from the journaled call.
    """
    return run_to_end(_count_missing_trials(run, retry_failed))


def run_session(
    run: Run,
    models: Mapping[str, Sequence[Model]] | None,
    *,
    retry_failed: bool = False,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> None:
    """Run to the end, or until the run stops, and update the run's manifest.

    Without `models`, all calls are recalled from the journal. The records of complete items are always written. If the
    study makes items, the dataset is written, too. A stop by a limit or Ctrl-C raises no error. It is noted in the
    manifest's status.

    Raises:
        OvertonError: the run cannot continue, for example because a key was refused. Records are still written.
        RunLocked: another process is using the run, or has used it since its manifest was read.
        JournalError: the journal cannot be written, for example because the disk is full. Nothing more is written, not
            even the records.
    """
    each = _calls_each(run.experiment) if watch and models is not None else CallsEach(0.0, fixed=True)
    run_to_end(_conduct_session(run, models, retry_failed, patience or RetryPolicy(), watch, each))


def _calls_each(experiment: Experiment) -> CallsEach:
    """The number of calls of a trial, to estimate the time left."""
    try:
        return calls_each(experiment)
    except StudyError:  # the study may fail on canned replies only; then just the time left is unknown
        return CallsEach(0.0, fixed=False)


async def _count_missing_trials(run: Run, retry_failed: bool) -> int:
    with closing(open_journal(run, retry_failed=retry_failed)) as journal:
        dispatcher, lanes = Dispatcher(journal, Budget(Limits()), recall_only=True), lanes_of(run, None)
        recall_probes(run.study, run.manifest, lanes, journal)
        return await count_missing(lanes, run.study.conduct, dispatcher)


async def _conduct_session(  # noqa: PLR0917
    run: Run,
    models: Mapping[str, Sequence[Model]] | None,
    retry_failed: bool,
    patience: RetryPolicy,
    watch: Watch | None,
    each: CallsEach,
) -> None:
    """Conduct a session; see `run_session`. The run stays locked until all of its files are written."""
    study, manifest = run.study, run.manifest
    with closing(open_journal(run, retry_failed=retry_failed)) as journal:
        _check_only_user(run)
        if models is not None:
            journal.set_aside(reserve_bytes(models))
        manifest.status, manifest.stopped, manifest.reached, manifest.batch_refused = "running", "", "", False
        manifest.digests = None
        manifest.sessions += 1
        run.held_session = True
        write_manifest(run.path, run.manifest)
        for model in distinct_answerers(models):
            if model.keep_in is not None:
                model.keep_in(str(run.path))
        lanes = lanes_of(run, models)
        before = spent_so_far(run, journal)
        budget = Budget(manifest.limits, cost=before.cost, calls=before.requests, ledger=journal)
        dispatcher = Dispatcher(journal, budget, patience)
        dispatcher.resume_batches(
            Batches(dispatcher),
            () if models is None else [seat for lane in lanes for seat in lane.seats.values()],
            retry_failed=retry_failed,
        )
        try:
            if models is None:
                recall_probes(study, manifest, lanes, journal)
            else:
                watch_first_replies(run, lanes, dispatcher)
            error = await _conduct_lanes(
                run, lanes, dispatcher, models, watch, TimeLeft(each, sum(lane.width for lane in lanes))
            )
        finally:
            journal.settle(budget.spent)
        journal.finish()
        _note_end(run, lanes, dispatcher, error)
        _write_files(run, lanes, error)


def _write_files(run: Run, lanes: Sequence[Lane], error: OvertonError | None) -> None:
    """Write all files of a session into the run's folder, the manifest last. If the process is killed before that, the
    run counts as unfinished, and its journal can complete it.

    Raises:
        OvertonError: the session's `error`, unless it is a plain stop. Also if a file cannot be written.
    """
    if isinstance(error, DiskError):
        with suppress(RunError):  # if the manifest still fits on the disk, it says why the run stopped
            write_manifest(run.path, run.manifest)
        raise error
    write_records(run, lanes)
    try:
        if error is None or isinstance(error, Stopped):
            write_dataset(run)
        if error is None:
            run.manifest.digests = digests_of(run)
    finally:
        write_manifest(run.path, run.manifest)
    if error is not None and not isinstance(error, Stopped):
        raise error


def _check_only_user(run: Run) -> None:
    """Refuse to continue from a manifest that another process has replaced since it was read."""
    if read_manifest(run.path).sessions != run.manifest.sessions:
        raise RunLocked(f"{run.path} was just changed by another process: repeat the command")


def _note_end(run: Run, lanes: Sequence[Lane], dispatcher: Dispatcher, error: OvertonError | None) -> None:
    """Update the manifest at the end of a session."""
    manifest, names = run.manifest, run.lane_names
    manifest.missing = {name: lane.incomplete for name, lane in zip(names, lanes, strict=True)}
    manifest.unmade = unwritable_of(names, lanes)
    manifest.trials = sum(lane.planned.total() for lane in lanes)
    manifest.precise = stop_states(names, lanes)
    manifest.spent = Spent(*dispatcher.budget.spent, dispatcher.journal.failed, *dispatcher.journal.mark)
    manifest.notes |= dispatcher.tally.notes
    manifest.out = 0 if dispatcher.batches is None else dispatcher.batches.out
    manifest.status = "finished" if error is None else "stopped"
    manifest.stopped = "" if error is None else str(error)
    manifest.reached = error.limit if isinstance(error, LimitReached) else ""
    manifest.batch_refused = isinstance(error, BatchRefused)


async def _conduct_lanes(  # noqa: PLR0917
    run: Run,
    lanes: Sequence[Lane],
    dispatcher: Dispatcher,
    models: Mapping[str, Sequence[Model]] | None,
    watch: Watch | None,
    clock: TimeLeft,
) -> OvertonError | None:
    """Conduct all pipelines, once the judges' settings are known. Return the error that stopped the pipelines, None if
    they reached their end."""
    began = monotonic()
    limiters = _rate_limiters(run.study, lanes)
    fleets = {id(limiter): limiter for limiter in limiters if isinstance(limiter, ServerPool)}.values()

    def progress() -> Progress:
        return _progress(dispatcher, lanes, limiters, monotonic() - began, clock)

    ticker = asyncio.create_task(_report_progress(watch, progress)) if watch else None
    try:
        with few_collections():
            await until_interrupted(_ask_all(run, lanes, dispatcher, fleets, asking=models is not None), dispatcher)
    except OvertonError as error:
        return error
    finally:
        if ticker is not None:
            ticker.cancel()
        for model in distinct_answerers(models):
            await model.answerer.close()
        if watch:
            watch(progress())
    return None


async def _ask_all(
    run: Run, lanes: Sequence[Lane], dispatcher: Dispatcher, fleets: Collection[ServerPool], *, asking: bool
) -> None:
    try:
        async with watching_servers(fleets):
            if asking:
                try:
                    await probe_judges(run.study, run.manifest, lanes, dispatcher)
                    await try_judges(run, lanes, dispatcher)
                except OvertonError as error:
                    dispatcher.stop(error)
            await run_lanes(lanes, run.study.conduct, dispatcher)
    finally:
        _warn_of_refused_servers(fleets)


def _warn_of_refused_servers(fleets: Collection[ServerPool]) -> None:
    """Warn of servers that were left out permanently, because the user may be able to repair them."""
    for fleet in fleets:
        for server in fleet.refused:
            warnings.warn(f"{fleet.model}: a server was left out: {server}", Notice, stacklevel=2)


async def _report_progress(watch: Watch, progress: Callable[[], Progress]) -> None:
    while True:
        watch(progress())
        await asyncio.sleep(0.2)


def _rate_limiters(study: AnyStudy, lanes: Sequence[Lane]) -> Collection[RateLimiter | ServerPool]:
    """The models' rate limiters, without repetition."""
    asked = [seat for lane in lanes for role, seat in lane.seats.items() if role not in study.retrieval]
    return {id(seat.limiter): seat.limiter for seat in asked}.values()


def _progress(
    dispatcher: Dispatcher,
    lanes: Sequence[Lane],
    limiters: Collection[RateLimiter | ServerPool],
    seconds: float,
    clock: TimeLeft,
) -> Progress:
    done, total = sum(lane.done for lane in lanes), sum(lane.total for lane in lanes)
    answered, in_flight = sum(limiter.answers for limiter in limiters), sum(limiter.in_flight for limiter in limiters)
    return Progress(
        done=done,
        total=total,
        tally=dispatcher.tally,
        cost=dispatcher.budget.cost,
        seconds=seconds,
        in_flight=in_flight,
        admitted=sum(int(limiter.limit) for limiter in limiters),
        stopping="" if dispatcher.stopped is None else str(dispatcher.stopped),
        answered=answered,
        calls=clock.calls(answered, done, total),
        exact=clock.each.fixed,
        left=None
        if dispatcher.tally.batches
        else clock.left(answered=answered, in_flight=in_flight, done=done, total=total, seconds=seconds),
        fleets={pool.model: pool.summary() for pool in limiters if isinstance(pool, ServerPool)},
    )
