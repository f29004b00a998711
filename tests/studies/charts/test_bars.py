"""Bars of shares: whole, in order, and readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.statistics import Estimate
from overton.studies.charts import Bar, BarPart, bars

PARTS = [BarPart("Round 1", "1"), BarPart("Round 2", "2"), BarPart("No consensus", "none", rest=True)]
COUNTS = st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any)


def bar_of(counts: list[int], row: str = "a + b") -> Bar:
    shares = (Estimate(one / sum(counts), 0.0, 1.0, sum(counts), "Wilson") for one in counts)
    return Bar(row, tuple(shares))


@given(COUNTS)
def test_the_parts_of_a_bar_follow_each_other_and_make_the_whole(counts: list[int]) -> None:
    values = bars([bar_of(counts)], PARTS, "Share (%)")["data"]["values"]
    assert [one["part"] for one in values] == [one.name for one in PARTS]
    assert values[0]["start"] == 0
    assert [one["start"] for one in values[1:]] == pytest.approx([one["end"] for one in values[:-1]])
    assert values[-1]["end"] == pytest.approx(1)


def test_a_part_is_named_in_its_bar_as_far_as_it_is_wide_enough() -> None:
    values = bars([bar_of([90, 8, 2])], PARTS, "Share (%)")["data"]["values"]
    assert [one["text"] for one in values] == ["Round 1: 90%", "2: 8%", ""]
    assert "No consensus" in values[2]["tip"]
    assert "2.0%" in values[2]["tip"]


def test_the_title_says_how_far_the_first_part_reaches() -> None:
    made = bars([bar_of([1, 1, 2], "a"), bar_of([3, 0, 1], "b")], PARTS, "Share (%)")
    assert made["usermeta"]["says"] == "25.0% (a) to 75.0% (b) in round 1"
