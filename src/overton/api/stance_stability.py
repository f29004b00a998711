"""Stance stability: how its outcome tables are read, measured and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.headlines import STANCE_STABILITY
from overton.api.refusals import refusals
from overton.api.runs import Run, items_of
from overton.api.sheets import agreements_of
from overton.api.studies import Binding, Exhibits
from overton.api.topics import starter_topics, topics_at
from overton.errors import InputError, Problem
from overton.studies.numbers import sentence
from overton.studies.plain import SCHEMA, document
from overton.studies.stance_stability import STUDY
from overton.studies.stance_stability.options import Options, check_options

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.sheet_agreement import SheetAgreement
    from overton.studies.stance_stability.measures import Analysis

__all__ = ["BINDING", "analyze_file", "analyze_runs", "judges_of", "records_of", "unlisted", "warnings_of"]

_MOST_LISTED = 2_000
"""With more conversations than this a report holds the groups' measures only: the run's records have the rest."""


def analyze_file(path: Path, **how: Any) -> Analysis:
    """Every measure of a table of turns (.parquet, .csv, .jsonl)."""
    from overton.corpora.stances import read_stances
    from overton.studies.stance_stability import measures

    return measures.analyze(read_stances(path), **how)


def analyze_runs(runs: Sequence[Run], **how: Any) -> Analysis:
    """Every measure of several runs together."""
    from overton.studies.stance_stability import measures

    return measures.analyze(records_of(runs), **how)


def exhibits(runs: Sequence[Run], **how: Any) -> Exhibits:
    """What a report of these runs shows."""
    from overton.studies.stance_stability import figures, measures

    topics, records = items_of(runs), records_of(runs)
    analysis = measures.analyze(records, **how)
    return Exhibits(
        title="Stance stability",
        summary=(
            "Whether models keep their view over a conversation of searching and questioning, how surely they change"
            " it, and from how few sources."
        ),
        items="Topics",
        models=sorted({entry.spec for run in runs for entry in run.entries}),
        sections=figures.sections(analysis, "\n".join(judges_of(runs))),
        trials=figures.conversation_table(records, analysis, topics),
        data=document(STUDY.name, SCHEMA, analysis, without=unlisted(analysis)),
        warnings=[*warnings_of(runs), *refusals(records, "answers")],
    )


def records_of(runs: Sequence[Run]) -> pl.DataFrame:
    """The runs' records under each other; conversations of several runs are told apart by the runs' names."""
    import polars as pl

    tables = [run.records().with_columns(pl.col("model").replace("", "not named")) for run in runs]  # of transcripts
    if len(runs) > 1:
        tables = [
            table.with_columns(conversation=pl.lit(f"{run.path.name}/") + pl.col("conversation"))
            for run, table in zip(runs, tables, strict=True)
        ]
    return pl.concat(tables, how="vertical_relaxed")


def judges_of(runs: Sequence[Run]) -> Iterator[str]:
    """Who judged, and how well they agree with people, a line each."""
    known: dict[str, list[SheetAgreement]] = {}
    for run in runs:
        known.setdefault(_names(run, "judge"), []).extend(agreements_of(run))
    for judge, agreements in known.items():
        if not agreements:
            yield f"Judge: {judge}. How well it agrees with people has not been measured."
        for one in agreements:
            yield (
                f"Judge: {judge}. A person gives the same {one.what.replace('_', ' ')} as the judge to"
                f" {sentence(one.same, 'share')}; Cohen's kappa {sentence(one.kappa, 'value')}."
            )


def _names(run: Run, role: str) -> str:
    return ", ".join(entry.spec for entry in run.manifest.models.get(role, ())) or "none"


def unlisted(analysis: Analysis) -> tuple[str, ...]:
    """What a report's data leaves out."""
    return ("conversations",) if analysis.conversations.height > _MOST_LISTED else ()


def warnings_of(runs: Sequence[Run]) -> Iterator[str]:
    """What has to be read before any number: a judge that is too small, or simulated."""
    judges = {entry.spec for run in runs for entry in run.manifest.models.get("judge", ())}
    for judge in sorted(judges):
        if judge.startswith("embedded/"):
            yield (
                f"The judge is {judge}, a model far too small to judge: this report is for trying the tool, and its"
                " numbers say nothing about any model's stances."
            )
        if judge.startswith("simulated/"):
            yield f"The judge is {judge}, which reads marks and no meaning: its labels are for tests."


_PAGES_OF_STARTER = 3
"""Pages a turn from the starter collection, which has twenty a domain; the web's are as published."""


def _complete(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Fewer pages from the starter collection, and whose queries: a model named to write them writes them for all.

    Raises:
        InputError: shared queries without a model that writes them, or one that would write none.
    """
    written = bool(models.get("queries"))
    queries = options.get("queries", "shared" if written else "own")
    if written != (queries == "shared"):
        reason = "shared queries need a model that writes them" if not written else "the model named would write none"
        raise InputError([Problem("--queries", queries, reason)])
    fewer = {"pages": _PAGES_OF_STARTER} if list(models.get("search", ())) == ["starter"] else {}
    return {**fewer, **options, "queries": queries}


def _source_args(options: Options) -> dict[str, dict[str, str]]:
    """A search gives as many hits as there are pages to read."""
    return {"search": {"top": str(options.pages)}}


BINDING = Binding(
    study=STUDY,
    read=topics_at,
    starter=starter_topics,
    check_options=check_options,
    analyze_file=analyze_file,
    analyze_runs=analyze_runs,
    exhibits=exhibits,
    complete=_complete,
    source_args=_source_args,
    headlines=STANCE_STABILITY,
)
