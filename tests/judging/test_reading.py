from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.judging import read_bracketed_label, read_choice

CHOICES = ("neutral", "favors pro", "favors con")


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        (" neutral\n", "neutral", "as is"),
        ("Neutral.", "neutral", "repaired"),
        ("My verdict: it Favors Pro, clearly.", "favors pro", "repaired"),
        ("neutral, or favors con", None, "invalid"),
        ("neutrality", None, "invalid"),
        ("", None, "invalid"),
    ],
)
def test_a_choice_is_read_where_only_one_is_named(text: str, value: str | None, how: str) -> None:
    reading = read_choice(text, CHOICES)
    assert (reading.value, reading.how) == (value, how)


def test_a_longer_choice_hides_the_one_that_it_contains() -> None:
    assert read_choice("That is not fair.", ("fair", "not fair")).value == "not fair"
    assert read_choice("fair? not fair!", ("fair", "not fair")).how == "invalid"


def test_choices_are_texts_not_patterns() -> None:
    assert read_choice("position <<A>> it is", ("position <<A>>", "position <<B>>")).value == "position <<A>>"
    assert read_choice("anything", (".*",)).how == "invalid"


@pytest.mark.parametrize(
    ("text", "label", "how"),
    [
        ("(C)", "C", "as is"),
        (" B.\n", "B", "as is"),
        ("**A**", "A", "as is"),
        ("(A) The assistant gives different response types, unlike (C).", "A", "as is"),
        ("The best option is (B), since only one of them is helped.", "B", "repaired"),
    ],
)
def test_a_bracketed_label_is_read_where_it_is_plain(text: str, label: str, how: str) -> None:
    reading = read_bracketed_label(text, "ABC")
    assert (reading.value, reading.how) == (label, how)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((text, "it names no option") for text in ("", "A good answer to both.", "(D)", "C is likely", "(6)", "ABC")),
        ("Either (A) or (B).", "it names 2 options"),
    ],
)
def test_no_label_is_read_from_prose_or_from_two(text: str, problem: str) -> None:
    reading = read_bracketed_label(text, "ABC")
    assert (reading.value, reading.problem) == (None, problem)


def test_labels_of_several_characters_are_texts_not_patterns() -> None:
    labels = ("1", "15", ".*")
    assert [read_bracketed_label(text, labels).value for text in ("15", "I say (15).", "(.*)")] == ["15", "15", ".*"]
    assert read_bracketed_label("I'd give 1 of 15", labels).value is None
    assert read_bracketed_label("(2)", labels).value is None


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_read_choice_never_raises(text: str, choices: list[str]) -> None:
    reading = read_choice(text, choices)
    assert reading.value is None or reading.value in choices
