"""Whether each explanation uses each of the published values, as the judge said, laid out for an annotator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overton.studies.deliberation.asked_again import AGAIN, NOT_USED, USED
from overton.studies.deliberation.prompts import VALUES, evaluation_message, load
from overton.studies.judged_rows import JudgedRows, Sheet
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


def _rows(results: Results, what: str) -> JudgedRows:
    """Each explanation with known values, paired with each value: a judge may err by naming one or by missing one.

    The person reads what the judge read, not the dilemma. Messages on one dilemma are treated as alike.
    """
    import polars as pl

    known = results.records.filter(pl.col("values").is_not_null())
    codes = {value: number for number, value in enumerate(VALUES)}
    given = [NOT_USED] * (known.height * len(VALUES))
    for row, named in enumerate(known["values"].to_list()):
        for value in named:
            if value in codes:
                given[row * len(VALUES) + codes[value]] = USED

    def rows_at(places: Sequence[int]) -> pl.DataFrame:
        return known[[place // len(VALUES) for place in places]]

    def names_at(places: Sequence[int]) -> pl.DataFrame:
        value = pl.Series("value", [VALUES[place % len(VALUES)] for place in places], pl.String)
        return rows_at(places).select(
            pl.format("{}/{}/{}/{}", "deliberation", "round", "agent", value).alias("id"),
            pl.Series("label", [given[place] for place in places], pl.String),
            pl.col("dilemma").alias("group"),
            "model",
            pl.format("{}/{}/{}", "deliberation", "round", "agent").alias("whole"),
            value,
        )

    def drawn(places: Sequence[int]) -> pl.DataFrame:
        return names_at(places).with_columns(pl.Series("evaluation", _evaluation_messages(rows_at(places)), pl.String))

    judge = ", ".join(model.name for model in results.answering("values"))
    return JudgedRows(
        given,
        drawn,
        ("evaluation", "value"),
        (USED, NOT_USED),
        judge,
        question=f"Does this evaluation use this value?\n\n{_prompt_excerpt()}",
        definitions={
            USED: "its writer uses this value in their reasoning",
            NOT_USED: "its writer does not use this value in their reasoning",
        },
        seen={"Evaluation": "evaluation", "Value": "value"},
        row="value",
        group="evaluation",
        units=lambda: names_at(range(len(given))),
    )


def _prompt_excerpt() -> str:
    """What the judge's prompt says about evaluations, word for word."""
    return str(load("values")["system"]).split("\n\n")[1]


def _evaluation_messages(messages: pl.DataFrame) -> list[str]:
    return [evaluation_message(*row) for row in messages.select("verdict", "explanation").iter_rows()]


SHEET = Sheet(("value",), _rows, size=200, again=AGAIN)
