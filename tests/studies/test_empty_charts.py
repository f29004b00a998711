"""A chart without a value is not drawn."""

from __future__ import annotations

from typing import Any

import pytest

from overton.reporting.page import Report
from overton.studies.sections import Chart, Prose, Section


def chart(spec: dict[str, Any], name: str = "a") -> Chart:
    return Chart(name, "Title", "It shows nothing.", lambda: spec)


@pytest.mark.parametrize(
    ("spec", "empty"),
    [
        ({"layer": [{"data": {"values": []}}, {"data": {"values": [{}]}}]}, True),
        ({"datasets": {"d": []}, "data": {"name": "d"}}, True),
        ({"layer": [{"data": {"values": [{"x": 0.0}]}}, {"data": {"values": []}}]}, False),
        ({"datasets": {"d": [{"x": None}]}, "data": {"name": "d"}}, False),
        ({"mark": "rule"}, False),
    ],
)
def test_chart_is_empty_if_no_row_of_its_data_has_a_key(spec: dict[str, Any], empty: bool) -> None:
    assert chart(spec).is_empty is empty


def test_report_has_the_charts_with_values_only() -> None:
    full, bare = chart({"data": {"values": [{"x": 1}]}}, "full"), chart({"data": {"values": []}}, "bare")
    report = Report("Title", "", [], [Section("s", "S", [bare, Prose("Text."), full])])
    assert [each.name for each in report.charts] == ["full"]
