"""One session of a run: what the journal holds is recalled, the rest is asked, and the records are written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import monotonic

from overton.engine import (
    Budget,
    Desk,
    Journal,
    Lane,
    Limits,
    Pacer,
    Patience,
    Tally,
    conduct_lanes,
    rehearse,
)
from overton.errors import OvertonError, Stopped
from overton.hosts.local.folder import Manifest, RunFolder, Spent, spent_so_far, write_manifest
from overton.hosts.local.lanes import lane_names, lanes_of, unmade_of, write_records
from overton.hosts.local.loop import few_collections, run_to_end, until_interrupted
from overton.hosts.local.opening import Opened
from overton.retrieval import Source
from overton.studies.study import AnyStudy

__all__ = ["Progress", "Watch", "hold_session", "needs_asking"]


@dataclass(frozen=True)
class Progress:
    """How far a run is, for whoever watches.

    `in_flight` are the models' requests under way, `admitted` how many they bear now; searches and pages are neither.
    `stopping` says why it sends nothing more, '' while it goes on.
    """

    done: int
    total: int
    tally: Tally
    cost: float
    seconds: float
    in_flight: int
    admitted: int
    stopping: str = ""


Watch = Callable[[Progress], None]


def needs_asking(folder: RunFolder, study: AnyStudy, manifest: Manifest, *, retry_failed: bool) -> int:
    """How many trials the journal cannot complete. Nothing is asked: no model, key or network is needed.

    Raises:
        RunMismatch: something else would be asked now than was asked then.
    """
    return run_to_end(_rehearse(folder, study, manifest, retry_failed))


def hold_session(
    folder: RunFolder,
    study: AnyStudy,
    manifest: Manifest,
    models: Mapping[str, Sequence[Opened]] | None,
    *,
    retry_failed: bool = False,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Manifest:
    """Bring a run to its end, or to where it stops; gives its manifest as it then is.

    Without `models` everything is recalled. Records are written either way, whole items only. A stop by a limit or
    Ctrl-C is not an error here: the manifest's status says so.

    Raises:
        OvertonError: what made going on impossible, such as a refused key; records are written all the same.
        JournalError: the disk is full, say. Nothing more is written, the records neither.
    """
    return run_to_end(_session(folder, study, manifest, models, retry_failed, patience or Patience(), watch))


async def _rehearse(folder: RunFolder, study: AnyStudy, manifest: Manifest, retry_failed: bool) -> int:
    journal = Journal(folder.journal, retry_failed=retry_failed)
    try:
        desk = Desk(journal, Budget(Limits()), recall_only=True)
        return await rehearse(lanes_of(folder, study, manifest, None), study.conduct, desk)
    finally:
        journal.close()


async def _session(  # noqa: PLR0917
    folder: RunFolder,
    study: AnyStudy,
    manifest: Manifest,
    models: Mapping[str, Sequence[Opened]] | None,
    retry_failed: bool,
    patience: Patience,
    watch: Watch | None,
) -> Manifest:
    manifest.status, manifest.stopped, manifest.sessions = "running", "", manifest.sessions + 1
    with closing(Journal(folder.journal, retry_failed=retry_failed)) as journal:
        write_manifest(folder.path, manifest)
        for source in _sources(models):
            source.keep_in(folder.path)
        lanes = lanes_of(folder, study, manifest, models)
        before = spent_so_far(folder, manifest)
        desk = Desk(journal, Budget(manifest.limits, cost=before.cost, calls=before.requests), patience)
        error = await _conduct(lanes, study, desk, models, watch)
    manifest.missing = {
        lane_name: lane.incomplete for lane_name, lane in zip(lane_names(study, manifest), lanes, strict=True)
    }
    manifest.unmade = unmade_of(lane_names(study, manifest), lanes)
    manifest.trials = sum(lane.planned.total() for lane in lanes)
    manifest.spent = Spent(desk.budget.calls, desk.budget.cost, journal.failed, before.outcomes + journal.written)
    manifest.status = "finished" if error is None else "stopped"
    manifest.stopped = "" if error is None else str(error)
    write_records(folder, lanes)
    write_manifest(folder.path, manifest)
    if error is not None and not isinstance(error, Stopped):
        raise error
    return manifest


async def _conduct(
    lanes: Sequence[Lane],
    study: AnyStudy,
    desk: Desk,
    models: Mapping[str, Sequence[Opened]] | None,
    watch: Watch | None,
) -> OvertonError | None:
    """Conduct all lanes; gives what stopped them, None at their end."""
    began = monotonic()

    def progress() -> Progress:
        return _progress(desk, lanes, _pacers(study, lanes), monotonic() - began)

    ticker = asyncio.create_task(_tick(watch, progress)) if watch else None
    try:
        with few_collections():
            await until_interrupted(conduct_lanes(lanes, study.conduct, desk), desk)
    except OvertonError as error:
        return error
    finally:
        if ticker is not None:
            ticker.cancel()
        for model in _all(models):
            await model.answerer.close()
        if watch:
            watch(progress())
    return None


def _all(models: Mapping[str, Sequence[Opened]] | None) -> list[Opened]:
    return list({id(model): model for side in (models or {}).values() for model in side}.values())


def _sources(models: Mapping[str, Sequence[Opened]] | None) -> list[Source]:
    return [one for one in _all(models) if isinstance(one, Source)]


async def _tick(watch: Watch, progress: Callable[[], Progress]) -> None:
    while True:
        watch(progress())
        await asyncio.sleep(0.2)


def _pacers(study: AnyStudy, lanes: Sequence[Lane]) -> Collection[Pacer]:
    """What paces the models, each once."""
    bound = [one for lane in lanes for role, one in lane.bindings.items() if role not in study.retrieval]
    return {id(one.pacer): one.pacer for one in bound}.values()


def _progress(desk: Desk, lanes: Sequence[Lane], pacers: Collection[Pacer], seconds: float) -> Progress:
    return Progress(
        done=sum(lane.outcomes.done.total() for lane in lanes),
        total=sum(lane.planned.total() for lane in lanes),
        tally=desk.tally,
        cost=desk.budget.cost,
        seconds=seconds,
        in_flight=sum(pacer.in_flight for pacer in pacers),
        admitted=sum(int(pacer.limit) for pacer in pacers),
        stopping="" if desk.stopped is None else str(desk.stopped),
    )
