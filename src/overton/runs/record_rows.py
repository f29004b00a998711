"""Checks of records when they are read. Overton refuses repeated rows, and warns of trials without rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem, list_names
from overton.runs.folder import Manifest, items_of_shard, lane_names
from overton.studies.findings import counted
from overton.studies.multiple_judges import JUDGE, led_alone
from overton.studies.null_conditions import design_alone
from overton.studies.prompted_models import split_models, splits_models
from overton.studies.system_prompts import SYSTEM

if TYPE_CHECKING:
    import polars as pl

    from overton.calls import Trial
    from overton.runs.experiment import Experiment
    from overton.studies.study import AnyStudy
    from overton.studies.tables import RawTable

_MODEL, _FAMILY = "model", "family"


_MAX_NAMED_TRIALS = 3
"""The maximum number of trials that a message names."""
_ROW, _LENGTH = "(row)", "(length)"
_OWNER_COLUMNS = ("model", JUDGE)
"""The columns of records with the model and the judge of a trial."""


def design_of_table(study: AnyStudy, table: RawTable) -> RawTable:
    """Prepare a table for measures: only the first judge's rows, without null conditions.

    If measures need families of models and the table lacks families, Overton guesses families from the models' names,
    as in a run.
    """
    once = _refuse_repeats_when_read(study, table)
    return _with_families(study, _by_system_prompt(study, design_alone(led_alone(once, study.several), study.nulls)))


def _by_system_prompt(study: AnyStudy, table: RawTable) -> RawTable:
    """A table in which a model has a separate name under each system prompt, as in a run's results."""
    if study.measuring is None or not splits_models(study) or not {SYSTEM, _MODEL} <= {*table.columns}:
        return table
    measuring = study.measuring
    return replace(
        table,
        columns=tuple(name for name in table.columns if name != SYSTEM),
        frame=lambda: split_models(table.frame(), measuring),
    )


def _with_families(study: AnyStudy, table: RawTable) -> RawTable:
    kinds = () if study.measuring is None else study.measuring.read
    declared = any(column.name == _FAMILY for kind in kinds for column in kind.columns)
    if not declared or _FAMILY in table.columns or _MODEL not in table.columns:
        return table

    def read() -> pl.DataFrame:
        import polars as pl

        from overton.models.catalog import series_named

        frame = table.frame()
        named = [name for name in frame[_MODEL].unique().to_list() if isinstance(name, str) and name]
        families = pl.DataFrame({_MODEL: named, _FAMILY: [*map(series_named, named)]})
        return frame.join(families, _MODEL, how="left", maintain_order="left") if named else frame

    return replace(table, columns=(*table.columns, _FAMILY), frame=read)


def _refuse_repeats_when_read(study: AnyStudy, table: RawTable) -> RawTable:
    """The table, with a check when it is read. A table of a run's records raises an error if it has repeated rows.

    A table has a run's records if it has the columns of `Study.row_key`. A table that lacks other columns of a record
    may have been made elsewhere, where each item's trials begin at 1. In such a table, only rows that are equal in all
    columns count as repeated.
    """
    named = _row_key(study)
    if not named or not {*named} <= {*table.columns}:
        return table

    def read() -> pl.DataFrame:
        frame = table.frame()
        check_no_repeats(study, frame, table.name, "remove the repeated rows", table.place)
        return frame

    return replace(table, frame=read)


def _row_key(study: AnyStudy) -> tuple[str, ...]:
    """The columns by which repeated rows are recognised, with the trial's name first. The result is empty if records do
    not name the trial."""
    return study.row_key or (("trial",) if "trial" in study.record.__struct_fields__ else ())


def _row_number(row: int) -> str:
    return f"row {row + 1}"


def check_no_repeats(
    study: AnyStudy, records: pl.DataFrame, name: str, remedy: str, place: Callable[[int], str] = _row_number
) -> None:
    """Refuse records with repeated rows; `place` maps a row's index (from 0) to the name of the row in messages.

    Raises:
        InputError: there are repeated rows, so that their trials would count more than once. The message names the
            first trials.
    """
    import polars as pl

    named = _row_key(study)
    if not named or records.is_empty():
        return
    needed = {field.name for field in msgspec.structs.fields(study.record) if field.required}
    whole = not study.row_key or not needed <= {*records.columns}
    columns = (
        records.columns if whole else [column for column in (*_OWNER_COLUMNS, *named) if column in records.columns]
    )
    again = records.select(columns).is_duplicated()
    if not again.any():
        return
    numbered = records.with_row_index(_ROW).filter(again)
    rows = numbered.group_by(columns, maintain_order=True).agg(pl.col(_ROW).head(2), pl.len().alias(_LENGTH))
    trials = rows.group_by(*_owner_columns(study, records), named[0], maintain_order=True).agg(pl.col(_ROW).first())
    more = int(rows[_LENGTH].sum()) - rows.height
    shown = [
        f"{_describe_trial(whose)} ({place(first)} and {place(second)})"
        for *whose, (first, second) in trials.head(_MAX_NAMED_TRIALS).iter_rows()
    ]
    reason = (
        f"{counted(more, 'rows')} too many, so numbers would count {counted(trials.height, 'trials')} more than once"
    )
    raise InputError(
        [Problem(name, "", f"has {reason}: {list_names(shown, _MAX_NAMED_TRIALS, trials.height)}; {remedy}")]
    )


def _owner_columns(study: AnyStudy, records: pl.DataFrame) -> list[str]:
    """The columns of these records with the model and the judge of a trial. If models interact, a trial belongs to all
    models, so the model's column is left out."""
    return [
        column for column in _OWNER_COLUMNS if column in records.columns and not (study.together and column == "model")
    ]


def missing_rows(
    study: AnyStudy, manifest: Manifest, records: pl.DataFrame, experiment: Callable[[], Experiment]
) -> str:
    """A sentence about trials that have no rows, although the run finished them according to its manifest; '' if there
    are no such trials."""
    named = _row_key(study)
    if not named or named[0] not in records.columns or manifest.status == "running":
        return ""
    found = records.select(*_owner_columns(study, records), named[0]).unique()
    unfinished = any(manifest.missing.values()) or bool(manifest.unmade)
    if found.height >= manifest.trials and not unfinished:
        return ""
    present = set(found.iter_rows())
    expected = (
        [] if manifest.precision is not None else list(_list_finished_trials(study, manifest, experiment().trials()))
    )
    lost = [_describe_trial(trial) for trial in expected if trial not in present]
    count, planned = len(lost), len(expected)
    if len(lost) == len(expected):
        # In a run with --precision, only the journal shows which trials were conducted. Records of other runs may not
        # name their trials.
        count, planned = (0 if unfinished else manifest.trials - found.height), manifest.trials
        lost = []
    if count <= 0:
        return ""
    which = f": {list_names(lost, _MAX_NAMED_TRIALS, count)}" if lost else ""
    said = (
        f"{count:,} of {counted(planned, 'trials')} that the run finished have no rows, so all numbers leave them out"
    )
    return f"{said}{which}"


def _list_finished_trials(study: AnyStudy, manifest: Manifest, trials: Iterable[Trial]) -> Iterator[tuple[str, ...]]:
    """The model, judge and name of each trial of the design, as in records. Trials of incomplete items are left out."""
    part = items_of_shard(manifest.shard)
    named = [(trial.item, trial.name) for trial in trials]
    for lane, whose in zip(lane_names(study, manifest), _lane_owners(study, manifest), strict=True):
        left_out = {*manifest.missing.get(lane, ())}
        for item, name in named:
            if item not in left_out and (part is None or item in part):
                yield (*whose, name)


def _lane_owners(study: AnyStudy, manifest: Manifest) -> Iterator[tuple[str, ...]]:
    """The model and the judge of each pipeline, as in its records."""
    models = [()] if study.together else [(entry.name,) for entry in manifest.models[study.first]]
    judges = manifest.models.get(study.several, []) if study.several else []
    named = [(judge.name,) for judge in judges] if len(judges) > 1 else [()]
    return ((*model, *judge) for judge, model in product(named, models))


def _describe_trial(names: Sequence[Any]) -> str:
    *whose, trial = names
    return f"{trial} of {', judged by '.join(map(str, whose))}" if whose else str(trial)
