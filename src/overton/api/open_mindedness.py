"""Open-mindedness: how its outcome tables are read, measured and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.headlines import OPEN_MINDEDNESS
from overton.api.held import HELD, held_models
from overton.api.issues import issues_at, starter_issues
from overton.api.runs import Run, items_of
from overton.api.studies import Binding, Exhibits
from overton.studies.open_mindedness import STUDY
from overton.studies.open_mindedness.options import check_options
from overton.studies.plain import SCHEMA, document

if TYPE_CHECKING:
    import polars as pl

    from overton.corpora import Outcomes
    from overton.studies.open_mindedness.measures import Analysis

__all__ = ["BINDING", "shown_names"]


def analyze_file(path: Path, **how: Any) -> Analysis:
    """Every measure of records (.parquet, .csv, .jsonl) or of a table of counts."""
    from overton.corpora import read_outcomes
    from overton.studies.open_mindedness import measures

    outcomes = read_outcomes(path)
    compute = measures.analyze_counts if outcomes.kind == "counts" else measures.analyze
    analysis = compute(_labelled(outcomes.table), **how)
    return msgspec.structs.replace(analysis, notes=(*analysis.notes, *_notes(path, outcomes)))


def analyze_runs(runs: Sequence[Run], **how: Any) -> Analysis:
    """Every measure of several runs side by side."""
    from overton.studies.open_mindedness import measures

    return measures.analyze(records_of(runs), families=families_of(runs), **how)


def exhibits(runs: Sequence[Run], **how: Any) -> Exhibits:
    """What a report of these runs shows."""
    from overton.studies.open_mindedness import figures

    issues = items_of(runs)
    analysis = analyze_runs(runs, **how)
    return Exhibits(
        title="Open-mindedness",
        summary=(
            "How far arguments in a model's context move the stance it takes on contested issues, by the protocol of"
            " MillStone (Triedman and Shmatikov, 2025)."
        ),
        items="Issues",
        models=[name for shown in shown_names(runs) for name in shown.values()],
        sections=figures.sections(analysis, questions={issue.id: issue.question for issue in issues}),
        trials=figures.trial_table(records_of(runs), issues),
        data=document(STUDY.name, SCHEMA, analysis),
        warnings=list(_held(runs)),
    )


def _held(runs: Sequence[Run]) -> Iterator[str]:
    if held := held_models(runs):
        yield (
            f"{', '.join(held)}: answers were held to the form 'position <<A>>' or 'position <<B>>' by a grammar. The"
            " model could neither refuse nor answer otherwise; wherever its numbers appear, its name says so."
        )


def _notes(path: Path, outcomes: Outcomes) -> Iterator[str]:
    if outcomes.lacking:
        missing = ", ".join(outcomes.lacking)
        yield f"{path.name} lacks {missing}: what needs them (letter, order, draws) is not computed."
    if outcomes.failed:
        yield f"{outcomes.failed} failed calls in {path.name} are no answers and are left out."


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


BINDING = Binding(
    study=STUDY,
    read=issues_at,
    starter=starter_issues,
    check_options=check_options,
    analyze_file=analyze_file,
    analyze_runs=analyze_runs,
    exhibits=exhibits,
    headlines=OPEN_MINDEDNESS,
)
