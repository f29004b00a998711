"""What both forms of chart share: labels that fit, and a specification with its data beside it.

Text from items and models enters a specification as data only, never as a field's name or in an expression.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

__all__ = ["label_height", "row_axis", "shortened", "specification", "wrapped"]

_ROOM = 312
_CHARACTER = 7.6
_END = 23
_LINE_PIXELS = 16
_MOST_LINES = 4


def shortened(names: Iterable[str], limit: int = 40) -> dict[str, str]:
    """Names cut in the middle where longer than `limit`; both ends stay, and different names stay different."""
    cut = {name: name if len(name) <= limit else f"{name[: limit - _END - 1]}…{name[-_END:]}" for name in names}
    shown = list(cut.values())
    return {name: short if shown.count(short) == 1 else name for name, short in cut.items()}


def wrapped(names: Iterable[str], limit: int = 40) -> dict[str, str]:
    """Names broken into lines of at most `limit` characters where there are spaces, else cut as `shortened` cuts."""
    broken = {name: "\n".join(textwrap.wrap(name, limit, break_long_words=False)) for name in names}
    cut = shortened(broken, limit)
    return {
        name: lines if max(map(len, lines.split("\n"))) <= limit and lines.count("\n") < _MOST_LINES else cut[name]
        for name, lines in broken.items()
    }


def label_height(labels: Iterable[str]) -> int:
    """The pixels that the label of most lines is high."""
    return _LINE_PIXELS * max((label.count("\n") + 1 for label in labels), default=1)


def row_axis(labels: Sequence[str]) -> alt.Axis:
    """Room for the labels in any font: the page's may be wider than the one that the chart was laid out with."""
    import altair as alt

    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    room = min(_ROOM, int(_CHARACTER * longest) + 8)
    lines: dict[str, Any] = {"labelExpr": "split(datum.label, '\\n')"} if any("\n" in label for label in labels) else {}
    return alt.Axis(grid=False, minExtent=room, maxExtent=room, labelLimit=room, **lines)


def specification(chart: Any, values: list[dict[str, Any]]) -> dict[str, Any]:
    """The chart as Vega-Lite, with `values` as the data of all its layers."""
    made: dict[str, Any] = chart.to_dict(validate=False)
    for layer in made.get("layer", ()):
        del layer["data"]  # else it would hide the data that all layers share
    return {**made, "data": {"values": values}}
