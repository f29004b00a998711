"""Stacked bars whose parts make up a whole, for ordered parts such as rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isnan
from typing import TYPE_CHECKING, Any

from overton.statistics import Estimate
from overton.studies.chart_layout import current_layout
from overton.studies.charts.axes import Axis
from overton.studies.charts.dots import legend
from overton.studies.charts.drawing import (
    CHARACTER,
    PADDING,
    extent,
    fitted,
    form,
    in_panels,
    label_height,
    layered,
    row_names,
    shortened,
    specification,
    titled,
)
from overton.studies.charts.grids import INKS, cells
from overton.studies.charts.summaries import Value, describe_values
from overton.studies.numbers import sentence

if TYPE_CHECKING:
    import altair as alt


_BAR_PIXELS = 30
_FIRST_COLOUR, _LAST_COLOUR, _REST_COLOUR = (13, 86, 96), (190, 219, 222), "#d9dcdf"
"""The colours of the first part, of the last part, and of the part outside the order."""


@dataclass(frozen=True)
class BarPart:
    """A part of every bar, with its name for the legend and a short name for the bar. `rest` marks a part that has no
    place in the order, such as 'no consensus' after the rounds."""

    name: str
    short: str
    rest: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar: its row, the proportion of each part (0 to 1, in the parts' order), and its panel if the chart has
    several."""

    row: str
    shares: tuple[Estimate, ...]
    panel: str = ""


@form
def bars(all_: Sequence[Bar], parts: Sequence[BarPart], title: str, *, panels: Sequence[str] = ()) -> dict[str, Any]:
    """The bars as a Vega-Lite specification. Each part's short name and proportion are printed on it if they fit.

    The axis goes to 100%, or to the longest bar if that is longer.
    """
    import altair as alt

    labels, headers = row_names(dict.fromkeys(bar.row for bar in all_)), shortened(panels, 70)
    shown = list(labels.values())
    width = current_layout().width - PADDING - extent(shown)
    down, axis, step = cells(shown, max(_BAR_PIXELS, label_height(shown) + 8))
    reach = Axis(title, 0, 1, "share").containing(end for bar in all_ for end in accumulate(_part_lengths(bar)))
    x = alt.X(
        "start:Q",
        title=titled(title),
        scale=alt.Scale(domain=[reach.low, reach.high], nice=False),
        axis=alt.Axis(format="%", tickCount=4, grid=False),
    )
    base = alt.Chart().encode(y=alt.Y("row:N", title=None, scale=down, axis=axis))
    filled = base.mark_rect(stroke="#ffffff", strokeWidth=1).encode(
        x=x, x2=alt.X2("end:Q"), color=_colour_channel(parts), description=alt.Description("tip:N")
    )
    ink = alt.Color("dark:O", scale=alt.Scale(domain=[0, 1], range=list(INKS)), legend=None)
    words = base.mark_text(aria=False).encode(x=alt.X("middle:Q"), text=alt.Text("text:N"), color=ink)
    view = layered(filled, words, width=width, height=step * len(shown), independent=["color"])
    values = [
        value
        | {"row": labels[bar.row], "panel": headers.get(bar.panel, "")}
        | {"order": panels.index(bar.panel) if panels else 0}
        for bar in all_
        for value in _values(bar, parts, width)
    ]
    made = specification(in_panels(view) if panels else view, values, _describe_bars(all_, parts))
    return made if panels else fitted(made)


def _values(bar: Bar, parts: Sequence[BarPart], width: float) -> Iterator[dict[str, Any]]:
    shares = _part_lengths(bar)
    ends = list(accumulate(shares))
    colours = _colours(parts)
    for part, estimate, share, end, colour in zip(parts, bar.shares, shares, ends, colours, strict=True):
        words = (f"{name}: {share:.0%}" for name in (part.name, part.short))
        yield {
            "part": part.name,
            "start": end - share,
            "end": end,
            "middle": end - share / 2,
            "text": next((text for text in words if CHARACTER * len(text) < share * width - 4), ""),
            "dark": int(_is_dark(colour)),
            "tip": "\n".join(filter(None, (bar.panel, bar.row, part.name, sentence(estimate, "share")))),
        }


def _part_lengths(bar: Bar) -> list[float]:
    return [0.0 if isnan(share.value) else share.value for share in bar.shares]


def _describe_bars(all_: Sequence[Bar], parts: Sequence[BarPart]) -> str:
    """A summary of the first part's proportions. One number for each bar tells more than the extremes over all
    parts."""
    first = parts[0].name
    values = [Value(bar.shares[0].value, "", ", ".join(filter(None, (bar.row, bar.panel)))) for bar in all_]
    reach = describe_values([value for value in values if not isnan(value.value)], "share")
    return f"{reach} in {first[:1].lower()}{first[1:]}" if reach else ""


def _colours(parts: Sequence[BarPart]) -> list[str]:
    """The parts' colours: from dark to light in the parts' order, and grey for a part outside the order."""
    ordered = [part for part in parts if not part.rest]
    steps = max(1, len(ordered) - 1)
    ramp = iter([_mix_colour(index / steps) for index in range(len(ordered))])
    return [_REST_COLOUR if part.rest else next(ramp) for part in parts]


def _mix_colour(place: float) -> str:
    red, green, blue = (round(a + (b - a) * place) for a, b in zip(_FIRST_COLOUR, _LAST_COLOUR, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _is_dark(colour: str) -> bool:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128


def _colour_channel(parts: Sequence[BarPart]) -> alt.Color:
    import altair as alt

    names = [part.name for part in parts]
    return alt.Color("part:N", scale=alt.Scale(domain=names, range=_colours(parts)), legend=legend(names))
