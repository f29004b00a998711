"""A table from elsewhere, judged: each text gets one label, by a question of the user's or of an installed study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, TypeVar

from overton.studies.results import Results
from overton.studies.simulated import degenerate, word_judge
from overton.studies.study import Role, Study
from overton.studies.study_report import StudyReport
from overton.studies.tables import TableKind
from overton.studies.texts import prompts
from overton.studies.texts.findings import claims_about
from overton.studies.texts.items import TEXTS, TextRow
from overton.studies.texts.measures import label_of, measures_of
from overton.studies.texts.options import TableHow, TableOptions
from overton.studies.texts.planning import CANNED
from overton.studies.texts.protocol import conduct, trials
from overton.studies.texts.question_files import LABEL, TableQuestion
from overton.studies.texts.questions import QUESTIONS, asked_in
from overton.studies.texts.record import Record

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.correction import CorrectionCase
    from overton.studies.findings import Said
    from overton.studies.frame import Analysis
    from overton.studies.layouts import SectionOf
    from overton.studies.measurement import Measuring
    from overton.studies.measures import Sides
    from overton.studies.people_labels import People
    from overton.studies.sections import TrialTable
    from overton.studies.tables import RawTable

__all__ = ["STUDY", "Record", "TableOptions", "TextRow"]

Value = TypeVar("Value")

LABELS = TableKind.of(
    Record,
    "labels",
    ("text", "label", "model", "group", "condition", "trial", "judged_again", "label_again", "unread", "failure"),
    completed=True,
)
"""One row per text."""


def _read_table(raw: RawTable, how: TableHow) -> pl.DataFrame:
    """The records of a table of labels. A text without a group is alike with no other."""
    import polars as pl

    from overton.studies import table_frames

    table = table_frames.read(LABELS, raw)
    return table.with_columns(pl.coalesce(name, "text").alias(name) for name in ("group", "trial"))


def _layouts(analysis: Analysis) -> Sequence[SectionOf]:
    from overton.studies.texts.layouts import layouts

    return layouts(analysis)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    from overton.studies.texts.layouts import text_table

    return text_table(results)


def _share_labelled(records: Sequence[Record]) -> float:
    return sum(record.label is not None for record in records) / len(records) if records else nan


def _analyze(results: Results, how: TableHow) -> Analysis:
    return measures_of(asked_in(results)).analyze(results, how)


def _contributions(results: Results, how: TableHow) -> Sides:
    return measures_of(asked_in(results)).contributions(results, how)


def _correct(results: Results, what: str, people: People, how: TableHow) -> CorrectionCase | None:
    """Shares by model and condition, whose intervals are for texts like these: None if the user asks about these."""
    return None if how.describes_these else measures_of(asked_in(results)).correct(results, what, people, how)


def _of_table(measure: Callable[[Results, TableHow], Value]) -> Callable[[RawTable, TableHow], Value]:
    """The same of a table of labels."""
    return lambda table, how: measure(Results(_read_table(table, how)), how)


def _findings(analysis: Analysis) -> Sequence[Said]:
    return claims_about([label_of(measure) for measure in analysis.measures]).findings(analysis)


def _place(measure: str, model: str) -> tuple[str, ...]:
    return ("rows",)


def _judge(measure: str) -> str:
    return "judge"


def _for_any_question(measuring: Measuring[Analysis, Record]) -> Measuring[Analysis, Record]:
    """The same for results of any question: which labels there are follows from the results, or from their analysis."""
    comparing, correcting, headline = measuring.comparing, measuring.correcting, measuring.headline
    assert comparing is not None
    assert correcting is not None
    assert headline is not None
    return replace(
        measuring,
        records=_analyze,
        table=_of_table(_analyze),
        findings=_findings,
        comparing=replace(
            comparing, records=_contributions, table=_of_table(_contributions), judge=_judge, place=_place
        ),
        correcting=replace(correcting, case=_correct),
        headline=replace(headline, judge=lambda figure, options: "judge"),
        questions=QUESTIONS,
    )


REPORT = StudyReport(
    measures=measures_of(TableQuestion(key=LABEL)),
    record=Record,
    claims=claims_about(()),
    summary="How often texts have each label of a question, by a judge, and how far the judge can be trusted.",
    layouts=_layouts,
    replies="texts",
    answers=_answers,
    subject="any text",
    form="Overton did not make these texts, and held them to no form.",
    kinds=(LABELS,),
    read=_read_table,
    value=_share_labelled,
    meaning="share of texts with a label",
    prompts="ours.",
)
"""The report, whatever the labels."""

STUDY: Study[TextRow, TableOptions, Record, Analysis] = Study(
    name="table",
    title="Texts of a table, judged",
    question="How often do texts from elsewhere have each label of a question? (any table, any question)",
    roles=(Role("judge", "Model that gives each text a label", judges=True, together=True),),
    items=TEXTS,
    options=TableOptions,
    record=Record,
    kind="labels",
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "word-judge": word_judge,
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    planning=CANNED,
    measuring=_for_any_question(REPORT.measuring),
)
"""Every text of a table, labelled by one judge. The rows' `model` is what a text is by, so the judge has no lane of its
own."""
