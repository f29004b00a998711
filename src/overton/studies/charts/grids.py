"""A grid of shaded cells, each with its number: one value for every pair of a row and a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from overton.studies.chart_layout import current_layout
from overton.studies.charts.axes import Axis
from overton.studies.charts.drawing import (
    CHARACTER,
    PADDING,
    are_names_above,
    extent,
    form,
    label_height,
    layered,
    row_axis,
    row_names,
    shortened,
    specification,
)
from overton.studies.charts.summaries import Value, describe_values
from overton.studies.numbers import Kind
from overton.studies.sections import COLOURS

if TYPE_CHECKING:
    import altair as alt


_ROW_PIXELS = 21
_MIN_COLUMN_PIXELS, _MAX_COLUMN_PIXELS = 34, 84
_SLANT_DEGREES, _MAX_SLANTED_PIXELS, _MAX_UPRIGHT_PIXELS = 35, 300, 150
INKS = ("#101418", "#fefefe")
"""The colours of text on a light cell and on a dark cell."""


@dataclass(frozen=True)
class GridCell:
    """A cell of a grid. The chart draws `text` in it, and a border around it if `framed` is true. `tip` is the
    tooltip."""

    row: str
    column: str
    value: float
    text: str
    tip: str
    framed: bool = False


@dataclass(frozen=True)
class _ColourScale:
    """A colour scale for values: its ends, its colours, and the format of numbers in the legend."""

    low: float
    high: float
    colours: tuple[str, ...]
    numbers: str
    kind: Kind

    def containing(self, values: Iterable[float]) -> _ColourScale:
        axis = Axis("", self.low, self.high, self.kind).containing(values)
        return replace(self, low=axis.low, high=axis.high)

    def is_dark(self, value: float) -> bool:
        """Whether the cell is so dark that its number must be light. Two-sided scales are dark at both ends."""
        place = (value - self.low) / (self.high - self.low)
        return place > 0.62 if len(self.colours) == 4 else abs(place - 0.5) > 0.36


_COLOUR_SCALES = {
    "score": _ColourScale(0, 100, ("#edf3f4", "#a5cdd0", "#4a9aa3", "#0d5660"), "d", "score"),
    "pro": _ColourScale(0, 1, ("#a8430a", "#eda877", "#f1f1ee", "#83b9e0", "#0a5c9c"), "%", "share"),
    "correlation": _ColourScale(-1, 1, ("#6a4b1f", "#d9c29a", "#f4f4f1", "#93cfc8", "#0d5c55"), ".1f", "value"),
}


@form
def grid(
    boxes: Sequence[GridCell],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    scale: Literal["score", "pro", "correlation"],
    title: str,
) -> dict[str, Any]:
    """The boxes as a Vega-Lite specification. `title` names the colour scale, which is extended to all values. If the
    layout is too narrow for all columns, the drawing is wider than the layout."""
    import altair as alt

    shade = _COLOUR_SCALES[scale].containing(box.value for box in boxes)
    row_labels, column_labels = row_names(rows), shortened(columns)
    labels = list(row_labels.values())
    across = alt.Scale(domain=list(column_labels.values()))
    width = _column_width(list(column_labels.values()), extent(labels))
    down, axis, step = cells(labels, max(_ROW_PIXELS, 5 if are_names_above() else label_height(labels) + 5))
    base = alt.Chart().encode(
        x=alt.X("column:N", title=None, scale=across, axis=_column_axis(list(column_labels.values()), width)),
        y=alt.Y("row:N", title=None, scale=down, axis=axis),
        description=alt.Description("tip:N"),
    )
    filled = base.mark_rect().encode(color=_colour_channel(shade, title))
    frames = base.mark_rect(filled=False, strokeWidth=1.5).encode(stroke=_frame_colour())
    numbers = base.mark_text().encode(text=alt.Text("text:N"), color=_text_colour())
    layers, independent = (filled, frames, numbers), ["color", "stroke"]
    view = layered(*layers, width=width * len(columns), height=step * len(rows), independent=independent)
    values = [_value(box, shade, row_labels[box.row], column_labels[box.column]) for box in boxes]
    says = describe_values([Value(box.value, "", f"{box.row}, {box.column}") for box in boxes], shade.kind)
    return specification(view, values, says)


def cells(labels: Sequence[str], height: int) -> tuple[alt.Scale, alt.Axis, int]:
    """The scale, the axis, and the distance between rows in pixels, for cells that are `height` pixels high. Row names
    are left of the rows, or above them if the layout is narrow."""
    import altair as alt

    if not are_names_above():
        return alt.Scale(domain=list(labels)), row_axis(labels), height
    name = label_height(labels) + 8
    step = name + height
    apart = name / step
    scale = alt.Scale(domain=list(labels), paddingInner=apart, paddingOuter=apart / 2, align=1)
    return scale, row_axis(labels, height / 2 + name - 5), step


def _column_width(labels: Sequence[str], beside: int) -> int:
    """The pixel width of a column with which the slanted names of all columns fit into the layout."""
    free = current_layout().width - PADDING - beside
    if are_names_above():
        return max(_MIN_COLUMN_PIXELS, min(_MAX_COLUMN_PIXELS, free // max(1, len(labels))))
    slanted = 0.82 * CHARACTER
    for wide in range(_MAX_COLUMN_PIXELS, _MIN_COLUMN_PIXELS, -2):
        ends = [(number + 0.5) * wide + slanted * len(label) for number, label in enumerate(labels)]
        if max([*ends, wide * len(labels)], default=0) <= free:
            return wide
    return _MIN_COLUMN_PIXELS


def _value(box: GridCell, shade: _ColourScale, row: str, column: str) -> dict[str, Any]:
    return {
        "row": row,
        "column": column,
        "value": box.value,
        "text": box.text,
        "tip": box.tip,
        "dark": int(shade.is_dark(box.value)),
        "framed": int(box.framed),
    }


def _colour_channel(shade: _ColourScale, title: str) -> alt.Color:
    import altair as alt

    legend = alt.Legend(
        title=title,
        orient="bottom",
        gradientLength=220,
        titleLimit=current_layout().width - PADDING,
        format=shade.numbers,
    )
    domain = [shade.low, shade.high]
    scale = alt.Scale(domain=domain, range=list(shade.colours), interpolate="lab")
    return alt.Color("value:Q", scale=scale, legend=legend)


def _text_colour() -> alt.Color:
    import altair as alt

    return alt.Color("dark:O", scale=alt.Scale(domain=[0, 1], range=list(INKS)), legend=None)


def _frame_colour() -> alt.Stroke:
    import altair as alt

    scale = alt.Scale(domain=[0, 1], range=["transparent", COLOURS["ink"]])
    return alt.Stroke("framed:O", scale=scale, legend=None)


def _column_axis(labels: Sequence[str], width: int) -> alt.Axis:
    """The axis with column names: level if they fit, otherwise slanted, or upright if the layout is narrow."""
    import altair as alt

    bare: dict[str, Any] = {"orient": "top", "ticks": False, "domain": False, "grid": False}
    if max((CHARACTER * len(label) for label in labels), default=0) < width:
        return alt.Axis(**bare, labelAngle=0)
    angle, longest = (90, _MAX_UPRIGHT_PIXELS) if are_names_above() else (_SLANT_DEGREES, _MAX_SLANTED_PIXELS)
    return alt.Axis(**bare, labelAngle=-angle, labelAlign="left", labelLimit=longest)
