from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.judging import read_choice

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


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_read_choice_never_raises(text: str, choices: list[str]) -> None:
    reading = read_choice(text, choices)
    assert reading.value is None or reading.value in choices
