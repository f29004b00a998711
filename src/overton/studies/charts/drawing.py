"""What both forms of chart share: labels that fit, and a specification with its data beside it.

Text from items and models enters a specification as data only, never as a field's name or in an expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

__all__ = ["row_axis", "shortened", "specification"]

_ROOM = 275
_CHARACTER = 6.7
_END = 23


def shortened(names: Iterable[str], limit: int = 40) -> dict[str, str]:
    """Names cut in the middle where longer than `limit`; both ends stay, and different names stay different."""
    cut = {name: name if len(name) <= limit else f"{name[: limit - _END - 1]}…{name[-_END:]}" for name in names}
    shown = list(cut.values())
    return {name: short if shown.count(short) == 1 else name for name, short in cut.items()}


def row_axis(labels: Sequence[str]) -> alt.Axis:
    """Room for the labels in any font: the page's may be wider than the one that the chart was laid out with."""
    import altair as alt

    room = min(_ROOM, int(_CHARACTER * max(map(len, labels), default=0)) + 8)
    return alt.Axis(grid=False, minExtent=room, maxExtent=room, labelLimit=room)


def specification(chart: Any, values: list[dict[str, Any]]) -> dict[str, Any]:
    """The chart as Vega-Lite, with `values` as the data of all its layers."""
    made: dict[str, Any] = chart.to_dict(validate=False)
    for layer in made.get("layer", ()):
        del layer["data"]  # else it would hide the data that all layers share
    return {**made, "data": {"values": values}}
