"""Lines through estimates with intervals, for example re-use by turn, scores by bins, and densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from overton.statistics import Estimate
from overton.studies.chart_layout import current_layout
from overton.studies.charts.axes import Axis, drawn_interval, finite_ends
from overton.studies.charts.dots import Series, colour, legend, turned
from overton.studies.charts.drawing import (
    PADDING,
    are_names_above,
    fitted,
    form,
    in_panels,
    layered,
    shortened,
    specification,
    titled,
)
from overton.studies.numbers import sentence
from overton.studies.sections import COLOURS

if TYPE_CHECKING:
    import altair as alt


_HEIGHT, _PANEL_HEIGHT = 260, 170
_BESIDE, _BETWEEN = 64, 22
"""The pixels of an axis next to its plot, and the pixels between panels."""
_MARKS = {"symbolStrokeWidth": 2}
"""Lines in a legend are as wide as in the chart."""
_DASHES = ([1, 0], [7, 3], [2, 2], [10, 3, 2, 3], [5, 5], [1, 3], [12, 2], [8, 2, 2, 2, 2, 2], [3, 6])


@dataclass(frozen=True)
class LinePoint:
    """An estimate at `x`: its series (an index), its panel if the chart has several, and a text about `x` for its
    tooltip."""

    x: float
    series: int
    estimate: Estimate
    panel: str = ""
    about: str = ""


@form
def lines(
    points: Sequence[LinePoint],
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    *,
    panels: Sequence[str] = (),
    marks: bool = True,
    apart: float = 0,
) -> dict[str, Any]:
    """The points as a Vega-Lite specification: one line per series. Without `marks`, the lines have neither intervals
    nor marks.

    `apart` is the horizontal distance between neighbouring series, so that intervals at the same x can be
    distinguished. Both axes are extended to everything that the chart shows.
    """
    known, headers = shortened([line.name for line in series], 48), shortened(panels, 50)
    used = [line for index, line in enumerate(series) if any(point.series == index for point in points)]
    shown = [Series(known[line.name], line.colour, line.shape) for line in used]
    drawn = [point for point in points if not isnan(point.estimate.value)]
    places = [point.x + (point.series - (len(series) - 1) / 2) * apart for point in drawn]
    x, y = x.containing(places), y.containing(finite_ends(point.estimate for point in drawn))
    layers = [_line(shown, x, y, dashed=not marks)]
    if marks:
        layers += [_rules(shown), _marks(shown)]
    view = layered(*layers, width=_wide(), height=_PANEL_HEIGHT if panels else _HEIGHT)
    values = [
        {
            "x": place,
            "value": point.estimate.value,
            **dict(zip(("low", "high"), drawn_interval(point.estimate, y), strict=True)),
            "series": known[series[point.series].name],
            "panel": headers.get(point.panel, ""),
            "order": panels.index(point.panel) if panels else 0,
            "tip": _tip(point, series, y),
        }
        for place, point in zip(places, drawn, strict=True)
    ]
    if not panels:
        return fitted(specification(view, values))
    return specification(in_panels(view, wide=_wide(), columns=_columns(), spacing=_BETWEEN), values)


def _columns() -> int:
    return 1 if are_names_above() else 2


def _wide() -> float:
    """The width of a panel's plot in pixels."""
    return (current_layout().width - PADDING - _BETWEEN * (_columns() - 1)) / _columns() - _BESIDE


def _tip(point: LinePoint, series: Sequence[Series], y: Axis) -> str:
    name = series[point.series].name if len(series) > 1 else ""
    return "\n".join(filter(None, (point.panel, name, point.about, sentence(point.estimate, y.kind))))


def _line(series: Sequence[Series], x: Axis, y: Axis, *, dashed: bool) -> Any:
    """One line per series; without marks, series are distinguished by dashes as well as colours."""
    import altair as alt

    dashes = [_DASHES[turned(index, len(_DASHES))] for index in range(len(series))]
    scale = alt.Scale(domain=[line.name for line in series], range=dashes)
    channel = (
        {"strokeDash": alt.StrokeDash("series:N", scale=scale, legend=legend([line.name for line in series], **_MARKS))}
        if dashed
        else {}
    )
    return (
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=titled(x.title), scale=_scale(x), axis=_axis(x)),
            y=alt.Y("value:Q", title=titled(y.title), scale=_scale(y), axis=_axis(y)),
            color=colour(series, **_MARKS),
            order=alt.Order("x:Q"),
            # A line can have only one description, so the name of the series is used.
            description=alt.Description("series:N"),
            **channel,
        )
    )


def _rules(series: Sequence[Series]) -> Any:
    import altair as alt

    rule = alt.Chart().mark_rule(strokeWidth=1.4)
    return rule.encode(
        x=alt.X("x:Q"),
        y=alt.Y("low:Q"),
        y2=alt.Y2("high:Q"),
        color=colour(series, **_MARKS),
        description=alt.Description("tip:N"),
    )


def _marks(series: Sequence[Series]) -> Any:
    import altair as alt

    shapes = alt.Scale(domain=[line.name for line in series], range=[line.shape for line in series])
    return (
        alt.Chart()
        .mark_point(filled=True, size=52, opacity=1)
        .encode(
            x=alt.X("x:Q"),
            y=alt.Y("value:Q"),
            color=colour(series, **_MARKS),
            shape=alt.Shape("series:N", scale=shapes, legend=legend([line.name for line in series], **_MARKS)),
            description=alt.Description("tip:N"),
        )
    )


def _scale(axis: Axis) -> alt.Scale:
    import altair as alt

    return alt.Scale(domain=[axis.low, axis.high], nice=False)


def _axis(axis: Axis) -> alt.Axis:
    import altair as alt

    form = {"share": "%", "count": "d", "value": "~g"}.get(axis.kind, "")
    return alt.Axis(format=form, tickCount=6, gridColor=COLOURS["line"], tickMinStep=1 if axis.kind == "count" else 0)
