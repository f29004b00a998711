"""The judge that reads words knows every letter of the example, and errs at its error rate."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from benchmarks.letters import COLUMNS, LABELS, letters

from overton.calls import Form, Request, Settings, user
from overton.errors import RejectedError
from overton.files.texts import ItemFile
from overton.studies.texts import STUDY
from overton.studies.texts.question_files import TableQuestion, read_question
from overton.studies.texts.questions import question_of


def labels(asked: TableQuestion, errs: str) -> list[str]:
    """The judge's label of each letter."""
    judge: Any = STUDY.simulate([], "word-judge", {"errs": errs})
    question = question_of(asked)
    found = []
    for number, letter in enumerate(letters()):
        (prompt,) = question.prompts_about({"proposal": letter.proposal, "text": letter.text})
        reply = judge.reply(Request(prompt.messages, Settings(), prompt.form, number))
        found.append(prompt.single_label(reply.text) or "")
    return found


def test_the_example_equals_the_output_of_the_benchmark(kit: Any) -> None:
    with kit.letters.open(newline="") as file:
        assert list(csv.reader(file)) == [list(COLUMNS), *map(list, letters())]
    known = [letter.known for letter in letters()]
    assert [known.count(label) for label in LABELS] == [67, 67, 66]


def test_the_words_of_a_letter_decide(kit: Any) -> None:
    asked = read_question(ItemFile(kit.question))
    assert labels(asked, "0") == [letter.known for letter in letters()]
    for control in asked.controls:
        (prompt,) = question_of(asked).prompts_about(control.columns)
        judge: Any = STUDY.simulate([], "word-judge", {})
        assert judge.reply(Request(prompt.messages, Settings(), prompt.form, 1)).text == f"({control.label})"


def test_it_errs_at_its_error_rate(kit: Any) -> None:
    given = labels(read_question(ItemFile(kit.question)), "0.15")
    wrong = sum(label != letter.known for label, letter in zip(given, letters(), strict=True))
    assert 20 <= wrong <= 40  # 30 of 200 are expected, with a standard deviation of 5


def test_without_a_form_it_finds_the_labels_in_the_prompt() -> None:
    judge: Any = STUDY.simulate([], "word-judge", {})
    prompt = "A wonderful day.\n\n(good) It says wonderful.\n(none) It says nothing."
    assert judge.reply(Request((user(prompt),), Settings(), None, 1)).text == "(good)"


def test_it_knows_no_request_without_labels() -> None:
    judge: Any = STUDY.simulate([], "word-judge", {})
    for form in (None, Form()):
        with pytest.raises(RejectedError):
            judge.reply(Request((user("Hello."),), Settings(), form, 1))
