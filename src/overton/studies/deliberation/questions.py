"""The question to the judge: which of the 48 published values an explanation uses, up to five (section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from overton.calls import Form, Reply, system, user
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.studies.deliberation.prompts import LISTED, VALUES, evaluation_message, load, values_prompt
from overton.studies.orders import Order, form_in_order
from overton.studies.questions import JudgePrompt, Material, Question, Questions, controls_in, from_columns
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

USED, NOT_USED = "used", "not used"
"""Whether the judge names a value for an explanation."""

MOST = 5
"""The most values that one explanation may be given."""


class ValueLabels(NamedTuple):
    """The judge's answer: values from the list, and how many others it named."""

    values: tuple[str, ...]
    dropped: int


class _ValueAnswer(msgspec.Struct):
    answers: Annotated[list[Annotated[str, with_schema(enum=VALUES)]], with_schema(maxItems=MOST)]


def schema() -> dict[str, Any]:
    """The judge's output: at most five values from the list."""
    return schema_of(_ValueAnswer)


_FORM = Form(schema=schema())
_LISTED = frozenset(VALUES)


def _ask_values(material: Material, order: Order) -> tuple[JudgePrompt[ValueLabels]]:
    """The values of one evaluation, which the prompt lists in this order."""
    listed = order.of(LISTED)
    messages = (system(values_prompt(listed)), user(evaluation_message(material["verdict"], material["explanation"])))
    return (JudgePrompt(messages, form_in_order(_FORM, VALUES, tuple(dict.fromkeys(listed))), _read),)


def _read(reply: Reply) -> Reading[ValueLabels]:
    """Values exactly as written in the list, each once, at most five; others are dropped and counted."""
    reading = parse_json(reply.text, _ValueAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    named = reading.value.answers
    kept = [value for value in dict.fromkeys(named) if value in _LISTED][:MOST]
    return Reading(ValueLabels(tuple(kept), sum(value not in _LISTED for value in named)), reading.how)


def _labels(values: Sequence[ValueLabels | None], material: Material) -> dict[str, str | None]:
    (found,) = values
    return {} if found is None else {value: USED if value in found.values else NOT_USED for value in VALUES}


def _named(found: ValueLabels | None) -> tuple[str, ...] | None:
    return None if found is None else found.values


def _dropped(found: ValueLabels | None) -> dict[str, Any]:
    return {"values_dropped": None if found is None else found.dropped}


NOT_VALUED: Mapping[str, Any] = {"values": _named(None), **_dropped(None)}
"""The columns of a message without labels."""


def _explanations(results: Results) -> pl.DataFrame:
    """Every message with an explanation, with a label for each value: a judge may err by naming one or by missing one.

    Messages on one dilemma are treated as alike.
    """
    import polars as pl

    explained = results.records.filter(pl.col("explanation").str.strip_chars() != "")
    labels = [
        None if named is None else [USED if value in named else NOT_USED for value in VALUES]
        for named in explained["values"].to_list()
    ]
    name = pl.format("{}/{}/{}", "deliberation", "round", "agent")
    return explained.select(
        name.alias("id"),
        pl.Series("label", labels, pl.List(pl.String)),
        pl.concat_list(map(pl.lit, VALUES)).alias("row"),
        pl.col("dilemma").alias("group"),
        name.alias("whole"),
        pl.format("{}, {}", "format", "goal").alias("condition"),
        *("model", "verdict", "explanation"),
    )


def _texts(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the evaluation as the judge read it, and the value; people do not read the dilemma either."""
    import polars as pl

    evaluations = [evaluation_message(*row) for row in rows.select("verdict", "explanation").iter_rows()]
    return rows.with_columns(pl.Series("evaluation", evaluations, pl.String), value="row")


VALUE: Question[ValueLabels] = Question(
    key="value",
    labels=(USED, NOT_USED),
    role="values",
    prompts=_ask_values,
    labels_of=_labels,
    recorded=_named,
    details=_dropped,
    columns={"values": "values_again"},
    repeated="valued_again",
    agreement="values",
    rows=_explanations,
    material=from_columns(verdict="verdict", explanation="explanation"),
    texts=_texts,
    # The prompt's own words about evaluations.
    asks=f"Does this evaluation use this value?\n\n{str(load('values')['system']).split(chr(10) * 2)[1]}",
    meanings=lambda: {
        USED: "its writer uses this value in their reasoning",
        NOT_USED: "its writer does not use this value in their reasoning",
    },
    shown={"Evaluation": "evaluation", "Value": "value"},
    row="value",
    group="evaluation",
)
"""Whether an explanation uses each of the values."""

QUESTIONS = Questions(
    (VALUE,),
    complaint=str,  # an unusable reply is not requested again
    attempts=1,
    controls=controls_in("overton.studies.deliberation"),
    size=200,
)
