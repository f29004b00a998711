"""Helpers for all types of charts: labels that fit the layout, and a specification with its data.

Text from items and models enters a specification only as data, never as a field's name or in an expression.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from overton.studies.chart_layout import current_layout
from overton.studies.charts.axes import check_contained

if TYPE_CHECKING:
    import altair as alt


P = ParamSpec("P")
View = dict[str, Any]
"""A view of Vega-Lite, of one or several layers."""

CHARACTER = 7.6
"""The width of a character in pixels, enough for any font. The page's font may be wider than the font with which the
chart was laid out."""

PADDING = 16
"""The sum of the pixels to the left and to the right of a drawing."""

LINE_PIXELS = 16
_END_CHARACTERS = 23
_MAX_LINES = 4
_PAGE_KEYS = ("$schema", "config")


def shortened(names: Iterable[str], limit: int = 0) -> dict[str, str]:
    """Names truncated in the middle if longer than `limit` (by default the space for row names). Both ends stay, and
    different names stay different."""
    limit = min(limit or current_layout().characters, current_layout().most)
    end = min(_END_CHARACTERS, 3 * limit // 5)
    cut = {name: name if len(name) <= limit else f"{name[: limit - end - 1]}…{name[-end:]}" for name in names}
    shown = list(cut.values())
    return {name: short if shown.count(short) == 1 else name for name, short in cut.items()}


def wrapped(names: Iterable[str], limit: int = 0) -> dict[str, str]:
    """Names broken at spaces into lines of at most `limit` characters (by default those of the layout). Words that are
    too long are truncated as by `shortened`."""
    limit = limit or current_layout().characters
    broken = {name: "\n".join(textwrap.wrap(name, limit, break_long_words=False)) for name in names}
    cut = shortened(broken, limit)
    return {
        name: lines if max(map(len, lines.split("\n"))) <= limit and lines.count("\n") < _MAX_LINES else cut[name]
        for name, lines in broken.items()
    }


def row_names(names: Iterable[str], *, wrap: bool = True) -> dict[str, str]:
    """Row names as displayed in the chart: broken into lines, or truncated. Names above their rows all have the same
    number of lines, so that each name ends just above its own row."""
    shown = wrapped(names) if wrap else shortened(names)
    if not are_names_above():
        return shown
    most = max((name.count("\n") for name in shown.values()), default=0)
    return {name: "\n" * (most - lines.count("\n")) + lines for name, lines in shown.items()}


def label_height(labels: Iterable[str]) -> int:
    """The pixel height of the label with the most lines."""
    return LINE_PIXELS * max((label.count("\n") + 1 for label in labels), default=1)


def extent(labels: Iterable[str]) -> int:
    """The width of the labels left of the rows in pixels; 0 if the labels are above the rows."""
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return min(current_layout().beside, int(CHARACTER * longest) + 8)


def are_names_above() -> bool:
    """Whether names of rows are above their rows."""
    return not current_layout().beside


def row_axis(labels: Sequence[str], up: float = 0) -> alt.Axis:
    """The axis with row names, which are left of the rows, or start `up` pixels above the middle of each row."""
    import altair as alt

    lines: dict[str, Any] = {"labelExpr": "split(datum.label, '\\n')"} if any("\n" in label for label in labels) else {}
    if are_names_above():
        over: dict[str, Any] = {"labelAlign": "left", "labelBaseline": "top", "labelPadding": -2, "zindex": 1}
        over |= {"labelOffset": -up, "labelLimit": current_layout().width, "labelOverlap": False}
        return alt.Axis(**lines, **over, grid=False, minExtent=0, maxExtent=0)
    wide = extent(labels)
    return alt.Axis(**lines, grid=False, minExtent=wide, maxExtent=wide, labelLimit=wide)


def titled(title: str) -> str | list[str]:
    """An axis' title, broken into lines if the layout is too narrow for one line."""
    lines = textwrap.wrap(title, current_layout().characters)
    return lines if are_names_above() and len(lines) > 1 else title


def fitted(made: dict[str, Any]) -> dict[str, Any]:
    """A specification of one view that is as wide as the layout, with axes and legends included."""
    return {**made, "width": current_layout().width, "autosize": {"type": "fit-x", "contains": "padding"}}


def form(draw: Callable[P, View]) -> Callable[P, View]:
    """Make a function draw its chart without Altair's validation of each part, which takes most of the drawing time.
    Tests validate whole specifications instead."""

    @wraps(draw)
    def draw_unchecked(*args: P.args, **how: P.kwargs) -> View:
        from altair.utils.schemapi import debug_mode

        with debug_mode(False):
            return draw(*args, **how)

    return draw_unchecked


def layered(
    *layers: alt.Chart,
    width: float,
    height: float,
    shared: Mapping[str, Any] | None = None,
    independent: Sequence[str] = (),
) -> View:
    """The layers as one view. All layers have the channels `shared`. For each channel in `independent`, every layer has
    its own scale.

    This function combines the layers, because Altair would copy them about forty times. Those copies took half of the
    time needed for a report.
    """
    import altair as alt

    made = [layer.to_dict(validate=False) for layer in layers]
    view: View = {name: made[0][name] for name in _PAGE_KEYS}
    view |= {"layer": [{name: layer[name] for name in ("mark", "encoding")} for layer in made]}
    if shared:
        view["encoding"] = alt.Chart().mark_point().encode(**shared).to_dict(validate=False)["encoding"]
    if independent:
        view["resolve"] = {"scale": dict.fromkeys(independent, "independent")}
    return {**view, "width": width, "height": height}


def in_panels(view: View, *, wide: float = 0, columns: int = 1, spacing: int = 18) -> View:
    """Repeat the view for each panel of its data, in the data's order: one above the other, or in columns. The width of
    a panel's name is limited to `wide`, by default to the layout's width."""
    import altair as alt

    header = alt.Header(
        labelAnchor="start", labelOrient="top", labelLimit=wide or current_layout().width - PADDING, title=None
    )
    # Sort by number: to sort by name, Vega-Lite writes the names into an expression.
    panel = alt.Facet("panel:N", title=None, header=header, sort=alt.EncodingSortField("order", op="min"))
    made = alt.Chart().mark_point().encode(facet=panel).to_dict(validate=False)
    page = {name: view[name] for name in _PAGE_KEYS}
    inner = {name: value for name, value in view.items() if name not in page}
    return {**page, "facet": made["encoding"]["facet"], "spec": inner, "columns": columns, "spacing": spacing}


def specification(view: View, values: list[dict[str, Any]], says: str = "") -> View:
    """The view with its data: all layers use `values`. `says` is a summary of these numbers.

    Raises `ChartError` if a value lies outside its axis.
    """
    check_contained(view, values)
    meta = {"usermeta": {"says": says}} if says else {}
    return {**view, **meta, "data": {"values": values}}
