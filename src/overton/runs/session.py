"""One session of a run: journaled calls are recalled, the rest are made, and the records are written."""

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
from overton.runs.folder import Manifest, RunFolder, Spent, open_journal, spent_so_far, write_manifest
from overton.runs.lanes import lane_names, lanes_of, unwritable_of, write_dataset, write_records
from overton.runs.machine import reserve_bytes
from overton.runs.precision import stop_states
from overton.runs.progress import CallsEach, Progress, TimeLeft, Watch, calls_each
from overton.runs.temperature_probe import probe_judges, recall_probes
from overton.studies.study import AnyStudy


def missing_trials(folder: RunFolder, experiment: Experiment, manifest: Manifest, *, retry_failed: bool) -> int:
    """How many trials the journal cannot complete. No calls are made: no model, key or network is needed.

    Raises:
        RunMismatch: a call would differ now from the one made then.
    """
    return run_to_end(_count_missing_trials(folder, experiment, manifest, retry_failed))


def run_session(
    folder: RunFolder,
    experiment: Experiment,
    manifest: Manifest,
    models: Mapping[str, Sequence[Model]] | None,
    *,
    retry_failed: bool = False,
    patience: RetryPolicy | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Run to the end, or until it stops; returns the updated manifest.

    Without `models` everything is recalled. Records are written either way, complete items only; so is the dataset of
    a study that makes items. A stop by a limit or Ctrl-C is not an error here: the manifest's status says so.

    Raises:
        OvertonError: what made continuing impossible, such as a refused key; records are still written.
        RunLocked: another process is using the run, or has used it since `manifest` was read.
        JournalError: the disk is full, say. Nothing more is written, not even the records.
    """
    each = _calls_each(experiment) if watch and models is not None else CallsEach(0.0, fixed=True)
    return run_to_end(
        _conduct_session(folder, experiment, manifest, models, retry_failed, patience or RetryPolicy(), watch, each)
    )


def _calls_each(experiment: Experiment) -> CallsEach:
    """The calls of a trial in each lane, to estimate the time left."""
    try:
        return calls_each(experiment)
    except StudyError:  # it may fail on canned replies alone; then only the time left is unknown
        return CallsEach(0.0, fixed=False)


async def _count_missing_trials(
    folder: RunFolder, experiment: Experiment, manifest: Manifest, retry_failed: bool
) -> int:
    with closing(open_journal(folder, manifest, retry_failed=retry_failed)) as journal:
        dispatcher, lanes = (
            Dispatcher(journal, Budget(Limits()), recall_only=True),
            lanes_of(folder, experiment, manifest, None),
        )
        recall_probes(experiment.study, manifest, lanes, journal)
        return await count_missing(lanes, experiment.study.conduct, dispatcher)


async def _conduct_session(  # noqa: PLR0917
    folder: RunFolder,
    experiment: Experiment,
    manifest: Manifest,
    models: Mapping[str, Sequence[Model]] | None,
    retry_failed: bool,
    patience: RetryPolicy,
    watch: Watch | None,
    each: CallsEach,
) -> Manifest:
    """See `run_session`. The run stays locked until all of its files are written."""
    study = experiment.study
    with closing(open_journal(folder, manifest, retry_failed=retry_failed)) as journal:
        _check_unchanged(folder, manifest)
        if models is not None:
            journal.set_aside(reserve_bytes(models))
        manifest.status, manifest.stopped, manifest.reached, manifest.batch_refused = "running", "", "", False
        manifest.digests = None
        manifest.sessions += 1
        write_manifest(folder.path, manifest)
        for model in distinct_answerers(models):
            if model.keep_in is not None:
                model.keep_in(str(folder.path))
        lanes = lanes_of(folder, experiment, manifest, models)
        before = spent_so_far(folder, manifest, journal)
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
            error = await _conduct_lanes(
                lanes, study, manifest, dispatcher, models, watch, TimeLeft(each, sum(lane.width for lane in lanes))
            )
        finally:
            journal.settle(budget.spent)
        journal.finish()
        _note_end(manifest, study, lanes, dispatcher, error)
        if isinstance(error, DiskError):
            with suppress(RunError):  # it may still fit, and then says why the run stopped
                write_manifest(folder.path, manifest)
            raise error
        write_records(folder, lanes)
        write_manifest(folder.path, manifest)
        if error is not None and not isinstance(error, Stopped):
            raise error
        write_dataset(folder, study, manifest)
        if error is None:
            manifest.digests = digests_of(folder, study, manifest)
            write_manifest(folder.path, manifest)
    return manifest


def _check_unchanged(folder: RunFolder, manifest: Manifest) -> None:
    """Refuse to continue from a manifest that another process has replaced since it was read."""
    if folder.manifest().sessions != manifest.sessions:
        raise RunLocked(f"{folder.path} was just changed by another process: repeat the command")


def _note_end(
    manifest: Manifest, study: AnyStudy, lanes: Sequence[Lane], dispatcher: Dispatcher, error: OvertonError | None
) -> None:
    """Update the manifest at the end of a session."""
    names = lane_names(study, manifest)
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
    lanes: Sequence[Lane],
    study: AnyStudy,
    manifest: Manifest,
    dispatcher: Dispatcher,
    models: Mapping[str, Sequence[Model]] | None,
    watch: Watch | None,
    clock: TimeLeft,
) -> OvertonError | None:
    """Conduct all lanes, once the judges' settings are known; returns what stopped them, None at their end."""
    began = monotonic()
    pacers = _rate_limiters(study, lanes)
    fleets = {id(pacer): pacer for pacer in pacers if isinstance(pacer, ServerPool)}.values()

    def progress() -> Progress:
        return _progress(dispatcher, lanes, pacers, monotonic() - began, clock)

    ticker = asyncio.create_task(_report_progress(watch, progress)) if watch else None
    try:
        with few_collections():
            await until_interrupted(
                _ask_all(lanes, study, manifest, dispatcher, fleets, asking=models is not None), dispatcher
            )
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
    lanes: Sequence[Lane],
    study: AnyStudy,
    manifest: Manifest,
    dispatcher: Dispatcher,
    fleets: Collection[ServerPool],
    *,
    asking: bool,
) -> None:
    try:
        async with watching_servers(fleets):
            if asking:
                try:
                    await probe_judges(study, manifest, lanes, dispatcher)
                except OvertonError as error:
                    dispatcher.stop(error)
            await run_lanes(lanes, study.conduct, dispatcher)
    finally:
        _warn_of_refused_servers(fleets)


def _warn_of_refused_servers(fleets: Collection[ServerPool]) -> None:
    """Warn of servers that were left out for good: the user may be able to fix it."""
    for fleet in fleets:
        for server in fleet.refused:
            warnings.warn(f"{fleet.model}: a server was left out: {server}", Notice, stacklevel=2)


async def _report_progress(watch: Watch, progress: Callable[[], Progress]) -> None:
    while True:
        watch(progress())
        await asyncio.sleep(0.2)


def _rate_limiters(study: AnyStudy, lanes: Sequence[Lane]) -> Collection[RateLimiter | ServerPool]:
    """The models' rate limiters, each once."""
    asked = [seat for lane in lanes for role, seat in lane.seats.items() if role not in study.retrieval]
    return {id(seat.limiter): seat.limiter for seat in asked}.values()


def _progress(
    dispatcher: Dispatcher,
    lanes: Sequence[Lane],
    pacers: Collection[RateLimiter | ServerPool],
    seconds: float,
    clock: TimeLeft,
) -> Progress:
    done, total = sum(lane.done for lane in lanes), sum(lane.total for lane in lanes)
    answered, in_flight = sum(pacer.answers for pacer in pacers), sum(pacer.in_flight for pacer in pacers)
    return Progress(
        done=done,
        total=total,
        tally=dispatcher.tally,
        cost=dispatcher.budget.cost,
        seconds=seconds,
        in_flight=in_flight,
        admitted=sum(int(pacer.limit) for pacer in pacers),
        stopping="" if dispatcher.stopped is None else str(dispatcher.stopped),
        answered=answered,
        calls=clock.calls(answered, done, total),
        left=None
        if dispatcher.tally.batches
        else clock.left(answered=answered, in_flight=in_flight, done=done, total=total, seconds=seconds),
        fleets={pool.model: pool.summary() for pool in pacers if isinstance(pool, ServerPool)},
    )
