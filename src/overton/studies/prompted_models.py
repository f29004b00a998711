"""Models under a system prompt, measured as separate models: 'NAME with system-1'.

All studies therefore have tables, findings, comparisons, corrections and baselines by system prompt. The code of a
study need not handle system prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from overton.studies.null_conditions import PREFIX
from overton.studies.system_prompts import NO_PLAIN, NONE, SYSTEM, SYSTEMS, WithSystemPrompts

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measurement import Measuring
    from overton.studies.results import MeasuredModel
    from overton.studies.study import AnyStudy

_PROMPT = rf"^(?:{PREFIX}[^/]+/)?(system-[0-9]+)/"
"""Finds the system prompt in a trial's name."""


def splits_models(study: AnyStudy) -> bool:
    """Whether Overton measures models of this study separately by system prompt. This is false if the study's own
    measures use system prompts as conditions."""
    return isinstance(study.trials, WithSystemPrompts) and not study.trials.own


def texts_in(study: AnyStudy, options: Mapping[str, Any]) -> list[str]:
    """The texts of the system prompts of a run with these stored options."""
    return list(options.get(SYSTEMS) or ()) if isinstance(study.trials, WithSystemPrompts) else []


def is_split(study: AnyStudy, options: Mapping[str, Any]) -> bool:
    """Whether a run with these stored options measures models separately by system prompt. Its records then have a
    column that names the prompt."""
    return splits_models(study) and bool(texts_in(study, options))


def name_under(model: str, condition: str) -> str:
    """A model's name under a condition. Without a system prompt, the name stays the same."""
    return model if condition == NONE else f"{model} with {condition}"


def names_under(model: str, options: Mapping[str, Any]) -> list[str]:
    """A model's name in each condition of a run with these stored options."""
    count = len(options.get(SYSTEMS) or ())
    plain = [] if options.get(NO_PLAIN) else [NONE]
    return [name_under(model, name) for name in (*plain, *(f"system-{number}" for number in range(1, count + 1)))]


def models_under(models: Sequence[MeasuredModel], options: Mapping[str, Any]) -> list[MeasuredModel]:
    """The models of a run, once for each condition, with names that include the condition."""
    return [replace(model, name=name) for model in models for name in names_under(model.name, options)]


def with_system_column(records: pl.DataFrame, trial: str) -> pl.DataFrame:
    """Records with a further column for the condition, which is taken from the trial names in the column `trial`."""
    import polars as pl

    return records.with_columns(pl.col(trial).str.extract(_PROMPT).fill_null(NONE).alias(SYSTEM))


def tables_by_prompt(study: AnyStudy, records: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The name of each condition ('' without a system prompt), and its records. Trial names determine the condition, so
    records without trial names yield no tables."""
    import polars as pl

    trial = (study.row_key or ("trial",))[0]
    if trial not in records.columns:
        return
    found = with_system_column(records, trial)
    for name in sorted(found[SYSTEM].unique(), key=lambda name: (name != NONE, len(name), name)):
        yield "" if name == NONE else name, found.filter(pl.col(SYSTEM) == name).drop(SYSTEM)


def split_models(records: pl.DataFrame, measuring: Measuring[Any, Any]) -> pl.DataFrame:
    """Records in which a model's name includes its system prompt. The column of conditions is removed."""
    import polars as pl

    found = records[SYSTEM].unique(maintain_order=True).to_list()
    rows = records.with_row_index(_ROW)
    parts = [_renamed(rows.filter(pl.col(SYSTEM).eq_missing(name)), str(name or NONE), measuring) for name in found]
    return pl.concat(parts).sort(_ROW).drop(_ROW, SYSTEM) if parts else records.drop(SYSTEM)


_ROW = "(row)"


def _renamed(records: pl.DataFrame, condition: str, measuring: Measuring[Any, Any]) -> pl.DataFrame:

    if condition == NONE:
        return records
    named = [*(records[column] for column in measuring.names)]
    named += [records[column].str.split(" + ").explode() for column in measuring.joined]
    known = {name for names in named for name in names.drop_nulls().unique().to_list()}
    return rename_models(records, {name: name_under(name, condition) for name in known}, measuring)


def rename_models(table: pl.DataFrame, names: Mapping[str, str], measuring: Measuring[Any, Any]) -> pl.DataFrame:
    """The records with models renamed by `names`, from old to new."""
    import polars as pl

    changes = {name: shown for name, shown in names.items() if name != shown}
    if not changes:
        return table
    return table.with_columns(
        *(pl.col(column).replace(changes) for column in measuring.names),
        *(
            pl.col(column).str.split(" + ").list.eval(pl.element().replace(changes)).list.join(" + ")
            for column in measuring.joined
        ),
    )
