"""The model pipelines of a run, and their records on disk. There is a pipeline per measured model, or a single one if
models interact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from overton.calls.model import Model
from overton.engine import Lane, RateLimiter, Rounds, Seat, ServerPool
from overton.engine.records import RecordWriter
from overton.files.atomic import cannot_be_written, replacing
from overton.files.texts import write_objects
from overton.runs.answerers import recorded_model
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
from overton.runs.precision import choose_trials, decide_round, design_of
from overton.runs.run import Run
from overton.studies.installed_study import blaming
from overton.studies.multiple_judges import JUDGE
from overton.studies.prompted_models import is_split
from overton.studies.study import AnyStudy
from overton.studies.system_prompts import SYSTEM, name_of
from overton.studies.tables import RECORDS_FORMAT, RECORDS_KEY, newer_columns


def lanes_of(run: Run, models: Mapping[str, Sequence[Model]] | None) -> list[Lane]:
    """Make the pipelines: one per model of the study's first role, or a single one if models interact. Models and
    services of other roles serve all pipelines.

    With several judges, each judge has its own copy of these pipelines. The copies share all calls except calls to
    judges.

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
    design = None if wanted is None else design_of(experiment, wanted, len(seatings))
    order = None if design is None else design.order
    conditions = {SYSTEM: lambda trial: name_of(trial.system_prompt)} if is_split(study, manifest.options) else {}
    lanes = [
        Lane(
            seats=seats,
            trials=partial(_plan_trials, experiment, part),
            outcomes=RecordWriter(
                run.path / "records.parts" / str(number), study.record, label, order=order, conditions=conditions
            ),
            planned=Counter() if design else planned,
            own="" if study.together else seats[study.first].model.answerer.identity,
            at_once=partial(_trials_at_once, study, seats, len(seatings)),
            meets=len(manifest.models.get(study.several, ())) > 1,
        )
        for number, (seats, label) in enumerate(seatings)
    ]
    if design is not None:
        for lane in lanes:
            lane.rounds = Rounds(partial(decide_round, design), partial(choose_trials, design), lane.own)
    return lanes


def _plan_trials(experiment: Experiment, part: frozenset[str] | None) -> Iterable[Any]:
    """The trials of a run, or of some of its items."""
    trials = experiment.trials()
    return trials if part is None else (trial for trial in trials if trial.item in part)


def _trials_at_once(study: AnyStudy, seats: Mapping[str, Seat], lanes: int) -> int:
    """The number of a pipeline's trials that run at once. It is much larger if trials wait for batches."""
    asked = [seat for name, seat in seats.items() if name not in study.retrieval]
    return max(BATCHED_AT_ONCE // lanes if seat.batched else seat.limiter.most for seat in asked)


_MAX_NAMED_TRIALS = 50


def unwritable_of(names: Sequence[str], lanes: Sequence[Lane]) -> dict[str, UnwritableRecords]:
    """The trials of each pipeline whose records cannot be stored in a table. Pipelines without such trials are left
    out."""
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
        if newer := newer_columns(run.study.record):
            used = tables.select(pl.col(newer).count()).collect().row(0)
            tables = tables.drop(name for name, count in zip(newer, used, strict=True) if not count)
        with replacing(run.records_file) as (fresh, _):
            tables.sink_parquet(fresh, metadata={RECORDS_KEY: str(RECORDS_FORMAT)})
    except pl.exceptions.PolarsError as error:
        raise cannot_be_written(run.records_file, error) from error
    for lane in lanes:
        lane.outcomes.discard()
    with suppress(OSError):
        (run.path / "records.parts").rmdir()


def write_dataset(run: Run) -> None:
    """If the study makes items, make them from the run's records, write them, and note them in the manifest.

    Raises:
        OvertonError: the items cannot be made from the records, or cannot be written.
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
    study: AnyStudy, manifest: Manifest, models: Mapping[str, Sequence[Model]] | None
) -> list[tuple[dict[str, Seat], dict[str, str | bool]]]:
    """For each pipeline, its models and services by the name under which they answer, and the values that are the same
    in all its records, such as the model's name."""
    seats = {
        role: _make_seats(manifest.models.get(role, []), None if models is None else models[role])
        for role in study.role_names
    }
    for role in study.roles:
        for seat in seats[role.name]:
            seat.judges = role.judges
    first, *others = study.role_names
    shared = {role: seats[role][0] for role in others if seats[role]}
    label: dict[str, str | bool] = {}
    found: list[tuple[dict[str, Seat], dict[str, str | bool]]] = []
    for place, judge in enumerate(manifest.models.get(study.several) or [None]):
        if judge is not None:
            shared = shared | {study.several: seats[study.several][place]}
            label = {JUDGE: judge.name} if len(seats[study.several]) > 1 else {}
        if study.together:
            found.append((shared | {f"{first}/{number}": seat for number, seat in enumerate(seats[first], 1)}, label))
            continue
        found += [
            (shared | {first: seat}, {"model": entry.name, "held": entry.holds_form, **label})
            for seat, entry in zip(seats[first], manifest.models[first], strict=True)
        ]
    return found


def _make_seats(entries_: Sequence[ModelEntry], models: Sequence[Model] | None) -> list[Seat]:
    """Each model with its settings and rate limiter. A model that occurs several times has only one rate limiter."""
    models = [recorded_model(entry) for entry in entries_] if models is None else models
    once: dict[int, Seat] = {}
    for model, entry in zip(models, entries_, strict=True):
        limiter: RateLimiter | ServerPool = RateLimiter(model.connections)
        if model.serving is not None:
            limiter = ServerPool(model.answerer.name, model.serving, model.connections)
        batched = entry.batched and model.batching is not None
        once.setdefault(id(model), Seat(model, entry.settings, limiter, batched=batched))
    return [once[id(model)] for model in models]
