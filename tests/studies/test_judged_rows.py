"""The rows of a question: things with one label or several, with their texts, materials and repeats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from overton.calls import Form
from overton.errors import InputError
from overton.judging import read_choice
from overton.studies.judged_rows import QuestionRows, rows_of
from overton.studies.questions import Question, Questions, from_columns, label_prompts
from overton.studies.results import MeasuredModel, Results, RunFacts


def in_one_row(results: Results) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": ["p1", "p2", "p3"],
            "label": ["cat", None, None],
            "group": ["g", "g", "h"],
            "condition": ["c", "c", "d"],
            "asked": [True, False, True],
        }
    )


def in_several(results: Results) -> pl.DataFrame:
    animals = ["cat", "dog"]
    return in_one_row(results).with_columns(
        label=pl.Series([["used", "not"], None, [None, "used"]], dtype=pl.List(pl.String)),
        row=pl.Series([animals] * 3, dtype=pl.List(pl.String)),
        whole=pl.col("id"),
        model=pl.lit("m"),
    )


def with_texts(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        text=pl.col("group") + pl.lit(": ") + (pl.col("row") if "row" in rows.columns else pl.col("condition"))
    )


QUESTION: Question[str] = Question(
    key="animal",
    labels=("cat", "dog"),
    prompts=label_prompts(("cat", "dog"), lambda material, order: (), read_choice, Form()),
    rows=in_one_row,
    material=from_columns(of="group"),
    texts=with_texts,
    asks="Which animal?",
    meanings=lambda: {"cat": "it mews", "dog": "it barks"},
    shown={"Text": "text"},
    row="text",
    group="person",
    reason="why",
)
JUDGE = MeasuredModel("j", "simulated/judge")


def results(**options: Any) -> Results:
    return Results(pl.DataFrame(), runs=(RunFacts("r", seed=0, options=options, roles={"judge": (JUDGE,)}),))


def test_a_thing_with_one_label_is_one_row_whether_it_was_labelled_or_not() -> None:
    judged = QuestionRows(QUESTION, results())
    assert judged.rows.select("id", "label").rows() == [("p1", "cat"), ("p2", None), ("p3", None)]
    assert judged.drawn([2, 0])["text"].to_list() == ["h: d", "g: c"]
    assert judged.judge == "j"


def test_a_repeat_skips_things_without_a_request() -> None:
    judged = QuestionRows(QUESTION, results())
    assert (judged.asked["id"].to_list(), judged.is_labelled) == (["p1", "p3"], [True, False])
    assert [judged.labels(place) for place in (0, 1)] == [{"": "cat"}, {"": None}]
    assert judged.materials([1]) == [{"of": "h"}]


def test_a_thing_with_several_labels_is_a_row_for_each_and_none_if_it_has_none() -> None:
    judged = QuestionRows(replace(QUESTION, rows=in_several), results())
    assert judged.rows.select("id", "label", "whole").rows() == [
        ("p1/cat", "used", "p1"),
        ("p1/dog", "not", "p1"),
        ("p3/cat", None, "p3"),
        ("p3/dog", "used", "p3"),
    ]
    assert judged.drawn([3])["text"].to_list() == ["h: dog"]
    assert judged.is_labelled == [True, True]
    assert judged.labels(1) == {"cat": None, "dog": "used"}
    every = QuestionRows(replace(QUESTION, rows=lambda results: in_several(results).drop("asked")), results())
    assert (every.labels(1), every.is_labelled) == ({"cat": None, "dog": None}, [True, False, True])
    assert (len(every.asked), len(every.rows)) == (3, 4)


def test_a_row_may_have_a_name_of_its_own_below_its_thing() -> None:
    named = replace(QUESTION, rows=lambda results: in_one_row(results).with_columns(row=pl.lit("v1")))
    judged = QuestionRows(named, results())
    assert judged.rows["id"].to_list() == ["p1/v1", "p2/v1", "p3/v1"]
    assert judged.labels(0) == {"v1": "cat"}


def test_whole_groups_are_drawn_by_their_own_names() -> None:
    judged = QuestionRows(replace(QUESTION, rows=in_several), results())
    assert (judged.units("plain").group, judged.units("whole").group) == (["g", "g", "h"], ["p1", "p1", "p3"])
    assert (judged.units("whole").alike, judged.units("plain").unlabelled) == (["g", "g", "h"], 1)


def test_the_first_question_with_labels_is_the_usual_one() -> None:
    no_label = pl.lit(None, pl.String).alias("label")
    none = replace(QUESTION, key="none", rows=lambda results: in_one_row(results).with_columns(no_label))
    questions = Questions((none, QUESTION), str)
    assert rows_of(questions, results()).question.key == "animal"
    assert rows_of(questions, results(), "none").rows["label"].null_count() == 3
    assert rows_of(Questions((none,), str), results()).question.key == "none"
    with pytest.raises(InputError, match="what: other: must be none or animal"):
        rows_of(questions, results(), "other")


@pytest.mark.parametrize(("shares", "first"), [("sampled", {}), ("auto", {"label_first": True})])
def test_materials_of_a_run_share_its_manner(shares: str, first: dict[str, bool]) -> None:
    questions = Questions((QUESTION,), str, shared=lambda results: {"characters": 9})
    assert questions.manner(results(shares=shares)) == {"characters": 9, **first}
    assert Questions((replace(QUESTION, reason=""),), str).manner(results(shares=shares)) == {}
