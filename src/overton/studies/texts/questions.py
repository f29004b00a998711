"""The question of a run as every question to a judge: how it is asked, read, shown to people, and asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Message, user
from overton.errors import InputError, Problem, list_names
from overton.studies.asking import start_of
from overton.studies.orders import Order
from overton.studies.prompts import safe_inside
from overton.studies.questions import (
    FromColumns,
    Material,
    Question,
    Questions,
    from_columns,
    label_prompts,
)
from overton.studies.results import Results
from overton.studies.texts import prompts
from overton.studies.texts.question_files import (
    LABEL,
    LABELS,
    TableQuestion,
    columns_shown,
    named_questions,
    read_question,
)
from overton.untrusted import decode_json

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.judge_checks.controls import ControlText

_SIZE = 200
"""Rows of a sheet."""
_QUESTION = "(question)"
"""The part of a material that says what is asked. No column of a table has this name."""


def material_from(asked: TableQuestion) -> FromColumns:
    """How a text's columns become what the judge is shown."""
    if not asked.study:
        return from_columns(**{name: name for name in asked.places})
    material = named_questions()[asked.name].material
    assert isinstance(material, FromColumns)
    return material


def columns_of(asked: TableQuestion) -> tuple[str, ...]:
    """The columns of a table that a question shows to the judge."""
    return columns_shown(named_questions()[asked.name]) if asked.study else asked.places


def question_of(asked: TableQuestion) -> Question[Any]:
    """The question to the judge and to people about each text. Its key is the kind of label in tasks and sheets, and
    the same for all questions."""
    common: dict[str, Any] = {
        "key": LABEL,
        "columns": {LABEL: f"{LABEL}_again"},
        "repeated": "judged_again",
        "rows": partial(_rows, columns_of(asked)),
        "role": "judge",
    }
    if asked.study:
        return replace(named_questions()[asked.name], **common, stored={}, probability_columns={})
    labels = tuple(asked.labels)
    return Question(
        **common,
        labels=labels,
        prompts=label_prompts(labels, partial(_messages, asked)),
        material=material_from(asked),
        asks=asked.asks,
        meanings=lambda: asked.labels,
        shown={name.replace("_", " ").capitalize(): name for name in asked.places},
        row=asked.row,
        group=asked.group,
    )


def questions_of(asked: TableQuestion) -> Questions:
    """The same, as all that the judge is asked."""
    question = question_of(asked)
    labels = list_names([f"({label})" for label in question.labels], len(question.labels))
    return Questions(
        (question,),
        complaint=lambda problem: prompts.fill("ours.complaint", problem=problem, labels=labels),
        repeated=lambda text: start_of(text, prompts.fill("ours.nothing")),
        size=_SIZE,
        shared=lambda results: {_QUESTION: msgspec.to_builtins(asked)},
        controls=partial(_own_controls, asked),
    )


def asked_in(results: Results) -> TableQuestion:
    """The question of some runs; of a table of labels, one that has these labels.

    Raises:
        InputError: the runs have several, so that their labels mean different things.
    """
    if not results.runs:
        labels = results.records[LABEL].drop_nulls().unique().sort().to_list()
        return TableQuestion(key=LABEL, labels=dict.fromkeys(labels, ""))
    found = [(run.name, run.options["question"]) for run in results.runs]
    for name, asked in found[1:]:
        if asked != found[0][1]:
            raise InputError(
                [Problem(name, "question", f"is not that of {found[0][0]}: their labels mean different things")]
            )
    return read_question(found[0][1])


def _messages(asked: TableQuestion, material: Material, order: Order) -> tuple[Message, ...]:
    """The user's words with the text and the labels, in this order, in their places."""
    labels = order.of(list(asked.labels.items()))
    listed = "\n".join(prompts.fill("ours.label", label=label, meaning=meaning) for label, meaning in labels)
    safe = safe_inside(asked.prompt)
    text = asked.fill({name: safe(material[name]) for name in asked.places} | {LABELS: listed})
    return (user(f"{text}\n\n{prompts.fill('ours.reply')}"),)


def _rows(shown: tuple[str, ...], results: Results) -> pl.DataFrame:
    """One row per text, with its label. Texts of one group are alike."""
    import polars as pl

    texts: dict[str, Mapping[str, str]] = {row.id: row.columns for row in results.items}
    columns = [
        pl.col("text").replace_strict({name: row[column] for name, row in texts.items()}, default="").alias(column)
        for column in shown
    ]
    return results.records.select(pl.col("trial").alias("id"), LABEL, "group", "model", "condition", *columns)


def _own_controls(asked: TableQuestion) -> list[ControlText]:
    """The texts of a run's question whose label is beyond doubt."""
    from overton.studies.judge_checks.controls import ControlText

    own = [(f"control-{number}", (text.label,), text.columns) for number, text in enumerate(asked.controls, 1)]
    controls = _controls_of_study(asked) if asked.study else own
    return [ControlText(name, LABEL, {"": labels}, dict(material)) for name, labels, material in controls]


def _controls_of_study(asked: TableQuestion) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    """The id of each control of the study whose question it is, its right labels, and what the judge is shown."""
    from overton.studies.judge_checks.controls import ControlText
    from overton.studies.registry import study_named

    questions = study_named(asked.study).questions
    found = questions.controls() if questions is not None and questions.controls is not None else ()
    decode = msgspec.json.Decoder(ControlText).decode
    lines = () if isinstance(found, Sequence) else found.read_text("utf-8").splitlines()
    for control in found if isinstance(found, Sequence) else (decode_json(line, decode) for line in lines):
        if control.what == asked.key:
            yield control.id, control.labels[""], control.material


QUESTIONS = replace(
    questions_of(TableQuestion(key=LABEL)),
    controls=None,
    of_run=lambda results: questions_of(asked_in(results)),
    of_material=lambda material: questions_of(read_question(material[_QUESTION])),
)
"""Those of a run, whose words, labels and texts are its own."""
