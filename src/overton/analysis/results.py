"""Combining the records of runs that are measured together. Models of different runs stay separate."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Notice, Problem, UnreadableRun
from overton.runs.answerers import public_spec
from overton.runs.folder import ModelEntry
from overton.runs.labels import read_labels
from overton.runs.run import Run, items_of
from overton.studies.arm_weights import with_weights
from overton.studies.measurement import UNMEASURED, Measuring
from overton.studies.multiple_judges import judge_of, judges_of
from overton.studies.null_conditions import split_nulls
from overton.studies.prompted_models import is_split, models_under, rename_models, split_models
from overton.studies.registry import study_named
from overton.studies.results import JudgeOnControls, MeasuredModel, Results, RunFacts, StoredAgreement
from overton.studies.study import AnyStudy
from overton.untrusted import converted, decode_json, read_file

if TYPE_CHECKING:
    import polars as pl


TRIED = "controls.json"
"""The file in a run folder with the results of its judge on texts whose label is known."""
AGREEMENT = "agreement.json"
"""The file in a run folder with the agreement of its judge with people."""
_MOST_BYTES = 50_000_000
_MOST_ROWS = 10_000_000
_decode_controls = msgspec.json.Decoder(list[JudgeOnControls]).decode
_decode_agreements = msgspec.json.Decoder(list[dict[str, Any]]).decode


def measuring_of(study: AnyStudy) -> Measuring[Any, Any]:
    """The measures that a study declares. If a study questions models but declares no measures, the result is a
    placeholder without measures.

    Raises:
        InputError: the study makes items, and has nothing to measure.
    """
    if study.measuring is None and study.kind == "asks":
        return UNMEASURED
    if study.measuring is None:
        raise InputError([Problem("study", study.name, "makes items, so it has nothing to measure")])
    return study.measuring


def results_of(runs: Sequence[Run]) -> Results:
    """The results of runs of one study.

    If several runs use the same model name, the run's name follows in brackets: 'NAME [RUN]'.

    Raises:
        InputError: the study has nothing to measure, an item id stands for different items in the runs, or the runs'
            records do not fit together.
        RunError: a run has no records.
    """
    study, labels = study_named(runs[0].manifest.study), _run_labels(runs)
    whole = [_read_records(run) for run in runs]
    judges = [judges_of(table) if study.several else [] for table in whole]
    led = [judge_of(table, own[0]) if own else table for table, own in zip(whole, judges, strict=True)]
    first = _combine_runs(study, [*zip(runs, led, labels, [own[0] if own else "" for own in judges], strict=True)])
    others = {
        judge: _combine_runs(
            study,
            [
                (run, judge_of(table, judge), label, judge)
                for run, table, label, own in zip(runs, whole, labels, judges, strict=True)
                if judge in own[1:]
            ],
        )
        for judge in dict.fromkeys(name for own in judges for name in own[1:])
    }
    return replace(first, others=others)


def _read_records(run: Run) -> pl.DataFrame:
    """A run's records, with weights if it asked some items more often than others.

    Raises:
        RunError: it has no records.
    """
    study, manifest = run.study, run.manifest
    if run.changed_records:
        warnings.warn(run.changed_records, Notice, stacklevel=2)
    if manifest.precision is None or study.blocks is None or not study.blocks.weighted:
        return run.records()
    trials = run.experiment.trials()
    return with_weights(run.records(), study.blocks, trials, together=study.together)


_JudgedRecords = tuple[Run, "pl.DataFrame", str, str]
"""A run, its records by one judge, the run's name, and the judge's name ('' if the run has one judge)."""


def _combine_runs(study: AnyStudy, parts: Sequence[_JudgedRecords]) -> Results:
    """Combine runs into results. Each run has the records by one judge."""
    measuring = measuring_of(study)
    runs, labels = [part[0] for part in parts], [part[2] for part in parts]
    whole = [_by_system_prompt(run, table, measuring) for run, table, _, _ in parts]
    shown = _names_shown([_model_names(table, measuring) for table in whole], labels)
    parted = [split_nulls(table, study.nulls) for table in whole]
    return Results(
        records=_concatenate([table for table, _ in parted], shown, labels, study),
        items=items_of(runs),
        models=[
            replace(model, name=names.get(model.name, model.name), run=label)
            for run, names, label in zip(runs, shown, labels, strict=True)
            for model in {model.name: model for model in _measured_models(run, run.entries)}.values()
        ],
        runs=[_run_facts(run, label, judge) for run, _, label, judge in parts],
        nulls=_combine_nulls([nulls for _, nulls in parted], shown, labels, study),
    )


def _by_system_prompt(run: Run, records: pl.DataFrame, measuring: Measuring[Any, Any]) -> pl.DataFrame:
    """A run's records, with a separate model name for each model under a system prompt."""
    return split_models(records, measuring) if is_split(run.study, run.manifest.options) else records


def _measured_models(run: Run, entries: Sequence[ModelEntry]) -> list[MeasuredModel]:
    """The models that a run measures, each under each of its system prompts."""
    models = list(map(_measured_model, entries))
    options = run.manifest.options
    return models_under(models, options) if is_split(run.study, options) else models


def _combine_nulls(
    parted: Sequence[Mapping[str, pl.DataFrame]],
    shown: Sequence[Mapping[str, str]],
    labels: Sequence[str],
    study: AnyStudy,
) -> dict[str, pl.DataFrame]:
    """The records of each null condition that some run asked, concatenated."""
    found = {}
    for null in study.nulls:
        asked = [place for place, run in enumerate(parted) if null.name in run]
        if asked:
            tables = [parted[place][null.name] for place in asked]
            named, own = [shown[place] for place in asked], [labels[place] for place in asked]
            found[null.name] = _concatenate(tables, named, own, study)
    return found


def _run_facts(run: Run, label: str, judge: str = "") -> RunFacts:
    """The facts of a run. With several judges, the facts are as if only `judge` had judged the run."""
    from overton.judging.joined_tasks import join_tasks

    roles = {role: tuple(map(_measured_model, entries)) for role, entries in run.manifest.models.items()}
    roles[run.study.first] = tuple(_measured_models(run, run.manifest.models[run.study.first]))
    if judge:
        roles[run.study.several] = tuple(answerer for answerer in roles[run.study.several] if answerer.name == judge)
    manifest = run.manifest
    people = join_tasks(read_labels(run.path))
    return RunFacts(label, manifest.options, roles, agreements_of(run), people, manifest.seed, controls_kept(run.path))


def controls_kept(run: Path) -> list[JudgeOnControls]:
    """The results of a run's judge on texts whose label is known; empty if the judge was not tested.

    Raises:
        RunError: the file is damaged.
    """
    path = run / TRIED

    def error(reason: str) -> UnreadableRun:
        return UnreadableRun(f"{path} cannot be read: {reason}; delete it and test the judge again")

    decode = partial(decode_json, decode=_decode_controls)
    found: list[JudgeOnControls] = read_file(path, _MOST_BYTES, decode, error, missing=[])
    if any(not 0 <= result.right <= result.controls <= _MOST_ROWS or not result.controls for result in found):
        raise UnreadableRun(f"{path} has impossible counts; delete it and test the judge again")
    return found


def agreements_of(run: Run) -> list[StoredAgreement]:
    """The agreements that Overton 0.2.0 stored; empty if it stored none.

    Raises:
        RunError: the file is damaged.
    """
    path = run.path / AGREEMENT

    def decode(data: bytes) -> list[StoredAgreement]:
        return [
            converted(_restore_nan(agreement), StoredAgreement) for agreement in decode_json(data, _decode_agreements)
        ]

    def error(reason: str) -> UnreadableRun:
        return UnreadableRun(f"{path} cannot be read: {reason}; delete it and read the sheet again")

    return read_file(path, _MOST_BYTES, decode, error, missing=[])


_NULLABLE_FIELDS = frozenset(("value", "low", "high"))
"""Fields of an estimate that JSON cannot represent if they are NaN."""


def _restore_nan(value: Any) -> Any:
    """Restore NaN in estimates, because JSON has null for NaN."""
    if isinstance(value, dict):
        number = _NULLABLE_FIELDS if value.keys() >= _NULLABLE_FIELDS else frozenset()
        return {key: nan if inner is None and key in number else _restore_nan(inner) for key, inner in value.items()}
    return value


def _measured_model(entry: ModelEntry) -> MeasuredModel:
    # A value with a slash may be a path or an address, and neither is published.
    settings = tuple(f"{key}={value}" for key, value in entry.arguments if "/" not in value)
    own = (entry.name, public_spec(entry.spec), entry.family, entry.holds_form)
    return MeasuredModel(*own, settings=settings, sampled=_temperature_words(entry))


def _temperature_words(entry: ModelEntry) -> str:
    """The temperature at which a model answered, in words; '' if it was left to the endpoint."""
    if "temperature" in entry.not_sent:
        return "no temperature sent, since the model does not accept one"
    heat = entry.settings.temperature
    return "" if heat is None else f"temperature {heat:g}"


def _run_labels(runs: Sequence[Run]) -> list[str]:
    """A name for each run: the folder's name, with a number if several folders have the same name."""
    names = [run.path.resolve().name for run in runs]
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} {seen[name]}" if names.count(name) > 1 else name)
    return labels


def _model_names(table: pl.DataFrame, measuring: Measuring[Any, Any]) -> list[str]:
    found: list[str] = []
    for column in measuring.names:
        found += table[column].drop_nulls().unique(maintain_order=True).to_list()
    return list(dict.fromkeys(found))


def _names_shown(named: Sequence[Sequence[str]], labels: Sequence[str]) -> list[dict[str, str]]:
    """For each run, the displayed name of each of its models."""
    known = Counter(name for names in named for name in names)
    return [
        {name: f"{name} [{label}]" if known[name] > 1 else name for name in names}
        for names, label in zip(named, labels, strict=True)
    ]


def _concatenate(
    tables: Sequence[pl.DataFrame], shown: Sequence[Mapping[str, str]], labels: Sequence[str], study: AnyStudy
) -> pl.DataFrame:
    """Concatenate records. Values that are unique only within a run get the run's name as a prefix.

    Raises:
        InputError: a column has different types in two of the tables.
    """
    import polars as pl

    measuring = measuring_of(study)
    named = [rename_models(table, names, measuring) for table, names in zip(tables, shown, strict=True)]
    if len(named) > 1:
        named = [
            table.with_columns((pl.lit(f"{label}/") + pl.col(column)).alias(column) for column in measuring.apart)
            for table, label in zip(named, labels, strict=True)
        ]
    try:
        return pl.concat(_with_all_columns(named, study.record), how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        said = (str(error).splitlines() or [""])[0][:200]
        reason = f"their records have columns of different types and cannot be combined: {said}"
        raise InputError([Problem(", ".join(labels), "", reason)]) from error


def _with_all_columns(tables: Sequence[pl.DataFrame], record: type[msgspec.Struct]) -> list[pl.DataFrame]:
    """Add columns that other runs have and that were introduced after a run was made. The values are the fields'
    defaults."""
    import polars as pl

    kinds = {name: kind for table in tables for name, kind in table.schema.items()}
    usual = {field.name: _field_default(field) for field in msgspec.structs.fields(record) if not field.required}
    return [
        table.with_columns(
            pl.Series(name, [usual[name]], kinds[name]).new_from_index(0, table.height)
            for name in kinds
            if name in usual and name not in table.columns
        )
        for table in tables
    ]


def _field_default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


def is_weighted(run: Run) -> bool:
    """Whether a run may ask some items more often than others, and weights its trials to correct for this (see
    `arm_weights`)."""
    return run.manifest.precision is not None and run.study.blocks is not None and run.study.blocks.weighted
