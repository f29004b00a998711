"""One measure for the proportion of each label. The labels depend on the run's question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from overton.studies.measures import Grouping, Measure
from overton.studies.record_units import RecordUnits
from overton.studies.study_measures import StudyMeasures
from overton.studies.texts.items import TEXTS
from overton.studies.texts.options import TableHow
from overton.studies.texts.question_files import LABEL, TableQuestion
from overton.studies.texts.questions import QUESTIONS, asked_in, questions_of

_PREFIX = "share_"


def measure_name(label: str) -> str:
    """The key of the measure for a label's proportion."""
    return f"{_PREFIX}{label}"


def label_of(measure: str) -> str:
    """The label whose proportion the measure with this key is."""
    return measure.removeprefix(_PREFIX)


def shares_of(labels: Sequence[str]) -> list[Measure]:
    """The measures for the proportion of each label among the texts that have a label."""
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


def _rows(labels: Sequence[str]) -> RecordUnits:
    """The texts as units. There is a column for each label: true if the text has this label, false if the text has
    another label, and null if the text has no label."""
    import polars as pl

    return RecordUnits(
        "texts", "group", {measure_name(label): pl.col(LABEL) == label for label in labels}, condition="condition"
    )


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
        names=("trial",),
        clusters="groups",
    )


MEASURES = replace(
    measures_of(TableQuestion(key=LABEL)), questions=QUESTIONS, of_run=lambda results: measures_of(asked_in(results))
)
"""The measures of any run. The run's question determines the labels."""
