"""From an outcome table to measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.runs import Run, open_run
from overton.api.studies import binding_of

if TYPE_CHECKING:
    import polars as pl

    from overton.corpora import Outcomes
    from overton.studies.open_mindedness.measures import Analysis

__all__ = ["HELD", "analyze", "families_of", "pooled", "records_of", "shown_names"]

HELD = " (held to the answer format)"
"""What follows a model's name wherever numbers of it appear, if it could not have broken the answer's form."""


def analyze(study: str, source: str | Path, **how: Any) -> Analysis:
    """Every measure of `source`: a run's folder, records (.parquet, .csv, .jsonl), or a table of counts.

    `how` goes to the measures as it is: `level`, `resamples`, `seed`, `controversial`.

    Example: `overton.analyze("open-mindedness", "runs/first").models["openai/gpt-4o"].scores.open_mindedness`.

    Raises:
        InputError: the study or the file cannot be used; every problem with its place.
    """
    from overton.corpora import read_outcomes
    from overton.studies.open_mindedness import measures

    binding_of(study)
    path = Path(source)
    if path.is_dir():
        return pooled([open_run(path)], **how)
    outcomes = read_outcomes(path)
    compute = measures.analyze_counts if outcomes.kind == "counts" else measures.analyze
    analysis = compute(_labelled(outcomes.table), **how)
    return msgspec.structs.replace(analysis, notes=(*analysis.notes, *_notes(path, outcomes)))


def _notes(path: Path, outcomes: Outcomes) -> Iterator[str]:
    if outcomes.lacking:
        missing = ", ".join(outcomes.lacking)
        yield f"{path.name} lacks {missing}: what needs them (letter, order, draws) is not computed."
    if outcomes.failed:
        yield f"{outcomes.failed} failed calls in {path.name} are no answers and are left out."


def pooled(runs: Sequence[Run], **how: Any) -> Analysis:
    """Every measure of several runs side by side."""
    from overton.studies.open_mindedness import measures

    return measures.analyze(records_of(runs), families=families_of(runs), **how)


def records_of(runs: Sequence[Run]) -> pl.DataFrame:
    """The runs' records under each other, models named as they are shown."""
    import polars as pl

    return pl.concat([_renamed(run, shown_names(runs)[index]) for index, run in enumerate(runs)])


def shown_names(runs: Sequence[Run]) -> list[dict[str, str]]:
    """For each run, the name under which each of its models is shown.

    A model that several runs measured is told apart by the runs' names, one held to a form is marked so.
    """
    specs = [entry.spec for run in runs for entry in run.entries]
    return [
        {
            entry.spec: entry.spec
            + (f" [{run.path.name}]" if specs.count(entry.spec) > 1 else "")
            + (HELD if entry.holds_form else "")
            for entry in run.entries
        }
        for run in runs
    ]


def families_of(runs: Sequence[Run]) -> dict[str, str]:
    """The family of each model, by the name it is shown under."""
    names = shown_names(runs)
    return {names[index][entry.spec]: entry.family for index, run in enumerate(runs) for entry in run.entries}


def _renamed(run: Run, names: dict[str, str]) -> pl.DataFrame:
    import polars as pl

    return run.records().with_columns(pl.col("model").replace(names))


def _labelled(records: pl.DataFrame) -> pl.DataFrame:
    """Records from a file with models named as they are shown."""
    import polars as pl

    if "held" not in records.columns:
        return records
    held = pl.col("held").fill_null(False)
    return records.with_columns(model=pl.when(held).then(pl.col("model") + HELD).otherwise(pl.col("model")))
