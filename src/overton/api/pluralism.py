"""Pluralism: how its outcome tables are read, measured and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.headlines import PLURALISM
from overton.api.held import held_models, marked
from overton.api.refusals import refusals
from overton.api.runs import Run, items_of
from overton.api.sheets import agreements_of
from overton.api.studies import Binding, Exhibits
from overton.api.threads import references_at, starter_references
from overton.errors import InputError, Problem
from overton.studies.numbers import sentence
from overton.studies.plain import SCHEMA, document
from overton.studies.pluralism import STUDY
from overton.studies.pluralism.options import check_options

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.sheet_agreement import SheetAgreement
    from overton.studies.pluralism.measures import Analysis

__all__ = ["BINDING"]


def analyze_file(path: Path, *, summaries: str | Path | None = None, **how: Any) -> Analysis:
    """Every measure of a table of matches (with its `summaries`), rankings or pairs (.parquet, .csv, .jsonl)."""
    from overton.corpora.viewpoints import read_viewpoints
    from overton.studies.pluralism import measures

    found = read_viewpoints(path, None if summaries is None else Path(summaries))
    return measures.analyze(**found._asdict(), **how)


def analyze_runs(runs: Sequence[Run], *, summaries: str | Path | None = None, **how: Any) -> Analysis:
    """Every measure of several runs together; a run has its own `summaries`."""
    if summaries is not None:
        raise InputError([Problem(str(summaries), "", "summaries belong to a table of matches; a run has its own")])
    return _measured(records_of(runs), **how)


def exhibits(runs: Sequence[Run], **how: Any) -> Exhibits:
    """What a report of these runs shows."""
    from overton.studies.pluralism import figures

    threads, records = items_of(runs), records_of(runs)
    analysis = _measured(records, **how)
    return Exhibits(
        title="Pluralism",
        summary=(
            "Which of a crowd's viewpoints models voice, which they leave out once a user has stated a belief, and"
            " whether they still know what is popular."
        ),
        items="Threads",
        models=sorted({name for run in runs for name in marked(run).values()}),
        sections=figures.sections(analysis, "\n".join(_judges(runs))),
        trials=figures.thread_table(records, threads),
        data=document(STUDY.name, SCHEMA, analysis),
        warnings=[*_warnings(runs), *_left_out(records), *refusals(records, "replies")],
    )


def records_of(runs: Sequence[Run]) -> pl.DataFrame:
    """The runs' records under each other, models named as they are shown.

    A model that several runs ask stands with each run's name, one that is held to a form is marked so.
    """
    import polars as pl

    found = [_named(run) for run in runs]
    asked = Counter(model for table in found for model in table["model"].unique().to_list())
    several = [spec for spec, count in asked.items() if count > 1]
    model = pl.col("model")
    tables = [
        table.with_columns(
            model=pl.when(model.is_in(several))
            .then(pl.format("{} ({})", model, pl.lit(run.path.name)))
            .otherwise(model)
        )
        for run, table in zip(runs, found, strict=True)
    ]
    return pl.concat(tables, how="vertical_relaxed")


def _named(run: Run) -> pl.DataFrame:
    import polars as pl

    return run.records().with_columns(pl.col("model").replace(marked(run)))


def _measured(records: pl.DataFrame, **how: Any) -> Analysis:
    from overton.studies.pluralism import measures, tables

    return measures.analyze(
        matches=tables.matches(records),
        summaries=tables.summaries(records),
        rankings=tables.rankings(records),
        pairs=tables.pairs(records),
        communities=dict(records.select("thread", "community").unique("thread").drop_nulls().iter_rows()),
        **how,
    )


def _judges(runs: Sequence[Run]) -> Iterator[str]:
    """Who labelled and matched, and how well they agree with people, a line each."""
    known: dict[str, list[SheetAgreement]] = {}
    for run in runs:
        known.setdefault(_judge(run), []).extend(agreements_of(run))
    for judge, agreements in known.items():
        if not agreements:
            yield f"Judge and matcher: {judge}. How well it agrees with people has not been measured."
        yield from (f"Judge and matcher: {judge}. {_agreed(one)}" for one in agreements)


def _judge(run: Run) -> str:
    names = ", ".join(entry.spec for entry in run.manifest.models.get("judge", ())) or "none"
    lexical = run.manifest.options.get("matching") == "lexical"
    return f"{names}, matched by shared words" if lexical else names


def _agreed(one: SheetAgreement) -> str:
    """Agreement, and which way the matcher errs (appendix A.5)."""
    from overton.judging.sheet_agreement import leniency

    said = (
        f"A person gives the same {one.what.replace('_', ' ')} to {sentence(one.same, 'share')};"
        f" Cohen's kappa {sentence(one.kappa, 'value')}."
    )
    if "match" not in one.confusion or not (lenient := leniency(one, "match")).n:
        return said
    return f"{said} Of the rows on which they differ the matcher is the lenient one in {sentence(lenient, 'share')}."


def _warnings(runs: Sequence[Run]) -> Iterator[str]:
    """What has to be read before any number: a judge or a matcher that reads no meaning, models held to a form."""
    for judge in sorted({entry.spec for run in runs for entry in run.manifest.models.get("judge", ())}):
        if judge.startswith("embedded/"):
            yield (
                f"The judge is {judge}, a model far too small to judge: this report is for trying the tool, and its"
                " numbers say nothing about any model's pluralism."
            )
        if judge.startswith("simulated/"):
            yield f"The judge is {judge}, which reads marks and no meaning: its labels are for tests."
    if any(run.manifest.options.get("matching") == "lexical" for run in runs):
        yield "Responses are matched to viewpoints by shared words, which is for trying the tool."
    if held := held_models(runs):
        yield (
            f"{', '.join(held)}: a grammar held rankings and choices of pairs to their form; wherever the model's"
            " numbers appear, its name says so. Its responses were free."
        )


def _left_out(records: pl.DataFrame) -> Iterator[str]:
    """Threads without a reference opinion, trials that failed, and replies with a wrong number of responses."""
    import polars as pl

    held = records.filter(pl.col("experiment") == "sycophancy")
    if lost := held.filter(pl.col("status") == "not eligible")["thread"].n_unique():
        yield (
            f"{lost} of {held['thread'].n_unique()} threads have no viewpoint that at least two others support and two"
            " oppose; no responses were asked for there."
        )
    if failed := records.filter(pl.col("status") == "failed").height:
        yield f"{failed} trials failed and are in no measure."
    done = held.filter(pl.col("status") == "done")
    if wrong := done.filter(pl.col("given") != pl.col("asked")).height:
        yield f"{wrong} of {done.height} trials have another number of responses than was asked for."


BINDING = Binding(
    study=STUDY,
    read=references_at,
    starter=starter_references,
    check_options=check_options,
    analyze_file=analyze_file,
    analyze_runs=analyze_runs,
    exhibits=exhibits,
    headlines=PLURALISM,
)
