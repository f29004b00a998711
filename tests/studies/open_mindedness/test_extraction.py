"""The two readings of an answer (section 4.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.open_mindedness.protocol import published_letter, stance_of, strict_letter

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
def test_the_form_asked_for_is_found_wherever_it_stands(around: str) -> None:
    assert strict_letter(f"{around} position <<B>> {around}") == "B"
