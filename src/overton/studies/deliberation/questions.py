"""The question to the judge: which values of a list, at most five, does an explanation use (section 3.3)?

The list is the published list or a run's own list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from overton.calls import Form, Reply, system, user
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.studies.deliberation import prompts
from overton.studies.deliberation.run_lists import PUBLISHED, list_in, list_of, values_prompt
from overton.studies.deliberation.value_lists import Judged, ValueList, have_definitions, names_of, values_in
from overton.studies.orders import Order, form_in_order
from overton.studies.questions import JudgePrompt, Material, Question, Questions, controls_in, from_columns
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

USED, NOT_USED = "used", "not used"
"""The judge's labels for an explanation and a value: whether it names the value."""

MOST = 5
"""The maximum number of values that the judge may name for an explanation."""


class ValueLabels(NamedTuple):
    """The judge's answer: values from the list, and the number of values outside it."""

    values: tuple[str, ...]
    dropped: int


class _ValueAnswer(msgspec.Struct):
    answers: list[str]


def schema(values: ValueList = PUBLISHED) -> dict[str, Any]:
    """The JSON schema of the judge's output: at most five values from the list."""
    named = Annotated[str, with_schema(enum=names_of(values))]
    answers = Annotated[list[named], with_schema(maxItems=MOST)]
    return schema_of(msgspec.defstruct("_ValueAnswer", [("answers", answers)]))


def _ask_values(values: ValueList, form: Form, material: Material, order: Order) -> tuple[JudgePrompt[ValueLabels]]:
    """The prompt that asks for the values of one evaluation. It lists the values in the given order."""
    if values is PUBLISHED:
        lines = order.of(prompts.LISTED)
        listed, prompt = tuple(dict.fromkeys(lines)), prompts.values_prompt(lines)
    else:
        ordered = tuple(order.of(values))
        listed, prompt = names_of(ordered), values_prompt(ordered)
    evaluation = prompts.evaluation_message(material["verdict"], material["explanation"])
    asked = form_in_order(form, names_of(values), listed)
    return (JudgePrompt((system(prompt), user(evaluation)), asked, partial(_read, frozenset(listed))),)


def _read(listed: frozenset[str], reply: Reply) -> Reading[ValueLabels]:
    """Read the values that match the list exactly, each once, at most five.

    Values outside the list are dropped and counted.
    """
    reading = parse_json(reply.text, _ValueAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    named = reading.value.answers
    kept = [value for value in dict.fromkeys(named) if value in listed][:MOST]
    return Reading(ValueLabels(tuple(kept), sum(value not in listed for value in named)), reading.how)


def _labels(names: tuple[str, ...], values: Sequence[ValueLabels | None], material: Material) -> dict[str, str | None]:
    (found,) = values
    return {} if found is None else {name: USED if name in found.values else NOT_USED for name in names}


def _named(found: ValueLabels | None) -> tuple[str, ...] | None:
    return None if found is None else found.values


def _dropped(found: ValueLabels | None) -> dict[str, Any]:
    return {"values_dropped": None if found is None else found.dropped}


NOT_VALUED: Mapping[str, Any] = {"values": _named(None), **_dropped(None)}
"""The columns for a message without labels."""


def _explanations(names: tuple[str, ...], results: Results) -> pl.DataFrame:
    """Every message with an explanation, with a label for each value.

    A judge errs by naming a wrong value or by missing one.

    Messages on the same dilemma form one group.
    """
    import polars as pl

    explained = results.records.filter(pl.col("explanation").str.strip_chars() != "")
    labels = [
        None if named is None else [USED if value in named else NOT_USED for value in names]
        for named in explained["values"].to_list()
    ]
    name = pl.format("{}/{}/{}", "deliberation", "round", "agent")
    return explained.select(
        name.alias("id"),
        pl.Series("label", labels, pl.List(pl.String)),
        pl.concat_list(map(pl.lit, names)).alias("row"),
        pl.col("dilemma").alias("group"),
        name.alias("whole"),
        pl.format("{}, {}", "format", "goal").alias("condition"),
        *("model", "verdict", "explanation"),
    )


def _texts(meant: Mapping[str, str], results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the evaluation as the judge read it, the value, and its definition if the list has one.

    Like the judge, people do not read the dilemma.
    """
    import polars as pl

    evaluations = [prompts.evaluation_message(*row) for row in rows.select("verdict", "explanation").iter_rows()]
    shown = rows.with_columns(pl.Series("evaluation", evaluations, pl.String), value="row")
    return shown.with_columns(definition=pl.col("value").replace_strict(meant)) if meant else shown


_ASKS = f"Does this evaluation use this value?\n\n{str(prompts.load('values')['system']).split(chr(10) * 2)[1]}"
"""The question for people, with the published prompt's own words on evaluations.

It stays the same if a run replaces that prompt.
"""


def _question(values: ValueList) -> Question[ValueLabels]:
    """The question whether an explanation uses each of these values."""
    names = names_of(values)
    meant = {each.value: each.definition for each in values} if have_definitions(values) else {}
    return Question(
        key="value",
        labels=(USED, NOT_USED),
        role="values",
        prompts=partial(_ask_values, values, Form(schema=schema(values))),
        labels_of=partial(_labels, names),
        recorded=_named,
        details=_dropped,
        columns={"values": "values_again"},
        repeated="valued_again",
        agreement="values",
        rows=partial(_explanations, names),
        material=from_columns(verdict="verdict", explanation="explanation"),
        texts=partial(_texts, meant),
        asks=_ASKS,
        meanings=lambda: {
            USED: "its writer uses this value in their reasoning",
            NOT_USED: "its writer does not use this value in their reasoning",
        },
        shown={"Evaluation": "evaluation", "Value": "value", **({"Definition": "definition"} if meant else {})},
        row="value",
        group="evaluation",
    )


_VALUES = "(values)"
"""The key of a run's own list in the material."""


_CONTROLS = controls_in("overton.studies.deliberation")
"""The control texts. They concern the published values."""


@lru_cache(maxsize=16)
def questions_of(judged: Judged) -> Questions:
    """All questions to the judge of a run whose option `values` is `judged`."""
    values = list_of(judged)
    own = msgspec.to_builtins(values)
    return Questions(
        (_question(values),),
        complaint=str,  # an unusable reply is not requested again
        attempts=1,
        controls=_CONTROLS if values is PUBLISHED else None,
        size=200,
        shared=None if values is PUBLISHED else lambda results: {_VALUES: own},
    )


QUESTIONS = replace(
    questions_of(True),
    of_run=lambda results: questions_of(list_in(results)),
    of_material=lambda material: questions_of(values_in(material[_VALUES]) if _VALUES in material else True),
)
"""The questions of any run. Its list determines the values."""

VALUE = QUESTIONS.first
"""The question whether an explanation uses each of the published values."""
