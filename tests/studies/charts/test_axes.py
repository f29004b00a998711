"""Charts show every number where it is: axes contain all numbers of their chart, and no mark is moved to an axis."""

from __future__ import annotations

import json
import re
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import overton
from overton.errors import ChartError
from overton.reporting.charts import draw_svg as drawn_as_svg
from overton.statistics import Estimate
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
from overton.studies.charts.drawing import layered, specification
from overton.studies.sections import Chart

ONE = series_of(["x"])
NUMBERS = st.floats(-300, 300).map(lambda value: round(value, 3))


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """Estimates with and without limits, within and beyond the range that their measure should have."""
    low, value, high = sorted(draw(st.lists(NUMBERS, min_size=3, max_size=3)))
    return draw(
        st.sampled_from(
            [
                Estimate(value, low, high, 12, "Student's t"),
                Estimate(value, nan, nan, 3, "no interval: too few"),
                Estimate(value, -inf, high, 12, "exact"),
                Estimate(value, low, inf, 12, "exact"),
            ]
        )
    )


AXES = st.sampled_from(
    [
        Axis("Share (%)", 0, 1, "share", mark=0.5, anchors=((0.5, "coin toss"), (1.0, "always right"))),
        Axis("Score", 0, 100, "score"),
        Axis("Spearman's rho", 0, 1, "value", mark=0, step=0.5),
        Axis("Difference", -0.1, 0.1, "points", mark=0),
        Axis("Log-odds", 0, 0.1, "value", step=0.1),
    ]
)


def scale_of(spec: dict[str, Any], direction: str) -> tuple[float, float]:
    """The ends of the only scale in a direction: of the layers, which may themselves have layers."""
    found, left = [], [spec.get("spec", spec)]
    while left:
        view = left.pop()
        left += view.get("layer", ())
        channel = view.get("encoding", {}).get(direction, {})
        found += [channel["scale"]["domain"]] if "domain" in channel.get("scale", {}) else []
    ((low, high),) = found
    return low, high


def drawn(spec: dict[str, Any], *fields: str) -> list[float]:
    return [row[field] for row in spec["data"]["values"] for field in fields]


@settings(max_examples=60)
@given(st.lists(estimates(), min_size=1, max_size=5), AXES, st.booleans())
def test_dots_and_their_intervals_lie_within_the_axis(found: list[Estimate], axis: Axis, panels: bool) -> None:
    points = [Dot("row", place % 2, one, panel="p" if panels else "") for place, one in enumerate(found)]
    made = dots(points, ["row"], series_of(["x", "y"]), axis, panels=["p"] if panels else [])
    low, high = scale_of(made, "x")
    assert low <= axis.low * axis.factor
    assert high >= axis.high * axis.factor
    assert low <= min(drawn(made, "value", "low", "high"))
    assert max(drawn(made, "value", "low", "high")) <= high
    for row, one in zip(made["data"]["values"], found, strict=True):
        assert row["value"] == one.value * axis.factor
        assert not isfinite(one.low) or row["low"] == one.low * axis.factor
        assert not isfinite(one.high) or row["high"] == one.high * axis.factor
    assert "clamp" not in json.dumps(made)


@settings(max_examples=30)
@given(st.lists(estimates(), min_size=1, max_size=5), st.sampled_from([0.0, 0.12, 0.4]))
def test_lines_and_their_intervals_lie_within_both_axes(found: list[Estimate], apart: float) -> None:
    points = [LinePoint(place + 1, place % 2, one) for place, one in enumerate(found)]
    axes = Axis("Turn", 1, 3.5, "count"), Axis("Share", 0, 1, "share")
    made = lines(points, series_of(["x", "y"]), *axes, apart=apart)
    for direction, fields in (("x", ("x",)), ("y", ("value", "low", "high"))):
        low, high = scale_of(made, direction)
        assert low <= min(drawn(made, *fields))
        assert max(drawn(made, *fields)) <= high
    assert "clamp" not in json.dumps(made)


@settings(max_examples=30)
@given(st.lists(NUMBERS, min_size=1, max_size=6), st.sampled_from(["score", "pro", "correlation"]))
def test_cells_lie_within_the_scale_of_colours(values: list[float], scale: Any) -> None:
    columns = [str(place) for place in range(len(values))]
    boxes = [GridCell("row", column, value, "", "") for column, value in zip(columns, values, strict=True)]
    made = grid(boxes, ["row"], columns, scale=scale, title="Score")
    low, high = made["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert low <= min(values)
    assert max(values) <= high
    assert "clamp" not in json.dumps(made)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_bars_end_within_the_axis(shares: list[float]) -> None:
    bar = Bar("row", tuple(Estimate(one, nan, nan, 12, "corrected") for one in shares))
    made = bars([bar], [BarPart("Yes", "yes"), BarPart("No", "no")], "Share (%)")
    low, high = scale_of(made, "x")
    assert low <= min(drawn(made, "start", "end"))
    assert max(drawn(made, "start", "end")) <= high + 1e-9
    assert high == pytest.approx(max(1, sum(shares)))


@given(st.lists(estimates(), max_size=5))
def test_differences_lie_within_their_axis_with_zero_in_the_middle(found: list[Estimate]) -> None:
    axis = difference_axis("Shift", found)
    assert axis.low == -axis.high
    ends = [end for one in found for end in (one.value, one.low, one.high) if isfinite(end)]
    assert max(map(abs, ends), default=0) <= axis.high


def test_an_axis_is_widened_to_a_multiple_of_its_step() -> None:
    rho = Axis("Spearman's rho", 0, 1, "value", mark=0, step=0.5)
    for least, low in ((0.2, 0), (-0.33, -0.5), (-0.5, -0.5), (-0.56, -1)):
        assert rho.containing([least, 0.9]).low == low
    tenths = Axis("Similarity", 0, 0.1, "value", step=0.1)
    assert [tenths.containing([reach]).high for reach in (0.05, 0.1 * 3, 0.31)] == [0.1, 0.3, 0.4]
    assert rho.containing([nan, inf]) == rho


def test_a_rank_correlation_below_zero_is_drawn_below_zero() -> None:
    """The means of two threads, which have no interval, were all drawn at 0."""
    from overton.studies.pluralism.layouts import sections
    from overton.studies.pluralism.measures import analyze

    truth = [f"v{place}" for place in range(6)]
    wanted = {"neutral": [5, 4, 3, 2, 1, 0], "biased": [5, 3, 4, 0, 1, 2], "matched-neutral": [1, 0, 3, 2, 4, 5]}
    rankings = [
        {"model": "m", "thread": thread, "condition": name, "predicted": [truth[k] for k in order], "true": truth}
        for thread in ("a", "b")
        for name, order in wanted.items()
    ]
    analysis = analyze(rankings=pl.DataFrame(rankings), resamples=100)
    charts = [one for section in sections(analysis) for one in section.exhibits if isinstance(one, Chart)]
    spec = next(one for one in charts if one.name == "ranking-spearman").spec
    assert scale_of(spec, "x") == (-1, 1)
    found = {row["series"]: row["value"] for row in spec["data"]["values"]}
    for name, series in (("neutral", "neutral"), ("biased", "biased"), ("matched-neutral", "neutral, biased wording")):
        assert found[series] == pytest.approx(np.corrcoef(wanted[name], range(6))[0, 1])
    assert "clamp" not in json.dumps(spec)


def _view() -> dict[str, Any]:
    x = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]))
    rule = alt.Chart().mark_rule().encode(x=x, x2=alt.X2("high:Q"))
    mark = alt.Chart().mark_point().encode(x=alt.X("value:Q"), y=alt.Y("row:N"))
    return layered(rule, mark, width=100, height=20)


@pytest.mark.parametrize("field", ["value", "low", "high"])
def test_a_chart_whose_axis_lacks_a_number_is_an_error(field: str) -> None:
    row = {"value": 0.5, "low": 0.0, "high": 1.0, "row": "a", "tip": "a tip"}
    specification(_view(), [row])
    for beyond in (-0.1, 1.1):
        with pytest.raises(ChartError, match=rf"{field} = {beyond:g} outside its axis x, which goes from 0 to 1"):
            specification(_view(), [row, row | {field: beyond}])


def test_a_scale_of_colours_that_lacks_a_number_is_an_error() -> None:
    colour = alt.Color("value:Q", scale=alt.Scale(domain=[0, 100]))
    view = layered(alt.Chart().mark_rect().encode(color=colour), width=100, height=20)
    specification(view, [{"value": 100}])
    with pytest.raises(ChartError, match="value = 101 outside its axis color"):
        specification(view, [{"value": 101}])


def test_scales_do_not_move_numbers_beyond_them() -> None:
    """Vega-Lite's `clamp` draws a number at the end of its axis, where another number would be."""
    package = Path(overton.__file__).parent
    assert not [path for path in package.rglob("*.py") if "clamp=" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    ("axis", "value", "labels"),
    [
        (Axis("Similarity", 0, 0.1, "value", step=0.1), 0.38, [f"0.{k:02}" for k in range(0, 41, 5)]),
        (Axis("Share (%)", 0, 0.05, "share"), 0.04, [f"{k}%" for k in range(6)]),
        (Axis("Pearson", -1, 1, "value", mark=0), 0.3, ["\u22121.0", "\u22120.5", "0.0", "0.5", "1.0"]),
    ],
    ids=lambda one: one.title if isinstance(one, Axis) else "",
)
def test_the_numbers_of_an_axis_are_not_rounded_to_others(axis: Axis, value: float, labels: list[str]) -> None:
    chart = Chart("c", "t", "d", lambda: dots([Dot("a", 0, Estimate(value, nan, nan, 3, "m"))], ["a"], ONE, axis))
    shown = re.findall(r">([^<>]+)</text>", drawn_as_svg(chart))
    assert [one for one in shown if one[-1] in "%0123456789"] == labels
