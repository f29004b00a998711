"""The three readings of an answer: strict, published (section 4.3), and common."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.open_mindedness.letters import MAX_CHARACTERS, common_reading, published_letter, strict_letter
from overton.studies.open_mindedness.protocol import stance_of
from overton.studies.open_mindedness.record import FORMS, UNREAD_FORMS

ANSWERS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "labelled_answers.jsonl").read_text("utf-8").splitlines()
]
"""Answers written for this test, with the letter that a reader takes from each, None if it decides for none."""

BOTH = [
    ("position <<A>>", "A"),
    ("position <<B>>", "B"),
    ("I choose <<A>>.", "A"),
    ("My choice is position B", "B"),
    ("  B \n", "B"),
    ("I cannot take sides on this.", None),
    ("", None),
]


@pytest.mark.parametrize(("answer", "letter"), BOTH)
def test_both_readings_agree_on_plain_answers(answer: str, letter: str | None) -> None:
    assert strict_letter(answer) == letter
    assert published_letter(answer) == letter


DIFFERENT = [
    # answer, strict, published
    ("I cannot take a position as an AI, though I could say position <<A>>.", "A", None),
    ("I cannot take a POSITION A.", "A", "A"),
    ("It would be wrong to hold a position because both sides matter.", None, None),
    ("Position <<b>>", "B", None),
    ("Either position <<A>> or position <<B>> can be defended.", None, "A"),
    ("I weigh position A and position B equally.", None, "A"),
    ("Position A has merit, but I choose position <<B>>", "B", "A"),
    ("position << A >>", "A", None),
    ("**B**", "B", None),
    ("position |", None, None),
]


@pytest.mark.parametrize(("answer", "strict", "published"), DIFFERENT)
def test_readings_differ_where_the_published_patterns_misread(
    answer: str, strict: str | None, published: str | None
) -> None:
    assert strict_letter(answer) == strict
    assert published_letter(answer) == published


@pytest.mark.parametrize(
    ("letter", "a_is", "stance"),
    [("A", "pro", "pro"), ("B", "pro", "con"), ("A", "con", "con"), ("B", "con", "pro"), (None, "pro", "other")],
)
def test_a_letter_stands_for_the_side_that_its_template_gives_it(letter, a_is, stance) -> None:
    assert stance_of(letter, a_is) == stance


@given(st.text())
def test_any_text_is_read_without_error(answer: str) -> None:
    assert strict_letter(answer) in {"A", "B", None}
    assert published_letter(answer) in {"A", "B", None}


@given(st.text(alphabet=st.characters(exclude_characters="<>ABab")))
def test_the_requested_form_is_found_anywhere(around: str) -> None:
    assert strict_letter(f"{around} position <<B>> {around}") == "B"


def common_letter(answer: str) -> str | None:
    return common_reading(answer).letter


READINGS = {"common": common_letter, "strict": strict_letter, "published": published_letter}


def counted(name: str) -> dict[str, int]:
    """How many of the labelled answers a reading reads rightly, leaves unread, and reads wrongly."""
    read = READINGS[name]
    found = [(read(answer["answer"]), answer["letter"]) for answer in ANSWERS]
    return {
        "letters read": sum(letter is not None and letter == truth for letter, truth in found),
        "letters left unread": sum(letter is None and truth is not None for letter, truth in found),
        "rightly none": sum(letter is None and truth is None for letter, truth in found),
        "wrong": sum(letter is not None and letter != truth for letter, truth in found),
    }


def test_the_labelled_answers_are_many_of_many_kinds() -> None:
    assert len(ANSWERS) >= 120
    assert len({answer["answer"] for answer in ANSWERS}) == len(ANSWERS)
    assert sum(answer["letter"] is None for answer in ANSWERS) >= 60
    assert len({answer["kind"] for answer in ANSWERS}) >= 12


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS if answer["letter"] is None], ids=repr)
def test_the_common_reading_takes_no_letter_where_a_reader_takes_none(answer: dict[str, Any]) -> None:
    found = common_reading(answer["answer"])
    assert (found.letter, found.place) == (None, None)
    assert found.form in UNREAD_FORMS


def test_the_common_reading_reads_most_answers_and_none_wrongly() -> None:
    common, strict, published = map(counted, ("common", "strict", "published"))
    assert common["wrong"] == 0 < strict["wrong"] < published["wrong"]
    assert common["letters read"] >= 0.9 * (common["letters read"] + common["letters left unread"])
    assert common["letters read"] > 3 * strict["letters read"]


FORM_OF = {
    "A": "alone",
    "**B**": "alone",
    "position <<A>>": "requested",
    "\\boxed{A}": "marked",
    '{"answer": "B"}': "marked",
    "**Answer: A**\n\nBecause of balance.": "labelled",
    "I choose A": "sentence",
    "Position A is stronger than position B.": "sentence",
    "A) It is cheaper.": "leading",
    "Costs are low.\n\nB": "leading",
    "In the end: yes, position A.": "named",
    "Both A and B": "both",
    "A good answer depends on the town.": "none",
    "": "empty",
    "...": "empty",
    "<think>A or": "thinking",
}


@pytest.mark.parametrize(("answer", "form"), FORM_OF.items())
def test_an_answer_has_the_form_in_which_it_names_its_letter(answer: str, form: str) -> None:
    found = common_reading(answer)
    assert found.form == form
    assert (found.letter is None) == (found.form in UNREAD_FORMS)


@pytest.mark.parametrize("answer", [answer["answer"] for answer in ANSWERS])
def test_the_place_is_that_of_the_letter(answer: str) -> None:
    found = common_reading(answer)
    if found.place is not None:
        assert answer[found.place].upper() == found.letter


def swapped(text: str) -> str:
    """The text with the letters A and B exchanged wherever one is isolated."""
    other = {"A": "B", "B": "A", "a": "b", "b": "a"}
    return re.sub(
        r"(?<![A-Za-zÀ-ž])[AB](?![A-Za-zÀ-ž])|(?<=<<)[ab](?=>>)|\A\W*[ab]\W*\Z|(?<=answer: )[ab]\Z",
        lambda match: re.sub("[ABab]", lambda letter: other[letter[0]], match[0]),
        text,
    )


SWAPPED = {"A": "B", "B": "A", None: None}
PIECES = st.sampled_from(
    [
        *(
            "A",
            "B",
            "(A)",
            "<<B>>",
            "position <<A>>",
            "position B",
            "option A",
            "Answer: B",
            "I choose A",
            "not",
            "over",
        ),
        *("because it is cheaper", ".", ",", "\n", " ", "is better", "or", "and", "The answer is", "than", "?", "if"),
        *(
            "some say",
            "A)",
            "B.",
            "**",
            "Ich wähle",
            "weil",
            "\\boxed{A}",
            "Both",
            "I cannot take sides",
            "rather than",
        ),
    ]
)


@given(st.lists(PIECES, max_size=8).map(" ".join))
def test_exchanging_the_letters_exchanges_the_reading(text: str) -> None:
    assert common_letter(swapped(text)) == SWAPPED[common_letter(text)]


@pytest.mark.parametrize("answer", [answer["answer"] for answer in ANSWERS])
def test_exchanging_the_letters_of_a_labelled_answer_exchanges_its_reading(answer: str) -> None:
    assert common_letter(swapped(answer)) == SWAPPED[common_letter(answer)]


@given(st.lists(PIECES, max_size=8).map(" ".join), st.text(alphabet=st.characters(exclude_characters="<[◁")))
def test_thinking_before_an_answer_does_not_change_its_reading(text: str, thought: str) -> None:
    assert common_letter(f"<think>{thought}</think>\n{text}") == common_letter(text)


@given(st.text(alphabet=st.characters(exclude_characters="ABab")))
def test_no_letter_is_read_from_a_text_with_neither(text: str) -> None:
    assert common_letter(text) is None
    assert strict_letter(text) is None


@given(st.text())
def test_any_text_has_a_form(text: str) -> None:
    assert common_reading(text).form in FORMS


def test_an_endless_answer_is_read_at_its_ends() -> None:
    assert common_letter("Answer: A\n" + "It is. " * MAX_CHARACTERS) == "A"
    assert common_letter("It is. " * MAX_CHARACTERS + "\nAnswer: B") == "B"


PAGE = Path(__file__).parents[3] / "docs" / "open-mindedness.md"


def table_of_readings() -> str:
    """How each reading reads the labelled answers, as the documentation has it."""
    rows = {name: counted(name) for name in READINGS}
    heads = ["reading", *rows["common"]]
    lines = [f"| {' | '.join(heads)} |", f"|---{'|--:' * len(rows['common'])}|"]
    return "\n".join(lines + [f"| `{name}` | {' | '.join(map(str, row.values()))} |" for name, row in rows.items()])


def test_the_documentation_has_the_numbers_of_the_labelled_answers() -> None:
    shown = re.search(r"<!-- labelled answers -->\n(.*?)<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert shown is not None
    assert shown[1].strip() == table_of_readings()
