"""The lanes of a run, one per model that it measures or one in which they meet, and their records on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from overton.calls import Reply, Request
from overton.engine import Lane, RateLimiter, Rounds, Seat, ServerPool
from overton.engine.records import RecordWriter
from overton.errors import RejectedError
from overton.files.atomic import cannot_be_written, replacing
from overton.files.texts import write_objects
from overton.models import Model
from overton.runs.answerers import Opened
from overton.runs.experiment import BATCHED_AT_ONCE, Experiment
from overton.runs.folder import (
    DATASET_FORMAT,
    Manifest,
    ModelEntry,
    UnwritableRecords,
    items_of_shard,
    rows_of,
    stored_records,
)
from overton.runs.precision import RoundDecider, design_of
from overton.runs.run import Run
from overton.studies.installed_study import blaming
from overton.studies.multiple_judges import JUDGE
from overton.studies.study import AnyStudy
from overton.studies.tables import RECORDS_FORMAT, RECORDS_KEY


@dataclass(frozen=True)
class ReplayedModel:
    """Stands in for a model whose replies are all in the journal: it has an identity but answers nothing."""

    name: str
    identity: str
    holds_form: bool = False

    async def answer(self, request: Request) -> Reply:
        """Raise: a replay makes no calls."""
        raise RejectedError("replay", f"{self.name} is only replayed here")

    async def close(self) -> None:
        """Nothing to release."""


def lanes_of(run: Run, models: Mapping[str, Sequence[Opened]] | None) -> list[Lane]:
    """One lane per model of the study's first role, or one in which they meet; other roles serve all lanes.

    With several judges, each judge has as many lanes: calls not to the judge are the same in all of them.

    Raises:
        InputError: there are more trials than a run may have.
    """
    experiment, study, manifest = run.experiment, run.study, run.manifest
    seatings = _seat_lanes(study, manifest, models)
    planned = experiment.trials_by_item
    part = items_of_shard(manifest.shard)
    if part is not None:
        planned = Counter({item: count for item, count in planned.items() if item in part})
    wanted = manifest.precision
    design = None
    if wanted is not None:
        design = design_of(experiment, wanted, len(seatings))
    order = None if design is None else design.order
    lanes = [
        Lane(
            bindings=bindings,
            trials=partial(_plan_trials, experiment, part),
            outcomes=RecordWriter(run.path / "records.parts" / str(number), study.record, label, order=order),
            planned=Counter() if design else planned,
            own="" if study.together else bindings[study.first].answerer.identity,
            at_once=partial(_trials_at_once, study, bindings, len(seatings)),
            meets=len(manifest.models.get(study.several, ())) > 1,
        )
        for number, (bindings, label) in enumerate(seatings)
    ]
    for lane in lanes:
        lane.rounds = None if design is None else Rounds(RoundDecider(design), lane.own)
    return lanes


def _plan_trials(experiment: Experiment, part: frozenset[str] | None) -> Iterable[Any]:
    """The trials of a run, or of some of its items."""
    trials = experiment.trials()
    return trials if part is None else (trial for trial in trials if trial.item in part)


def _trials_at_once(study: AnyStudy, bindings: Mapping[str, Seat], lanes: int) -> int:
    """How many trials of a lane run at once: many more if they wait for batches."""
    seats = [seat for name, seat in bindings.items() if name not in study.retrieval]
    return max(BATCHED_AT_ONCE // lanes if seat.batched else seat.pace.most for seat in seats)


_MAX_NAMED_TRIALS = 50


def unwritable_of(names: Sequence[str], lanes: Sequence[Lane]) -> dict[str, UnwritableRecords]:
    """The trials of each lane whose records no table can store; only for lanes with any."""
    return {
        name: UnwritableRecords(
            len(unwritable), [f"{trial}: {why}" for trial, why in islice(unwritable.items(), _MAX_NAMED_TRIALS)]
        )
        for name, lane in zip(names, lanes, strict=True)
        if (unwritable := lane.outcomes.unwritable)
    }


def write_records(run: Run, lanes: Sequence[Lane]) -> None:
    """Write the outcome table, complete items only, replacing an earlier one.

    Raises:
        RunError: it cannot be written.
    """
    import polars as pl

    try:
        tables = pl.concat([lane.outcomes.close(lane.incomplete) for lane in lanes])
        with replacing(run.records_file) as (fresh, _):
            tables.sink_parquet(fresh, metadata={RECORDS_KEY: str(RECORDS_FORMAT)})
    except pl.exceptions.PolarsError as error:
        raise cannot_be_written(run.records_file, error) from error
    for lane in lanes:
        lane.outcomes.discard()
    with suppress(OSError):
        (run.path / "records.parts").rmdir()


def write_dataset(run: Run) -> None:
    """If the study makes items, write them from the run's records, and note it in its manifest.

    Raises:
        OvertonError: no items can be made of the records, or they cannot be written.
    """
    study, made = run.study, run.study.dataset
    if made is None:
        return
    rows = rows_of(run.path, study.record, stored_records(run.path))
    lines = made.made(run.items(), rows, run.manifest.options)
    if lines is not None:
        with blaming(study, "its dataset"):
            write_objects(lines, run.path / made.name, replace=True)
        run.manifest.dataset = DATASET_FORMAT


def _seat_lanes(
    study: AnyStudy, manifest: Manifest, models: Mapping[str, Sequence[Opened]] | None
) -> list[tuple[dict[str, Seat], dict[str, str | bool]]]:
    """For each lane, who answers under which name, and the labels of its records."""
    bound = {
        role: _make_seats(manifest.models.get(role, []), None if models is None else models[role])
        for role in study.role_names
    }
    for role in study.roles:
        for judge_seat in bound[role.name] if role.judges else ():
            judge_seat.judges = True
    first, *others = study.role_names
    shared = {role: bound[role][0] for role in others if bound[role]}
    label: dict[str, str | bool] = {}
    found: list[tuple[dict[str, Seat], dict[str, str | bool]]] = []
    for place, judge in enumerate(manifest.models.get(study.several) or [None]):
        if judge is not None:
            shared = shared | {study.several: bound[study.several][place]}
            label = {JUDGE: judge.name} if len(bound[study.several]) > 1 else {}
        if study.together:
            found.append((shared | {f"{first}/{number}": seat for number, seat in enumerate(bound[first], 1)}, label))
            continue
        found += [
            (shared | {first: seat}, {"model": entry.name, "held": entry.holds_form, **label})
            for seat, entry in zip(bound[first], manifest.models[first], strict=True)
        ]
    return found


def _make_seats(entries_: Sequence[ModelEntry], models: Sequence[Opened] | None) -> list[Seat]:
    """Each model with its settings and rate limiter; one that occurs several times has a single rate limiter."""
    if models is None:
        return [
            Seat(
                ReplayedModel(entry.name, entry.identity, entry.holds_form),
                entry.settings,
                RateLimiter(64),
                entry.price,
            )
            for entry in entries_
        ]
    once: dict[int, Seat] = {}
    for model, entry in zip(models, entries_, strict=True):
        seat = Seat(model.answerer, entry.settings, RateLimiter(model.connections), model.price)
        if isinstance(model, Model):
            seat.batching, seat.batched = model.batching, entry.batched and model.batching is not None
            if model.serving is not None:
                seat.fleet = ServerPool(model.answerer.name, model.serving, model.connections)
        once.setdefault(id(model), seat)
    return [once[id(model)] for model in models]
