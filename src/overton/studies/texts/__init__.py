"""A study in which a judge labels the texts of a table made outside Overton. Each text gets one label. The question is
the user's own or an installed study's."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

from overton.studies.claims import Claims
from overton.studies.simulated import degenerate, word_judge
from overton.studies.study import Role, Study
from overton.studies.study_report import StudyReport
from overton.studies.tables import TableKind
from overton.studies.texts import prompts
from overton.studies.texts.findings import claims_about
from overton.studies.texts.items import TEXTS, TextRow
from overton.studies.texts.measures import MEASURES, label_of
from overton.studies.texts.options import TableHow, TableOptions
from overton.studies.texts.planning import CANNED
from overton.studies.texts.protocol import conduct, trials
from overton.studies.texts.record import Record

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.findings import Said
    from overton.studies.frame import Analysis
    from overton.studies.layouts import SectionOf
    from overton.studies.results import Results
    from overton.studies.sections import TrialTable
    from overton.studies.tables import RawTable

__all__ = ["STUDY", "Record", "TableOptions", "TextRow"]

LABELS = TableKind.of(
    Record,
    "labels",
    ("text", "label", "model", "group", "condition", "trial", "judged_again", "label_again", "unread", "failure"),
    completed=True,
)
"""The kind of table with labelled texts, one row per text."""


def _read_table(raw: RawTable, how: TableHow) -> pl.DataFrame:
    """The records of a table of labels. A text without a group forms its own group."""
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


def _findings(analysis: Analysis) -> Sequence[Said]:
    return claims_about([label_of(measure) for measure in analysis.measures]).findings(analysis)


REPORT = StudyReport(
    measures=MEASURES,
    record=Record,
    claims=Claims((), items="groups", first=_findings),
    summary="How often a judge gives each label of a question to texts, and how far to trust the judge.",
    layouts=_layouts,
    replies="texts",
    answers=_answers,
    subject="any text",
    form="Overton did not make these texts and did not constrain their format.",
    kinds=(LABELS,),
    read=_read_table,
    value=_share_labelled,
    meaning="share of texts with a label",
    prompts="ours.",
)
"""The report for any set of labels."""

STUDY: Study[TextRow, TableOptions, Record, Analysis] = Study(
    name="table",
    title="Judged texts of a table",
    question="How often does each label of a question apply to the texts of a table? (any table, any question)",
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
    measuring=REPORT.measuring,
)
"""A study in which one judge labels every text of a table. The column `model` names the source of a text. All sources
share one pipeline."""
