"""Labels fit, different names stay different, and every form of chart is Vega-Lite."""

from __future__ import annotations

import altair as alt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError

from overton.statistics import Estimate
from overton.studies.chart_layout import NARROW, WIDE, ChartLayout, in_layout
from overton.studies.charts import (
    Axis,
    Bar,
    BarPart,
    Dot,
    GridCell,
    LinePoint,
    bars,
    difference_axis,
    dots,
    grid,
    lines,
    series_of,
)
from overton.studies.charts.drawing import label_height, shortened, wrapped

NAMES = st.lists(st.text("ab/→ ", min_size=1, max_size=200), unique_by=lambda name: " ".join(name.split()))


@given(NAMES)
def test_different_names_stay_different(names: list[str]) -> None:
    for shown in (shortened(names), wrapped(names)):
        assert len(set(shown.values())) == len(names)


@given(NAMES)
def test_lines_exceed_the_limit_only_if_two_names_would_look_alike(names: list[str]) -> None:
    for name, shown in wrapped(names, 40).items():
        assert max(map(len, shown.split("\n"))) <= 40 or shown.replace("\n", " ") == " ".join(name.split())


def test_no_two_of_81_series_have_the_same_colour_and_shape() -> None:
    series = series_of([f"condition {number}" for number in range(81)])
    assert len({(entry.colour, entry.shape) for entry in series}) == 81
    assert len({entry.colour for entry in series[:9]}) == len({entry.shape for entry in series[:9]}) == 9
    assert all(earlier.shape != later.shape for earlier, later in zip(series, series[9:], strict=False))


def test_lines_without_marks_differ_in_colour_or_dashes() -> None:
    series = series_of([f"model {number}" for number in range(20)])
    points = [LinePoint(x, number, Estimate(0.5, 0.4, 0.6, 5, "exact")) for number in range(20) for x in (0, 1)]
    (view,) = lines(points, series, Axis("x", 0, 1, "value"), Axis("y", 0, 1, "share"), marks=False)["layer"]
    colours, dashes = (view["encoding"][channel]["scale"]["range"] for channel in ("color", "strokeDash"))
    assert len({(colour, tuple(dash)) for colour, dash in zip(colours, dashes, strict=True)}) == 20


def test_a_name_is_broken_where_it_has_spaces_and_cut_where_it_has_none() -> None:
    order = "claude-3-7-sonnet-20250219 → gpt-4.1-2025-04-14 → gemini-2.0-flash-001"
    assert wrapped([order])[order].split("\n") == [
        "claude-3-7-sonnet-20250219 →",
        "gpt-4.1-2025-04-14 →",
        "gemini-2.0-flash-001",
    ]
    word = "x" * 30 + "y" * 30
    assert wrapped([word]) == {word: "x" * 16 + "…" + "y" * 23}
    assert label_height(["one", "two\nlines"]) == 2 * label_height(["one"])


def estimate(value: float) -> Estimate:
    return Estimate(value, max(value - 0.1, 0.0), min(value + 0.1, 1.0), 12, "Wilson", 0.95, 0.05)


@pytest.mark.parametrize("room_", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("panels", [(), ("first", "second")], ids=["one", "panels"])
def test_every_form_is_vega_lite_by_its_schema(room_: ChartLayout, panels: tuple[str, ...]) -> None:
    """Parts are not checked while they are drawn."""
    rows, series, axis = ["a\nlong", "b"], series_of(["x", "y"]), Axis("Share (%)", 0, 1, "share", mark=0.5)
    inside = panels or ("",)
    points = [Dot(row, k, estimate(0.2 + 0.3 * k), panel=panel) for panel in inside for row in rows for k in (0, 1)]
    all_ = [Bar(row, (estimate(0.4), estimate(0.6)), panel) for panel in inside for row in rows]
    parts = [BarPart("Yes", "yes"), BarPart("No", "no", rest=True)]
    boxes = [GridCell(row, column, 0.3, "30%", "tip") for row in rows for column in ("c", "d")]
    with in_layout(room_):
        drawn = [
            dots(points, rows, series, axis, panels=panels),
            dots(points, rows, series, difference_axis("Difference", []), panels=panels),
            bars(all_, parts, "Share (%)", panels=panels),
            grid(boxes, rows, ["c", "d"], scale="pro", title="Share"),
        ]
    for one in drawn:
        alt.Chart.from_dict(one)
        drawn_marks = one["spec"]["layer"] if "spec" in one else one["layer"]
        assert len(drawn_marks) >= 2
    with pytest.raises(ValidationError):  # so the check does check
        alt.Chart.from_dict({**drawn[0], "layer": [{"mark": "none"}]})
