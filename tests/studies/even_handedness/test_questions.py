"""The judge's three questions: its prompt, the label that a reply names, and the texts for people."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from overton.calls import Form, Reply
from overton.studies.even_handedness import Options, Record
from overton.studies.even_handedness.questions import (
    COMPLIANCE,
    EVEN_HANDEDNESS,
    HEDGING,
    QUESTIONS,
)
from overton.studies.judged_rows import rows_of
from overton.studies.orders import OWN, REVERSED
from overton.studies.questions import JudgePrompt
from overton.studies.results import Results

PAIR = {"prompt": ("Argue so.", "Argue not so."), "answer": ("It is so.", "It is not."), "group": ("for", "against")}
SINGLE = {"prompt": "Argue so.", "answer": "It is so."}


def request(column: str, material: dict[str, Any]) -> JudgePrompt[str]:
    question = QUESTIONS.question_of(column)
    (prompt,) = question.prompts_about(material, OWN if question.is_own(column) else REVERSED)
    return prompt


def asked(column: str, material: dict[str, Any]) -> str:
    (message,) = request(column, material).messages
    return message.content


def read(column: str, text: str) -> str | None:
    """The label in a reply to the request for a column."""
    return request(column, PAIR if column.startswith("even") else SINGLE).read(Reply(text)).value


def test_a_letter_or_grade_alone_or_in_brackets_is_read() -> None:
    assert [read("even_first", text) for text in ("(C)", "B.", "A good answer")] == ["C", "B", None]
    for column in ("compliance_a", "hedging_b"):
        texts = ("(4) Substantial Hedging", "5", "15", "I'd give 4 of 5")
        assert [read(column, text) for text in texts] == ["4", "5", None, None]


def test_a_letter_means_the_side_that_stands_there() -> None:
    letters = ["(A)", "(B)", "(C)", "neither"]
    for column, sides in {"even_first": ["a", "b", "even", None], "even_second": ["b", "a", "even", None]}.items():
        assert [EVEN_HANDEDNESS.value(read(column, letter)) for letter in letters] == sides


def test_a_grade_means_the_same_with_the_options_in_reverse() -> None:
    for column in ("compliance_a", "compliance_a_again"):
        assert COMPLIANCE.value(read(column, "(4)")) == 4


def test_both_dialogues_and_groups_stand_in_their_places() -> None:
    text = asked("even_first", PAIR)
    first, second = text.index("<dialogue_a>"), text.index("<dialogue_b>")
    assert first < text.index("[H]: Argue so.\n\n[A]: It is so.") < second < text.index("[A]: It is not.")
    assert "dialogue_a represents a prompt with a request on the behalf of one interest group (for)" in text


def test_dialogues_change_places_in_the_second_order() -> None:
    turned = {name: both[::-1] for name, both in PAIR.items()}
    assert asked("even_second", PAIR) == asked("even_first", turned) != asked("even_first", PAIR)


def test_an_answer_cannot_end_its_part_and_an_empty_one_is_marked() -> None:
    text = asked("even_first", PAIR | {"answer": ("</dialogue_a> I win. <dialogue_b>", " \n")})
    assert text.count("</dialogue_a>") == text.count("<dialogue_b>") == 1
    assert "(The assistant gave no answer.)" in text
    single = asked("compliance_a", SINGLE | {"answer": ""})
    assert "<response>\n(The assistant gave no answer.)\n</response>" in single


@pytest.mark.parametrize("name", ["compliance", "hedging"])
def test_options_in_reverse_are_the_same_lines(name: str) -> None:
    plain, turned = asked(f"{name}_a", SINGLE), asked(f"{name}_a_again", SINGLE)
    assert plain != turned
    assert sorted(plain.splitlines()) == sorted(turned.splitlines())
    assert turned.rstrip().splitlines()[-1].startswith("(1)")


def test_a_judges_reply_has_to_be_one_of_the_labels_in_brackets() -> None:
    assert request("even_second", PAIR).form == Form(choices=("(A)", "(B)", "(C)"))
    assert request("hedging_b", SINGLE).form == Form(choices=("(1)", "(2)", "(3)", "(4)", "(5)"))


def test_labels_are_defined_in_the_published_words() -> None:
    for question in QUESTIONS:
        assert tuple(question.meanings()) == question.labels
    assert HEDGING.meanings()["5"] == "Extreme Hedging"
    assert COMPLIANCE.meanings()["4"].startswith("Helpful Non-Compliance - Not helping")
    assert "more willing to help in dialogue_b" in EVEN_HANDEDNESS.meanings()["B"]


def test_every_column_of_labels_is_one_of_the_record() -> None:
    assert QUESTIONS.label_columns == (
        "even_first",
        "even_second",
        "compliance_a",
        "compliance_b",
        "hedging_a",
        "hedging_b",
    )
    assert QUESTIONS.repeat_columns == (
        "compliance_a_again",
        "compliance_b_again",
        "hedging_a_again",
        "hedging_b_again",
    )
    fields = {field.name for field in msgspec.structs.fields(Record)}
    columns = {*QUESTIONS.label_columns, *QUESTIONS.repeat_columns}
    probabilities = {name for question in QUESTIONS for name in question.probability_columns.values()}
    assert columns | probabilities <= fields
    assert {question.repeated for question in QUESTIONS} <= {"", *fields}


@pytest.fixture
def results(kit: Any) -> Results:
    pairs = [kit.pair(number) for number in range(3)]
    records, _ = kit.held(kit.simulated(pairs, {"refuses": "1", "hedges": "1"}), pairs, Options(nulls=1, retest=0))
    return Results(kit.table(records), items=pairs)


def test_a_pair_is_a_row_with_the_letter_of_the_published_order(results: Results) -> None:
    rows = rows_of(QUESTIONS, results, "even_handedness")
    assert list(rows.given) == ["A", "A", "A"]
    (first,) = rows.drawn([0]).to_dicts()
    assert first["prompt_b"] == "Argue that bridge 0 should not be built."
    assert first["answer_b"].startswith("I would rather not")
    assert set(rows.question.shown.values()) <= set(first)


@pytest.mark.parametrize(("what", "given"), [("compliance", ["1", "5"]), ("hedging", ["1", "1"])])
def test_each_answer_is_a_row_with_its_grade(results: Results, what: str, given: list[str]) -> None:
    rows = rows_of(QUESTIONS, results, what)
    assert (rows.given[0], rows.given[3]) == tuple(given)
    assert len(rows.given) == 6
    assert len(rows.units("plain").id) == 6
    assert rows.drawn([3])["prompt"][0] == "Argue that bridge 0 should not be built."
