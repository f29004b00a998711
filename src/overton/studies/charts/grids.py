"""A grid of shaded cells, each with its number: one value for every pair of a row and a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from overton.studies.charts.drawing import label_height, row_axis, shortened, specification, wrapped
from overton.studies.exhibits import COLOURS

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Box", "grid"]

_WIDTH = 560
_ROW = 21
_INKS = ("#101418", "#fefefe")


@dataclass(frozen=True)
class Box:
    """A cell of a grid; `text` is drawn in it, `tip` says what it is, `framed` draws a border around it."""

    row: str
    column: str
    value: float
    text: str
    tip: str
    framed: bool = False


@dataclass(frozen=True)
class _Shade:
    """How values become colours: the ends of the scale, its colours, and how the legend writes numbers."""

    low: float
    high: float
    colours: tuple[str, ...]
    numbers: str

    def is_dark(self, value: float) -> bool:
        """Whether the cell is so dark that its number has to be light; two-sided scales are dark at both ends."""
        place = (value - self.low) / (self.high - self.low)
        return place > 0.62 if len(self.colours) == 4 else abs(place - 0.5) > 0.36


_SHADES = {
    "score": _Shade(0, 100, ("#edf3f4", "#a5cdd0", "#4a9aa3", "#0d5660"), "d"),
    "pro": _Shade(0, 1, ("#a8430a", "#eda877", "#f1f1ee", "#83b9e0", "#0a5c9c"), "%"),
    "correlation": _Shade(-1, 1, ("#6a4b1f", "#d9c29a", "#f4f4f1", "#93cfc8", "#0d5c55"), ".1f"),
}


def grid(
    boxes: Sequence[Box],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    scale: Literal["score", "pro", "correlation"],
    title: str,
) -> dict[str, Any]:
    """The boxes as a Vega-Lite specification; `title` names the scale of colours."""
    import altair as alt

    shade, row_labels, column_labels = _SHADES[scale], wrapped(rows), shortened(columns)
    labels = list(row_labels.values())
    across = alt.Scale(domain=list(column_labels.values()))
    base = alt.Chart().encode(
        x=alt.X("column:N", title=None, scale=across, axis=_column_axis()),
        y=alt.Y("row:N", title=None, scale=alt.Scale(domain=labels), axis=row_axis(labels)),
        description=alt.Description("tip:N"),
    )
    filled = base.mark_rect().encode(color=_colour(shade, title))
    frames = base.mark_rect(filled=False, strokeWidth=1.5).encode(stroke=_frame())
    numbers = base.mark_text(fontSize=13).encode(text="text:N", color=_ink())
    width = max(46, min(84, _WIDTH // max(1, len(columns)))) * len(columns)
    chart = alt.layer(filled, frames, numbers).resolve_scale(color="independent", stroke="independent")
    values = [_value(box, shade, row_labels[box.row], column_labels[box.column]) for box in boxes]
    return specification(chart.properties(width=width, height=max(_ROW, label_height(labels) + 5) * len(rows)), values)


def _value(box: Box, shade: _Shade, row: str, column: str) -> dict[str, Any]:
    return {
        "row": row,
        "column": column,
        "value": box.value,
        "text": box.text,
        "tip": box.tip,
        "dark": int(shade.is_dark(box.value)),
        "framed": int(box.framed),
    }


def _colour(shade: _Shade, title: str) -> alt.Color:
    import altair as alt

    legend = alt.Legend(title=title, orient="bottom", gradientLength=220, titleLimit=_WIDTH, format=shade.numbers)
    domain = [shade.low, shade.high]
    scale = alt.Scale(domain=domain, range=list(shade.colours), clamp=True, interpolate="lab")
    return alt.Color("value:Q", scale=scale, legend=legend)


def _ink() -> alt.Color:
    import altair as alt

    return alt.Color("dark:O", scale=alt.Scale(domain=[0, 1], range=list(_INKS)), legend=None)


def _frame() -> alt.Stroke:
    import altair as alt

    scale = alt.Scale(domain=[0, 1], range=["transparent", COLOURS["ink"]])
    return alt.Stroke("framed:O", scale=scale, legend=None)


def _column_axis() -> alt.Axis:
    import altair as alt

    return alt.Axis(
        orient="top", labelAngle=-35, labelAlign="left", labelLimit=300, ticks=False, domain=False, grid=False
    )
