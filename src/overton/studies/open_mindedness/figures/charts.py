"""The two forms that every chart of this study takes: dots with intervals, and a grid of shaded cells.

Text from items and models enters a specification as data only, never as a field's name or in an expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from overton.statistics import Estimate
from overton.studies.exhibits import COLOURS, SERIES
from overton.studies.numbers import Kind, sentence

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Axis", "Box", "Dot", "Series", "difference_axis", "dots", "grid", "series_of"]

_WIDTH = 520
_LABEL = 270
_SHAPES: tuple[str, ...] = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
_SHAPES += ("M-1,-.35L1,-.35L1,.35L-1,.35Z",)
_FORMATS: dict[Kind, str] = {"share": "%", "score": "d", "value": ".1f"}


@dataclass(frozen=True)
class Axis:
    """A quantitative axis: its title with the unit, its range, the kind of number, and a value to mark with a line.

    Shares and their differences keep their own scale here (0 to 1, -1 to 1); points are drawn times 100.
    """

    title: str
    low: float
    high: float
    kind: Kind
    mark: float | None = None


@dataclass(frozen=True)
class Series:
    """One series: its name, colour and shape, which tell it apart together."""

    name: str
    colour: str
    shape: str


@dataclass(frozen=True)
class Dot:
    """An estimate to draw: its row, its series (an index), its panel where a chart has several, more for its tip."""

    row: str
    series: int
    estimate: Estimate
    panel: str = ""
    more: str = ""


@dataclass(frozen=True)
class Box:
    """A cell of a grid; `text` is drawn in it, `tip` says what it is, `framed` draws a border around it."""

    row: str
    column: str
    value: float
    text: str
    tip: str
    framed: bool = False


def series_of(names: Sequence[str]) -> list[Series]:
    """Up to nine series in colours and shapes of their own; beyond that they repeat."""
    return [
        Series(name, SERIES[index % len(SERIES)], _SHAPES[index % len(_SHAPES)]) for index, name in enumerate(names)
    ]


def difference_axis(title: str, estimates: Iterable[Estimate]) -> Axis:
    """An axis for differences of shares: zero in the middle and marked, as wide as the intervals need."""
    bounds = [abs(bound) for one in estimates for bound in (one.value, one.low, one.high) if not isnan(bound)]
    reach = next((limit for limit in (0.1, 0.25, 0.5, 0.75) if all(bound <= limit for bound in bounds)), 1.0)
    return Axis(f"{title} (percentage points)", -reach, reach, "points", mark=0)


def dots(
    points: Sequence[Dot],
    rows: Sequence[str],
    series: Sequence[Series],
    axis: Axis,
    panels: Sequence[str] = (),
) -> dict[str, Any]:
    """Dots with intervals, one row each, series side by side, in panels one above the other if there are any."""
    import altair as alt

    used = [one for index, one in enumerate(series) if any(point.series == index for point in points)]
    layers = alt.layer(_rules(axis, used), _points(axis, used)).properties(
        width=_WIDTH, height=len(rows) * _step(len(series))
    )
    layers = layers.encode(y=alt.Y("row:N", title=None, scale=alt.Scale(domain=list(rows)), axis=_row_axis(rows)))
    if len(series) > 1:
        layers = layers.encode(yOffset=alt.YOffset("slot:O", scale=alt.Scale(paddingOuter=0.5)))
    values = [_dot(point, series, panels, axis.kind) for point in points if not isnan(point.estimate.value)]
    if not panels:
        return _specification(layers, values)
    header = alt.Header(labelAnchor="start", labelOrient="top", labelLimit=_WIDTH, title=None)
    order = alt.EncodingSortField("order", op="min")
    by_panel = alt.Facet("panel:N", title=None, header=header, sort=order)
    return _specification(layers.facet(facet=by_panel, data=alt.InlineData(values=[]), columns=1, spacing=18), values)


def grid(
    cells: Sequence[Box],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    scale: Literal["score", "pro", "correlation"],
    title: str,
) -> dict[str, Any]:
    """A grid of shaded cells, each with its number."""
    import altair as alt

    base = alt.Chart().encode(
        x=alt.X("column:N", title=None, scale=alt.Scale(domain=list(columns)), axis=_column_axis()),
        y=alt.Y("row:N", title=None, scale=alt.Scale(domain=list(rows)), axis=_row_axis(rows)),
        description=alt.Description("tip:N"),
    )
    low, high, ramp = _RAMPS[scale]
    shade = alt.Color(
        "value:Q", scale=alt.Scale(domain=[low, high], range=list(ramp), clamp=True), legend=_legend(title, scale)
    )
    boxes = base.mark_rect().encode(color=shade)
    frames = base.mark_rect(filled=False, strokeWidth=1.5).encode(
        stroke=_literal("frame", (COLOURS["ink"], "transparent"))
    )
    texts = base.mark_text(fontSize=10).encode(text="text:N", color=_literal("ink", _INKS))
    width = max(52, min(84, 640 // max(1, len(columns))))
    chart = alt.layer(boxes, frames, texts).resolve_scale(color="independent", stroke="independent")
    chart = chart.properties(width=width * len(columns), height=17 * len(rows))
    return _specification(chart, [_boxed(cell, low, high) for cell in cells])


_RAMPS: dict[str, tuple[float, float, tuple[str, ...]]] = {
    "score": (0, 100, ("#edf3f4", "#a5cdd0", "#4a9aa3", "#0d5660")),
    "pro": (0, 1, ("#a8430a", "#eda877", "#f1f1ee", "#83b9e0", "#0a5c9c")),
    "correlation": (-1, 1, ("#6a4b1f", "#d9c29a", "#f4f4f1", "#93cfc8", "#0d5c55")),
}
_INKS = ("#101418", "#fefefe")


def _boxed(cell: Box, low: float, high: float) -> dict[str, Any]:
    from_middle = abs((cell.value - low) / (high - low) - 0.5)
    dark = (cell.value - low) / (high - low) > 0.62 if low == 0 and high == 100 else from_middle > 0.36
    return {
        "row": cell.row,
        "column": cell.column,
        "value": cell.value,
        "text": cell.text,
        "tip": cell.tip,
        "ink": int(dark),
        "frame": 0 if cell.framed else 1,
    }


def _literal(field: str, colours: tuple[str, str]) -> Any:
    import altair as alt

    scale = alt.Scale(domain=[0, 1], range=list(colours))
    return (
        alt.Color(f"{field}:O", scale=scale, legend=None)
        if field == "ink"
        else alt.Stroke(f"{field}:O", scale=scale, legend=None)
    )


def _dot(point: Dot, series: Sequence[Series], panels: Sequence[str], kind: Kind) -> dict[str, Any]:
    estimate, name = point.estimate, series[point.series].name
    bounded = not isnan(estimate.low)
    words = (point.panel, point.row, name if len(series) > 1 else "", point.more, sentence(estimate, kind))
    return {
        "row": point.row,
        "series": name,
        "slot": point.series,
        "panel": point.panel,
        "order": panels.index(point.panel) if panels else 0,
        "value": estimate.value * _factor(kind),
        "low": (estimate.low if bounded else estimate.value) * _factor(kind),
        "high": (estimate.high if bounded else estimate.value) * _factor(kind),
        "tip": "\n".join(word for word in words if word),
    }


def _factor(kind: Kind) -> int:
    return 100 if kind == "points" else 1


def _rules(axis: Axis, series: Sequence[Series]) -> Any:
    import altair as alt

    colour = alt.Color("series:N", scale=_scale(series), legend=None)
    domain = [axis.low * _factor(axis.kind), axis.high * _factor(axis.kind)]
    scale = alt.Scale(domain=domain, nice=False, clamp=True)
    x = alt.X("low:Q", title=axis.title, scale=scale, axis=_x_axis(axis))
    return (
        alt.Chart()
        .mark_rule(strokeWidth=1.6)
        .encode(x=x, x2="high:Q", color=colour, description=alt.Description("tip:N"))
    )


def _points(axis: Axis, series: Sequence[Series]) -> Any:
    import altair as alt

    legend = alt.Legend(title=None) if len(series) > 1 else None
    shapes = alt.Scale(domain=[one.name for one in series], range=[one.shape for one in series])
    return (
        alt.Chart()
        .mark_point(filled=True, size=62, opacity=1)
        .encode(
            x=alt.X("value:Q", title=axis.title),
            color=alt.Color("series:N", scale=_scale(series), legend=legend),
            shape=alt.Shape("series:N", scale=shapes, legend=legend),
            description=alt.Description("tip:N"),
        )
    )


def _scale(series: Sequence[Series]) -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=[one.name for one in series], range=[one.colour for one in series])


def _x_axis(axis: Axis) -> alt.Axis:
    import altair as alt

    axis_format = _FORMATS.get(axis.kind, "")
    if axis.kind == "points":
        signed = "datum.value === 0 ? '0' : format(datum.value, '+d')"
        return alt.Axis(labelExpr=signed, tickCount=6, gridColor=_marked(axis))
    if axis.mark is None:
        return alt.Axis(format=axis_format, tickCount=6)
    return alt.Axis(format=axis_format, tickCount=6, gridColor=_marked(axis))


def _marked(axis: Axis) -> Any:
    import altair as alt

    at = f"abs(datum.value - {float((axis.mark or 0) * _factor(axis.kind))!r}) < 1e-9"
    return alt.condition(at, alt.value(COLOURS["muted"]), alt.value(COLOURS["line"]))


def _row_axis(rows: Sequence[str]) -> alt.Axis:
    """Room for the labels in any font: the page's may be wider than the one that the chart was laid out with."""
    import altair as alt

    extent = min(_LABEL, int(6.7 * max(map(len, rows), default=0)) + 8)
    return alt.Axis(grid=False, minExtent=extent, maxExtent=extent, labelLimit=extent)


def _column_axis() -> alt.Axis:
    import altair as alt

    return alt.Axis(
        orient="top", labelAngle=-35, labelAlign="left", labelLimit=190, ticks=False, domain=False, grid=False
    )


def _legend(title: str, scale: str) -> alt.Legend:
    import altair as alt

    return alt.Legend(title=title, orient="bottom", gradientLength=220, format="%" if scale == "pro" else "")


def _step(series: int) -> int:
    return max(19, 10 * series + 8)


def _specification(chart: Any, values: list[dict[str, Any]]) -> dict[str, Any]:
    specification: dict[str, Any] = chart.to_dict(validate=False)
    for layer in specification.get("layer", ()):
        del layer["data"]  # else it would hide the data that all layers share
    return {**specification, "data": {"values": values}}
