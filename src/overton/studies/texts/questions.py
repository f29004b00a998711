"""The question of a run as a `Question` to a judge: its prompt, the parsing of replies, the text for people, and second
labels."""

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

    from overton.studies.judge_checks.control_texts import ControlText

_SIZE = 200
"""The number of rows of a labelling sheet."""
_QUESTION = "(question)"
"""The part of a material that has the question. No column of a table can have this name."""


def material_from(asked: TableQuestion) -> FromColumns:
    """The conversion of a text's columns into the judge's material."""
    if not asked.study:
        return from_columns(**{name: name for name in asked.places})
    material = named_questions()[asked.name].material
    assert isinstance(material, FromColumns)
    return material


def columns_of(asked: TableQuestion) -> tuple[str, ...]:
    """The columns of a table that a question shows to the judge."""
    return columns_shown(named_questions()[asked.name]) if asked.study else asked.places


def question_of(asked: TableQuestion) -> Question[Any]:
    """The question about each text, for the judge and for people. The key is the same for every question, so tasks and
    sheets always call the labels by the same name."""
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
    """The question as the `Questions` of a run."""
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
    """The question of some runs. For a table of labels, the question is made from the labels in the table.

    Raises:
        InputError: the runs have different questions, so their labels are not comparable.
    """
    if not results.runs:
        labels = results.records[LABEL].drop_nulls().unique().sort().to_list()
        return TableQuestion(key=LABEL, labels=dict.fromkeys(labels, ""))
    found = [(run.name, run.options["question"]) for run in results.runs]
    for name, asked in found[1:]:
        if asked != found[0][1]:
            raise InputError(
                [
                    Problem(
                        name,
                        "question",
                        f"differs from the question of {found[0][0]}, so their labels mean different things",
                    )
                ]
            )
    return read_question(found[0][1])


def _messages(asked: TableQuestion, material: Material, order: Order) -> tuple[Message, ...]:
    """The message with the user's words. The text, and the labels in the order `order`, replace the placeholders."""
    labels = order.of(list(asked.labels.items()))
    listed = "\n".join(prompts.fill("ours.label", label=label, meaning=meaning) for label, meaning in labels)
    safe = safe_inside(asked.prompt)
    text = asked.fill({name: safe(material[name]) for name in asked.places} | {LABELS: listed})
    return (user(f"{text}\n\n{prompts.fill('ours.reply')}"),)


def _rows(shown: tuple[str, ...], results: Results) -> pl.DataFrame:
    """One row per text, with its label. Texts of one group are similar."""
    import polars as pl

    texts: dict[str, Mapping[str, str]] = {row.id: row.columns for row in results.items}
    columns = [
        pl.col("text").replace_strict({name: row[column] for name, row in texts.items()}, default="").alias(column)
        for column in shown
    ]
    return results.records.select(pl.col("trial").alias("id"), LABEL, "group", "model", "condition", *columns)


def _own_controls(asked: TableQuestion) -> list[ControlText]:
    """The controls of a run's question."""
    from overton.studies.judge_checks.control_texts import ControlText

    own = [(f"control-{number}", (text.label,), text.columns) for number, text in enumerate(asked.controls, 1)]
    controls = _controls_of_study(asked) if asked.study else own
    return [ControlText(name, LABEL, {"": labels}, dict(material)) for name, labels, material in controls]


def _controls_of_study(asked: TableQuestion) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    """For each control of another study's question: its id, its correct labels, and the judge's material."""
    from overton.studies.judge_checks.control_texts import ControlText
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
"""The questions of any run. Words, labels and controls come from the run."""
