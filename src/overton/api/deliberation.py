"""Deliberation: how its outcome tables are read, measured and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.dilemmas import dilemmas_at, starter_dilemmas
from overton.api.headlines import DELIBERATION
from overton.api.held import held_models, marked
from overton.api.refusals import refusals
from overton.api.runs import Run, items_of
from overton.api.studies import Binding, Exhibits
from overton.studies.deliberation import STUDY
from overton.studies.deliberation.options import check_options
from overton.studies.plain import SCHEMA, document

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.deliberation.measures import Analysis

__all__ = ["BINDING"]


def analyze_file(path: Path, **how: Any) -> Analysis:
    """Every measure of a table of decisions (.parquet, .csv, .jsonl)."""
    from overton.corpora.decisions import read_decisions
    from overton.studies.deliberation import measures

    return measures.analyze(read_decisions(path), **how)


def analyze_runs(runs: Sequence[Run], **how: Any) -> Analysis:
    """Every measure of several runs together."""
    from overton.studies.deliberation import measures

    return measures.analyze(records_of(runs), **how)


def exhibits(runs: Sequence[Run], **how: Any) -> Exhibits:
    """What a report of these runs shows."""
    from overton.studies.deliberation import figures

    dilemmas, records = items_of(runs), records_of(runs)
    analysis = analyze_runs(runs, **{"others": True, **how})
    return Exhibits(
        title="Deliberation",
        summary=(
            "Who changes their mind, who holds out, and which values are behind it, when models discuss everyday moral"
            " dilemmas over several rounds."
        ),
        items="Dilemmas",
        models=sorted({name for run in runs for name in marked(run).values()}),
        sections=figures.sections(analysis),
        trials=figures.deliberation_table(records, dilemmas),
        data=document(STUDY.name, SCHEMA, analysis),
        warnings=[*_warnings(runs, dilemmas), *refusals(records, "messages")],
    )


def records_of(runs: Sequence[Run]) -> pl.DataFrame:
    """The runs' records under each other, models named as they are shown.

    Deliberations of several runs are told apart by the runs' names.
    """
    import polars as pl

    named = [_renamed(run) for run in runs]
    if len(runs) == 1:
        return named[0]
    return pl.concat(
        [
            records.with_columns(deliberation=pl.lit(f"{run.path.name}/") + pl.col("deliberation"))
            for run, records in zip(runs, named, strict=True)
        ]
    )


def _renamed(run: Run) -> pl.DataFrame:
    import polars as pl

    names = marked(run)
    agents = pl.col("agents").str.split(" + ").list.eval(pl.element().replace(names)).list.join(" + ")
    return run.records().with_columns(pl.col("model").replace(names), agents)


def _warnings(runs: Sequence[Run], dilemmas: Sequence[Any]) -> list[str]:
    warnings = []
    if any(dilemma.crowd is not None and dilemma.crowd.simulated for dilemma in dilemmas):
        warnings.append("Some of the crowds' verdicts are simulated: agreement with them says nothing about people.")
    if held := held_models(runs):
        warnings.append(
            f"{', '.join(held)}: a grammar held every message to its form, verdict first; wherever the model's numbers"
            " appear, its name says so."
        )
    if any(not run.manifest.models.get("values") for run in runs):
        warnings.append("No judge named the values behind the explanations, so nothing is said of values.")
    return warnings


def _complete(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return options | {"agents": list(models["agent"]), "values": bool(models.get("values"))}


BINDING = Binding(
    study=STUDY,
    read=dilemmas_at,
    starter=starter_dilemmas,
    check_options=check_options,
    analyze_file=analyze_file,
    analyze_runs=analyze_runs,
    exhibits=exhibits,
    complete=_complete,
    headlines=DELIBERATION,
)
