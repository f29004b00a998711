"""Open-mindedness: how arguments in context shift a model's stance on contested issues (MillStone)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

from overton.studies.measurement import Position, UnreadRecords
from overton.studies.measures import key_in
from overton.studies.open_mindedness.declarations import FREE, OF_PAIRS
from overton.studies.open_mindedness.findings import CLAIMS
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase
from overton.studies.open_mindedness.measures import NULLS, STUDY_MEASURES
from overton.studies.open_mindedness.millstone import MILLSTONE
from overton.studies.open_mindedness.options import CONDITIONS, OpenMindednessHow, Options
from overton.studies.open_mindedness.paper import PAPER
from overton.studies.open_mindedness.planning import CANNED
from overton.studies.open_mindedness.precision import BLOCKS
from overton.studies.open_mindedness.protocol import conduct, prompt_texts, trials
from overton.studies.open_mindedness.reading import ISSUES
from overton.studies.open_mindedness.record import COUNTS, RECORDS, Record, read_table
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.study import Role, Study, late
from overton.studies.study_report import StudyReport

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.frame import Analysis

__all__ = ["STUDY", "Argument", "Issue", "Options", "Paraphrase", "Record"]


_trial_table = late(f"{__name__}.layouts.answers:trial_table")
_UNFORCED = (
    "The models answered in their own words. Every number here depends on the judge's labels of these answers, but"
    " the paper measures forced answers."
)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for cells in analysis.counts.get("free", ()):
        if cells["condition"] is None:
            unlabelled, answers = (int(cells[name] or 0) for name in ("unlabelled", "answers"))
            yield UnreadRecords(str(cells["model"]), "free answers", unlabelled, answers + unlabelled, "judge")


_FIGURES = (
    ("open_mindedness_cross_fitted", "open_mindedness_cross_fitted", "plain"),
    ("open_mindedness", "open_mindedness", "plain"),
    ("open_mindedness_letter_balanced", "open_mindedness", "letter_balanced"),
    ("open_mindedness_as_published", "open_mindedness_as_published", "plain"),
    ("issues_moved", "issues_moved", "plain"),
    ("free_differs", "free_differs", "plain"),
)


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for model in analysis.models:
        missing = {cells["part"] for cells in analysis.counts["missing"] if cells["model"] == model}
        for name, measure, variant in _FIGURES:
            row = analysis.row(measure, model=model, variant=variant)
            if row is not None and not (variant != "plain" and "corrected" in missing):
                yield name, row.number
        for condition in CONDITIONS:
            if (row := analysis.row("pro", model=model, condition=condition)) is not None:
                yield key_in("pro", condition, ""), row.number


def _count_answers(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Counts of answers that take neither side, and of free answers for which the judge's reply could not be read."""
    import polars as pl

    came = records.filter(pl.col("failure").is_null())
    yield "answers_other", came.filter(pl.col("stance") == "other").height, came.height
    free = records.filter(pl.col("answers") == "free") if "answers" in records.columns else records.clear()
    unread = free.filter(pl.col("failure").str.starts_with("judge: unread")).height
    if judged := unread + free.filter(pl.col("failure").is_null()).height:
        yield "judge_unread", unread, judged


def _judge_of(figure: str, options: Mapping[str, Any]) -> str:
    """'judge' if a figure depends on judged free answers, otherwise ''."""
    return "judge" if options.get("answers") == "free" or figure.startswith((FREE, "judge_")) else ""


def _pro_share(records: Sequence[Record]) -> float:
    forced = [record for record in records if record.answers == "forced"]
    answers = [record.stance == "pro" for record in forced or records if record.failure is None]
    return sum(answers) / len(answers) if answers else nan


REPORT: StudyReport[OpenMindednessHow, Record] = StudyReport(
    blocks=BLOCKS,
    measures=STUDY_MEASURES,
    claims=CLAIMS,
    summary=(
        "How far arguments in a model's context move its stance on contested issues, by the protocol of"
        " MillStone (Triedman and Shmatikov, 2025)."
    ),
    chapters={
        "How far did arguments move it?": (
            *("open-mindedness", "issues", "definition", "shifts", "topics", "contrary", "counter", "facets"),
        ),
        "Where does it stand without arguments?": ("baseline", "free"),
        "Do wording, order or the choice of arguments matter?": ("letter", "draws", "arguments", "respondent"),
    },
    sections=late(f"{__name__}.layouts:sections"),
    answers=lambda results, analysis: _trial_table(results.records, results.items),
    subject="the side that free answers take",
    warnings=lambda results, analysis: [_UNFORCED] if analysis.counts["how"][0]["answers"] == "free" else [],
    form=(
        "a grammar constrained answers to 'position <<A>>' or 'position <<B>>'. The model could neither refuse nor"
        " answer otherwise, so its share of other answers has no meaning."
    ),
    tables="records (.parquet, .csv, .jsonl), or a table of counts",
    kinds=(RECORDS, COUNTS),
    read=lambda table, how: read_table(table),
    figures=_figures,
    overview=late(f"{__name__}.layouts:overview"),
    value=_pro_share,
    meaning="share of answers that take the pro side",
    columns=("trial", "stance", "arguments", "a_is", "failure", "answer"),
    position=Position("stance", ("pro", "con")),
    counts=_count_answers,
    judge=_judge_of,
    unread=_unread,
    harmless=("trials", "draws", "conditions"),
    few=late(f"{__name__}.rows:cross_fitted"),
    said=("issues_moved", *(measure.name for measure in OF_PAIRS)),
    prompts="free.judge.",
    reproductions=(MILLSTONE,),
    folders=MILLSTONE.folders,
    alone={
        "free": "Shares by configuration, and the side and strength of free answers, depend on the judge alone,"
        " including its errors."
    },
)


STUDY: Study[Issue, Options, Record, Analysis] = Study(
    name="open-mindedness",
    title="Open-mindedness",
    question="How far do arguments in the prompt move a model's stance on contested issues? (MillStone)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role("judge", "Model that labels free answers (--answers)", optional=True, judges=True),
    ),
    items=ISSUES,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompt_texts,
    simulated={
        "open-minded": late_respondent(f"{__name__}.simulated:make_open_minded"),
        "side-judge": late_respondent(f"{__name__}.simulated:JUDGE"),
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    planning=CANNED,
    measuring=REPORT.measuring,
    nulls=NULLS,
    published=PAPER,
)
