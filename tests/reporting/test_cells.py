"""Hostile text made safe to show."""

from __future__ import annotations

import json
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.reporting.cells import encoded, format_table, inside_script
from overton.statistics import Estimate, not_computed
from overton.studies.sections import Column, EmptyCell, Table


@given(st.recursive(st.none() | st.booleans() | st.integers(-99, 99) | st.text(), st.lists))
def test_json_inside_a_script_is_the_same_json_and_cannot_end_the_script(value):
    text = inside_script(encoded(value))
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


def test_lone_surrogates_do_not_stop_encoding():
    assert json.loads(encoded({"a": ["\ud800"]})) == {"a": ["\ufffd"]}


def one(cell, kind):
    return format_table(Table("t", [Column("c", kind)], [[cell]])).rows[0][0]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("share", 0.6667, "66.7%"),
        ("points", -0.123, "\u221212.3"),
        ("points", 0.123, "+12.3"),
        ("points", -0.0001, "0.0"),
        ("score", 45.678, "45.7"),
        ("value", -0.001, "0.00"),
        ("count", 105_930, "105,930"),
        ("text", "a <b>", "a <b>"),
    ],
)
def test_number_reads_as_its_kind(kind, value, text):
    assert one(value, kind).text == text


def test_estimate_shows_value_interval_and_count():
    cells = format_table(
        Table("t", [Column("c", "share")], [[Estimate(0.5, 0.25, 0.75, 12, "Wilson")], [Estimate(0, 0, 0.3, 9, "W")]])
    ).rows
    assert (cells[0][0].text, cells[0][0].interval, cells[0][0].count) == ("50.0%", "[25.0, 75.0]", "n = 12")


def test_a_count_shared_by_a_column_is_in_its_heading_once():
    rows = [[Estimate(value, 0, 1, 1_070, "Wilson")] for value in (0.1, 0.2)]
    table = format_table(Table("t", [Column("c", "share")], rows))
    assert table.headings == [("c", "n = 1,070")]
    assert [row[0].count for row in table.rows] == ["", ""]


def test_intervals_are_explained_by_level_and_method():
    row = [Estimate(0.5, 0, 1, 2, "Wilson"), Estimate(0.5, 0, 1, 2, "bootstrap over issues")]
    table = format_table(Table("t", [Column("a", "share"), Column("b", "share")], [row]))
    assert table.intervals == "95% intervals: Wilson; bootstrap over issues"


def test_a_limit_at_the_end_of_the_range_is_not_determined_and_explained_beneath_the_table():
    cut = Estimate(0.242, 0.104, 1.0, 10, "Student's t", within=(0.0, 1.0))
    table = format_table(Table("t", [Column("a", "share")], [[cut]]))
    assert table.rows[0][0].interval == "[10.4, not determined]"
    assert table.intervals == (
        "95% intervals: Student's t; not determined: the limit lies at the end of the measure's range"
    )
    none = one(Estimate(0.0, 0.0, 0.24, 12, "Wilson", within=(0.0, 1.0)), "share")
    assert none.interval == "[0.0, 24.0]"


def test_the_reason_for_missing_intervals_is_given_once_below_the_table():
    few = [Estimate(0.5, nan, nan, n, f"no interval: too few topics ({n}; five are needed)") for n in (2, 3)]
    table = format_table(
        Table("t", [Column("a", "share")], [[Estimate(0.5, 0, 1, 9, "Wilson")], *([one] for one in few)])
    )
    assert table.intervals == "95% intervals: Wilson; no interval: too few topics"


def test_estimate_without_interval_says_so():
    assert one(Estimate(0.5, nan, nan, 3, "median"), "value").interval == "no interval"


def test_a_missing_number_gives_its_reason_and_sorts_last():
    cell = one(not_computed("no answers in balanced"), "share")
    assert (cell.text, cell.reason, cell.sort) == ("\u2013", "no answers in balanced", None)
    assert one(EmptyCell("not asked"), "share").reason == "not asked"
    assert one(nan, "share").sort is None
