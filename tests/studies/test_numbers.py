"""The text of numbers: with decimals in tables, and rounded by the number of cases in sentences."""

from __future__ import annotations

from math import nan

import pytest

from overton.statistics import Estimate, not_computed
from overton.studies.numbers import Kind, brief_estimate, brief_interval, brief_number, sentence


@pytest.mark.parametrize(
    ("value", "kind", "n", "said"),
    [
        (0.479, "points", 12, "48"),
        (-0.042, "points", 12, "\N{MINUS SIGN}4"),
        (0.479, "points", 100, "47.9"),
        (0.917, "share", 99, "92%"),
        (0.917, "share", 100, "91.7%"),
        (4.14, "value", 3, "4.14"),
        (12.44, "score", 12, "12.4"),
    ],
)
def test_percentages_of_fewer_than_a_hundred_cases_are_whole(value: float, kind: Kind, n: int, said: str) -> None:
    assert brief_number(value, kind, n) == said


def test_a_brief_interval_says_which_limit_is_not_determined() -> None:
    assert brief_interval(Estimate(0.79, 0.516, 1.0, 12, "t", within=(0.0, 1.0)), "share") == "[52, not determined]"
    assert brief_interval(Estimate(0.79, nan, nan, 12, "t"), "share") == "no interval"


def test_value_interval_and_count_are_rounded_in_a_sentence_and_not_in_a_table() -> None:
    found = Estimate(0.904, 0.697, 0.973, 20, "Wilson", within=(0.0, 1.0))
    assert brief_estimate(found, "share") == "90% [70, 97], n = 20"
    assert sentence(found, "share") == "90.4% [69.7, 97.3], n = 20"
    assert brief_estimate(not_computed("no labels"), "share") == "no value: no labels"
