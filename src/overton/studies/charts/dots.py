"""Dots with intervals, one row each: the chart for most estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from overton.statistics import Estimate
from overton.studies.chart_layout import current_layout
from overton.studies.charts.axes import Axis, drawn_interval, finite_ends
from overton.studies.charts.drawing import (
    CHARACTER,
    LINE_PIXELS,
    PADDING,
    are_names_above,
    extent,
    fitted,
    form,
    in_panels,
    label_height,
    layered,
    row_axis,
    row_names,
    shortened,
    specification,
    titled,
)
from overton.studies.charts.summaries import Value, describe_values
from overton.studies.numbers import Kind, sentence
from overton.studies.sections import COLOURS, SERIES

if TYPE_CHECKING:
    import altair as alt


_MANY_ROWS = 30
_SERIES_PIXELS, _GAP_PIXELS = 14, 10
"""The height of a series in pixels, in rows with their name above, and the pixels between such rows."""
_SHAPES: tuple[str, ...] = (
    *("circle", "square", "diamond", "triangle-up", "cross"),
    *("triangle-down", "triangle-right", "triangle-left", "M-1,-.35L1,-.35L1,.35L-1,.35Z"),
)
_TURN = 4
_TICK_FORMATS: dict[Kind, str] = {"share": "%", "score": "d", "value": "f"}
"""The formats of tick labels. They set no number of digits, so Vega writes as many digits as are needed to distinguish
the ticks. A fixed number of digits would round the labels."""


@dataclass(frozen=True)
class Series:
    """One series: its name, colour and shape, which together identify it."""

    name: str
    colour: str
    shape: str


@dataclass(frozen=True)
class Dot:
    """An estimate to draw: its row, its series (an index), its panel if a chart has several, and details for its
    tooltip.

    `star` is a short text to the right of the dot, such as the mark of a test.
    """

    row: str
    series: int
    estimate: Estimate
    panel: str = ""
    more: str = ""
    star: str = ""


def series_of(names: Sequence[str]) -> list[Series]:
    """Series with different pairs of colour and shape. With at most nine series, all colours differ and all shapes
    differ; with at most 81, all pairs differ."""
    return [
        Series(name, SERIES[index % len(SERIES)], _SHAPES[turned(index, len(_SHAPES))])
        for index, name in enumerate(names)
    ]


def turned(index: int, count: int) -> int:
    """The index of a series' shape or dash, from 0 to `count` - 1. Each time the colours repeat, the shapes are rotated
    by `_TURN`, so that a colour gets another shape.

    The numbers of colours and shapes are equal. This number and `_TURN` have no common divisor above 1, so a pair of
    colour and shape repeats only after all pairs were used.
    """
    return (index + _TURN * (index // count)) % count


@form
def dots(
    points: Sequence[Dot],
    rows: Sequence[str],
    series: Sequence[Series],
    axis: Axis,
    *,
    panels: Sequence[str] = (),
    wrap: bool = False,
) -> dict[str, Any]:
    """The points as a Vega-Lite specification: series side by side in each row, panels one above the other.

    The axis is extended to every value and finite limit; an interval with an infinite limit is drawn to the axis' end.
    Long row names are truncated in the middle. With `wrap`, they are broken into lines instead.
    """
    import altair as alt

    drawn = [point for point in points if not isnan(point.estimate.value)]
    axis = axis.containing(finite_ends(point.estimate for point in drawn))
    labels, headers, known = (
        row_names(rows, wrap=wrap),
        shortened(panels, 70),
        shortened([entry.name for entry in series], 48),
    )
    used = [
        Series(known[entry.name], entry.colour, entry.shape)
        for index, entry in enumerate(series)
        if any(point.series == index for point in points)
    ]
    shown = list(labels.values())
    step, lines = _row_heights(shown, len(series))
    band: dict[str, Any] = {"paddingInner": 0, "paddingOuter": 0} if are_names_above() else {}
    y = alt.Y("row:N", title=None, scale=alt.Scale(domain=shown, **band), axis=row_axis(shown, step / 2))
    shared: dict[str, Any] = {"y": y}
    if len(series) > 1 or are_names_above():
        # Sort explicitly: by default Vega-Lite uses the colours' order, and writes names of series into an expression.
        within: dict[str, Any] = {"range": [lines, step - _GAP_PIXELS]} if are_names_above() else {}
        shared["yOffset"] = alt.YOffset("slot:O", sort="ascending", scale=alt.Scale(paddingOuter=0.5, **within))
    stars = [_stars()] if any(point.star for point in drawn) else []
    layers = _interval_lines(axis, used, len(rows)), _point_marks(axis, used), *stars
    view = layered(
        *layers, width=current_layout().width - PADDING - extent(shown), height=len(rows) * step, shared=shared
    )
    values = [
        {
            **_value(point.estimate, axis),
            "row": labels[point.row],
            "series": known[series[point.series].name],
            "slot": point.series,
            "panel": headers.get(point.panel, ""),
            "order": panels.index(point.panel) if panels else 0,
            "tip": _tip(point, series, axis.kind),
            **({"star": point.star} if stars else {}),
        }
        for point in drawn
    ]
    says = describe_values([_point_value(point, series) for point in drawn], axis.kind)
    made = specification(in_panels(view) if panels else view, values, says)
    return made if panels else fitted(_add_anchors(made, axis))


def _row_heights(labels: Sequence[str], series: int) -> tuple[int, int]:
    """The height of a row in pixels, and the height of its name if the name is above the row (otherwise 0)."""
    lines = label_height(labels)
    if are_names_above():
        return lines + _SERIES_PIXELS * series + _GAP_PIXELS, lines
    return max(6 + lines, 10 * series + 8), 0


def _point_value(point: Dot, series: Sequence[Series]) -> Value:
    name = series[point.series].name if len(series) > 1 else ""
    return Value(point.estimate.value, name, ", ".join(filter(None, (point.row, point.panel))))


def _value(estimate: Estimate, axis: Axis) -> Mapping[str, float]:
    low, high = drawn_interval(estimate, axis)
    return {"value": estimate.value * axis.factor, "low": low * axis.factor, "high": high * axis.factor}


def _tip(point: Dot, series: Sequence[Series], kind: Kind) -> str:
    name = series[point.series].name if len(series) > 1 else ""
    return "\n".join(filter(None, (point.panel, point.row, name, point.more, sentence(point.estimate, kind))))


def _add_anchors(unit: dict[str, Any], axis: Axis) -> dict[str, Any]:
    """Add the axis' anchors to a layered chart. They are drawn beneath the marks, once each. The legend moves above
    their words."""
    if not axis.anchors:
        return unit
    inner: dict[str, Any] = {name: unit[name] for name in ("layer", "encoding") if name in unit}
    rest = {name: value for name, value in unit.items() if name not in inner}
    lines, most = list[dict[str, Any]](), 0
    for value, words, align, height in _place_anchors(axis, unit["width"]):
        most = max(most, height)
        x = {"datum": value * axis.factor, "type": "quantitative"}
        rule = {"type": "rule", "strokeDash": [4, 3], "color": COLOURS["muted"], "aria": False}
        text = {"type": "text", "baseline": "bottom", "dy": -5 - LINE_PIXELS * height, "align": align, "aria": False}
        once: dict[str, Any] = {"data": {"values": [{}]}}
        lines += [
            {**once, "mark": rule, "encoding": {"x": x}},
            {
                **once,
                "mark": {**text, "color": COLOURS["muted"]},
                "encoding": {"x": x, "y": {"value": 0}, "text": {"value": words}},
            },
        ]
    for legend_ in _legends(inner):
        legend_["offset"] = _LEGEND_PIXELS + LINE_PIXELS * most
    return {**rest, "layer": [*lines, inner]}


def _place_anchors(axis: Axis, width: float) -> Iterator[tuple[float, str, str, int]]:
    """Each anchor's value, words, alignment and line (counted from below). The words do not overlap."""
    ends = list[float]()
    for value, words in sorted(axis.anchors):
        wide, x = CHARACTER * len(words), width * (value - axis.low) / (axis.high - axis.low)
        align = "left" if x < wide / 2 else "right" if x > width - wide / 2 else "center"
        start = {"left": x, "right": x - wide, "center": x - wide / 2}[align]
        line = next((number for number, end in enumerate(ends) if end < start), len(ends))
        ends[line : line + 1] = [start + wide]
        yield value, words, align, line


def _legends(inner: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for layer in inner["layer"]:
        for channel in ("color", "shape"):
            if found := layer["encoding"].get(channel, {}).get("legend"):
                yield found


_LEGEND_PIXELS = 24


def _interval_lines(axis: Axis, series: Sequence[Series], rows: int) -> Any:
    import altair as alt

    domain = alt.Scale(domain=[axis.low * axis.factor, axis.high * axis.factor], nice=False)
    x = alt.X("low:Q", title=titled(axis.title), scale=domain, axis=_x_axis(axis, rows))
    rule = alt.Chart().mark_rule(strokeWidth=1.6)
    return rule.encode(x=x, x2=alt.X2("high:Q"), color=colour(series), description=alt.Description("tip:N"))


def _point_marks(axis: Axis, series: Sequence[Series]) -> Any:
    import altair as alt

    shapes = alt.Scale(domain=[entry.name for entry in series], range=[entry.shape for entry in series])
    return (
        alt.Chart()
        .mark_point(filled=True, size=62, opacity=1)
        .encode(
            x=alt.X("value:Q", title=titled(axis.title)),
            color=colour(series),
            shape=alt.Shape("series:N", scale=shapes, legend=legend([entry.name for entry in series])),
            description=alt.Description("tip:N"),
        )
    )


def _stars() -> Any:
    """The layer of texts to the right of each interval."""
    import altair as alt

    text = alt.Chart().mark_text(align="left", dx=6, color=COLOURS["ink"])
    return text.encode(x=alt.X("high:Q"), text=alt.Text("star:N"), description=alt.Description("tip:N"))


def colour(series: Sequence[Series], **marks: Any) -> alt.Color:
    """A colour for each series, with a legend if there are several series. `marks` are settings of the legend's
    symbols."""
    import altair as alt

    names = [entry.name for entry in series]
    scale = alt.Scale(domain=names, range=[entry.colour for entry in series])
    return alt.Color("series:N", scale=scale, legend=legend(names, **marks))


def legend(names: Sequence[str], **marks: Any) -> alt.Legend | None:
    """A legend with the names of series, in as many columns as fit; None for a single series."""
    import altair as alt

    longest = max(map(len, names), default=0)
    columns = max(1, min(3, int(current_layout().width // (CHARACTER * longest + _SYMBOL_PIXELS)), len(names)))
    return alt.Legend(title=None, columns=columns, **marks) if len(names) > 1 else None


_SYMBOL_PIXELS = 36
"""The width of a legend's symbol in pixels, with the space around it."""


def _x_axis(axis: Axis, rows: int) -> alt.Axis:
    """The x axis below the rows, or above them if there are too many rows to see both ends at once."""
    import altair as alt

    at = f"abs(datum.value - {float((axis.mark or 0) * axis.factor)!r}) < 1e-9"
    marked = {"condition": {"test": at, "value": COLOURS["muted"]}, "value": COLOURS["line"]}
    numbers: dict[str, Any] = (
        {"labelExpr": "datum.value === 0 ? '0' : format(datum.value, '+d')"}
        if axis.kind == "points"
        else {"format": _TICK_FORMATS.get(axis.kind, "")}
    )
    return alt.Axis(
        **numbers,
        tickCount=4 if are_names_above() else 6,
        orient="top" if rows > _MANY_ROWS else "bottom",
        gridColor=COLOURS["line"] if axis.mark is None else marked,
    )
