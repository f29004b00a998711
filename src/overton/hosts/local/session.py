"""One session of a run: what the journal holds is recalled, the rest is asked, and the records are written."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from time import monotonic

import msgspec

from overton.calls import Price, Reply, Request
from overton.engine import (
    Bound,
    Budget,
    Desk,
    Journal,
    Lane,
    Limits,
    Outcomes,
    Pacer,
    Patience,
    Tally,
    conduct_lanes,
    entries,
    rehearse,
)
from overton.errors import OvertonError, RejectedError, Stopped
from overton.hosts.local.folder import RunFolder
from overton.hosts.local.interrupts import until_interrupted
from overton.hosts.local.loop import few_collections, run_to_end
from overton.hosts.local.manifest import Manifest, ModelEntry, Spent, write_manifest
from overton.hosts.local.opening import Opened
from overton.retrieval import Source
from overton.studies.study import Study

__all__ = ["Progress", "Watch", "hold_session", "needs_asking"]


@dataclass(frozen=True)
class Progress:
    """How far a run is, for whoever watches. `stopping` says why it sends nothing more, '' while it goes on."""

    done: int
    total: int
    tally: Tally
    cost: float
    seconds: float
    in_flight: int
    admitted: int
    stopping: str = ""


Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Recorded:
    """Stands for a model whose replies are all in the journal: it has an identity and answers nothing."""

    name: str
    identity: str
    holds_form: bool = False

    async def answer(self, request: Request) -> Reply:
        """Raise: nothing is asked in a replay."""
        raise RejectedError("replay", f"{self.name} is only replayed here")

    async def close(self) -> None:
        """Nothing to give back."""


def needs_asking(folder: RunFolder, study: Study, manifest: Manifest, *, retry_failed: bool) -> int:
    """How many trials the journal cannot complete. Nothing is asked: no model, key or network is needed.

    Raises:
        RunMismatch: something else would be asked now than was asked then.
    """
    return run_to_end(_rehearse(folder, study, manifest, retry_failed))


def hold_session(
    folder: RunFolder,
    study: Study,
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


async def _rehearse(folder: RunFolder, study: Study, manifest: Manifest, retry_failed: bool) -> int:
    journal = Journal(folder.journal, retry_failed=retry_failed)
    try:
        desk = Desk(journal, Budget(Limits()), recall_only=True)
        return await rehearse(_lanes(folder, study, manifest, None), study.conduct, desk)
    finally:
        journal.close()


async def _session(  # noqa: PLR0917
    folder: RunFolder,
    study: Study,
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
        lanes = _lanes(folder, study, manifest, models)
        before = _spent(folder, manifest)
        desk = Desk(journal, Budget(manifest.limits, cost=before.cost, calls=before.requests), patience)
        error = await _conduct(lanes, study, desk, models, watch)
    manifest.missing = {
        lane_name: lane.incomplete for lane_name, lane in zip(_names(study, manifest), lanes, strict=True)
    }
    manifest.trials = sum(lane.planned.total() for lane in lanes)
    manifest.spent = Spent(desk.budget.calls, desk.budget.cost, journal.failed, before.outcomes + journal.written)
    manifest.status = "finished" if error is None else "stopped"
    manifest.stopped = "" if error is None else str(error)
    _write_records(folder, lanes)
    write_manifest(folder.path, manifest)
    if error is not None and not isinstance(error, Stopped):
        raise error
    return manifest


async def _conduct(
    lanes: Sequence[Lane],
    study: Study,
    desk: Desk,
    models: Mapping[str, Sequence[Opened]] | None,
    watch: Watch | None,
) -> OvertonError | None:
    """Conduct all lanes; gives what stopped them, None at their end."""
    began = monotonic()
    ticker = asyncio.create_task(_tick(watch, desk, lanes, began)) if watch else None
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
            watch(_progress(desk, lanes, monotonic() - began))
    return None


def _lanes(
    folder: RunFolder, study: Study, manifest: Manifest, models: Mapping[str, Sequence[Opened]] | None
) -> list[Lane]:
    """One lane for each model of the study's first role, or one in which they meet; other roles serve all lanes."""
    items = folder.items(study.item)
    options = msgspec.convert(manifest.options, study.options)
    planned = Counter(trial.item for trial in study.trials(items, options, manifest.seed))
    return [
        Lane(
            bindings=bindings,
            trials=lambda: study.trials(items, options, manifest.seed),
            outcomes=Outcomes(folder.path / "records.parts" / str(number), study.record, label),
            planned=planned,
            own="" if study.together else bindings[study.roles[0]].answerer.identity,
            at_once=max(bound.pacer.most for name, bound in bindings.items() if name not in study.retrieval),
        )
        for number, (bindings, label) in enumerate(_seatings(study, manifest, models))
    ]


def _seatings(
    study: Study, manifest: Manifest, models: Mapping[str, Sequence[Opened]] | None
) -> list[tuple[dict[str, Bound], dict[str, str | bool]]]:
    """For each lane who answers under which name, and what its records are labelled with."""
    bound = {role: _bound(manifest.models[role], None if models is None else models[role]) for role in study.roles}
    first, *others = study.roles
    shared = {role: bound[role][0] for role in others if bound[role]}
    if study.together:
        return [(shared | {f"{first}/{number}": one for number, one in enumerate(bound[first], 1)}, {})]
    return [
        (shared | {first: one}, {"model": entry.spec, "held": entry.holds_form})
        for one, entry in zip(bound[first], manifest.models[first], strict=True)
    ]


def _bound(entries_: Sequence[ModelEntry], models: Sequence[Opened] | None) -> list[Bound]:
    """Each model with how it is asked and paced; one that stands in several places is paced once."""
    if models is None:
        return [
            Bound(Recorded(entry.spec, entry.identity, entry.holds_form), entry.settings, Pacer(64), entry.price)
            for entry in entries_
        ]
    once: dict[int, Bound] = {}
    for model, entry in zip(models, entries_, strict=True):
        once.setdefault(id(model), Bound(model.answerer, entry.settings, Pacer(model.connections), model.price))
    return [once[id(model)] for model in models]


def _names(study: Study, manifest: Manifest) -> list[str]:
    return [study.name] if study.together else [entry.spec for entry in manifest.models[study.roles[0]]]


def _all(models: Mapping[str, Sequence[Opened]] | None) -> list[Opened]:
    return list({id(model): model for side in (models or {}).values() for model in side}.values())


def _sources(models: Mapping[str, Sequence[Opened]] | None) -> list[Source]:
    return [one for one in _all(models) if isinstance(one, Source)]


def _spent(folder: RunFolder, manifest: Manifest) -> Spent:
    """What earlier sessions used: the manifest's word, and what a killed session left in the journal since."""
    prices = {entry.identity: entry.price for side in manifest.models.values() for entry in side}
    known = manifest.spent
    requests, cost, outcomes = known.requests, known.cost, known.outcomes
    for entry in islice(entries(folder.journal), known.outcomes, None):
        outcomes += 1
        if isinstance(entry.outcome, Reply):
            requests += 1
            cost += _cost(prices.get(entry.place.answerer), entry.outcome)
        else:
            requests += entry.outcome.attempts
    return Spent(requests, cost, known.failed, outcomes)


def _cost(price: Price | None, reply: Reply) -> float:
    return (price.cost(reply.usage) or 0.0) if price else 0.0


def _write_records(folder: RunFolder, lanes: Sequence[Lane]) -> None:
    import polars as pl

    fresh = folder.path / ".records.new"
    pl.concat([lane.outcomes.close(lane.incomplete) for lane in lanes]).sink_parquet(fresh)
    fresh.replace(folder.records_file)
    for lane in lanes:
        lane.outcomes.discard()
    with suppress(OSError):
        (folder.path / "records.parts").rmdir()


async def _tick(watch: Watch, desk: Desk, lanes: Sequence[Lane], began: float) -> None:
    while True:
        watch(_progress(desk, lanes, monotonic() - began))
        await asyncio.sleep(0.2)


def _progress(desk: Desk, lanes: Sequence[Lane], seconds: float) -> Progress:
    pacers = {id(bound.pacer): bound.pacer for lane in lanes for bound in lane.bindings.values()}.values()
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
