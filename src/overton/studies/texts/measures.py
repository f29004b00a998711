"""The share of each label: one measure for each, since the labels are those of the run's question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from overton.studies.measures import Grouping, Measure
from overton.studies.questions import Questions
from overton.studies.self_agreement import of_questions
from overton.studies.study_measures import StudyMeasures
from overton.studies.texts.items import TEXTS
from overton.studies.texts.options import TableHow
from overton.studies.texts.question_files import TableQuestion
from overton.studies.texts.questions import questions_of

if TYPE_CHECKING:
    from overton.studies.grouping import Frame
    from overton.studies.self_agreement import SelfAgreement
    from overton.studies.texts.rows import TextRows

_PREFIX = "share_"


def measure_name(label: str) -> str:
    """The key of a label's share."""
    return f"{_PREFIX}{label}"


def label_of(measure: str) -> str:
    """The label whose share has this key."""
    return measure.removeprefix(_PREFIX)


def shares_of(labels: Sequence[str]) -> list[Measure]:
    """The share of each of these labels: of the texts that have a label, those with this one."""
    return [
        Measure(
            measure_name(label),
            f"Labelled {label}",
            units="texts",
            judge="judge",
            nothing="no text has a label",
            leads=True,
            compared=True,
        )
        for label in labels
    ]


def _rows(labels: Sequence[str]) -> TextRows:
    from overton.studies.texts.rows import TextRows

    return TextRows({label: measure_name(label) for label in labels})


def _agreement(questions: Questions, frame: Frame, how: TableHow) -> dict[str, SelfAgreement]:
    return of_questions(questions, frame.units["texts"].table, "group", how.level)


def measures_of(asked: TableQuestion) -> StudyMeasures[TableHow]:
    """The measures of a run that asks this question."""
    questions = questions_of(asked)
    labels = questions.first.labels
    return StudyMeasures(
        study="table",
        how=TableHow,
        rows=partial(_rows, labels),
        items=TEXTS,
        groupings=(Grouping(shares_of(labels)),),
        questions=questions,
        labelled="texts",
        names=("trial",),
        agreement=lambda results, frame, how: _agreement(questions, frame, how),
        clusters="groups",
    )
