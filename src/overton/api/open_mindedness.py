"""Open-mindedness: how its outcome tables are read, measured and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.headlines import OPEN_MINDEDNESS
from overton.api.issues import issues_at, starter_issues
from overton.api.measured import held_models, listed, models_of
from overton.api.runs import Run, items_of
from overton.api.studies import Binding, Exhibits
from overton.errors import InputError, Problem
from overton.studies.open_mindedness import STUDY
from overton.studies.open_mindedness.options import check_options

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
    _check_apart(path, outcomes.table)
    compute = measures.analyze_counts if outcomes.kind == "counts" else measures.analyze
    analysis = compute(outcomes.table, **how)
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
        models=[
            listed(model, names[model.name])
            for run, names in zip(runs, shown_names(runs), strict=True)
            for model in models_of(run)
        ],
        sections=figures.sections(analysis, questions={issue.id: issue.question for issue in issues}),
        trials=figures.trial_table(records_of(runs), issues),
        data=analysis.to_json(),
        warnings=list(_held(runs)),
    )


def _held(runs: Sequence[Run]) -> Iterator[str]:
    if held := held_models(runs):
        yield (
            f"{', '.join(held)}: answers were held to the form 'position <<A>>' or 'position <<B>>' by a grammar. The"
            " model could neither refuse nor answer otherwise: its shares of other answers say nothing."
        )


def _notes(path: Path, outcomes: Outcomes) -> Iterator[str]:
    if held := _held_in(outcomes.table):
        yield f"{', '.join(held)}: a grammar held answers to their form, so shares of other answers say nothing."
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

    A model that several runs measured is told apart by the runs' names.
    """
    names = [model.name for run in runs for model in models_of(run)]
    return [
        {
            model.name: f"{model.name} [{model.run}]" if names.count(model.name) > 1 else model.name
            for model in models_of(run)
        }
        for run in runs
    ]


def families_of(runs: Sequence[Run]) -> dict[str, str]:
    """The family of each model, by the name it is shown under."""
    names = shown_names(runs)
    return {names[index][model.name]: model.family for index, run in enumerate(runs) for model in models_of(run)}


def _renamed(run: Run, names: dict[str, str]) -> pl.DataFrame:
    import polars as pl

    return run.records().with_columns(pl.col("model").replace(names))


def _held_in(table: pl.DataFrame) -> list[str]:
    """The models whose answers a grammar held to their form, of a table from a file."""
    import polars as pl

    if "held" not in table.columns:
        return []
    return table.filter(pl.col("held"))["model"].unique().sort().to_list()


def _check_apart(path: Path, table: pl.DataFrame) -> None:
    """Refuse a table in which one name has answers of two kinds: they are never pooled."""
    import polars as pl

    if held := _held_in(table):
        free = set(table.filter(~pl.col("held").fill_null(False))["model"].unique())
        reason = "a grammar held some of its answers to their form and not the others: give the two a name each"
        if both := [name for name in held if name in free]:
            raise InputError([Problem(str(path), name, reason) for name in both])


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
