"""Axes that contain every number of their chart, and a check that a finished chart stays within its axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite, isnan
from typing import Any

from overton.errors import ChartError
from overton.statistics import Estimate
from overton.studies.numbers import Kind

_ROUNDING = 1e-9
"""The fraction of an axis' length by which a value may lie beyond its end, because sums of proportions have
floating-point errors."""


@dataclass(frozen=True)
class Axis:
    """A quantitative axis: its title with the unit, its range, the kind of number, and a value to mark with a line.

    `low` and `high` are the ends of the smallest range that the axis shows. Every chart extends the axis (`containing`)
    to the chart's numbers and the finite limits of their intervals. An extended end is at a multiple of `step`. If
    `step` is 0, the end is at the outermost number or limit.

    `anchors` are values for comparison, each with its source ('coin toss'). Charts draw a dashed line at each value,
    with the source above the line.

    Proportions and their differences keep their own scale here (0 to 1, -1 to 1). Charts multiply by 100 to show
    percentages and points.
    """

    title: str
    low: float
    high: float
    kind: Kind
    mark: float | None = None
    anchors: tuple[tuple[float, str], ...] = ()
    step: float = 0

    @property
    def factor(self) -> int:
        """The factor by which values are multiplied when drawn."""
        return 100 if self.kind == "points" else 1

    def containing(self, values: Iterable[float]) -> Axis:
        """Extend this axis to all finite `values`, its mark and its anchors."""
        marked = [] if self.mark is None else [self.mark]
        inside = [*filter(isfinite, values), *marked, *(value for value, _ in self.anchors)]
        tolerance = _ROUNDING * (self.high - self.low)
        low, high = min([self.low, *inside]), max([self.high, *inside])
        return replace(
            self,
            low=self.low if low >= self.low - tolerance else _round_outwards(low, self.step, floor),
            high=self.high if high <= self.high + tolerance else _round_outwards(high, self.step, ceil),
        )


def _round_outwards(value: float, step: float, rounded: Any) -> float:
    # Rounding to 9 digits removes floating-point errors: 0.1 * 3 is above 0.3.
    return round(rounded(round(value / step, 9)) * step, 9) if step else value


def finite_ends(estimates: Iterable[Estimate]) -> list[float]:
    """The finite values and limits of these estimates."""
    return [end for estimate in estimates for end in (estimate.value, estimate.low, estimate.high) if isfinite(end)]


def drawn_interval(estimate: Estimate, axis: Axis) -> tuple[float, float]:
    """The ends of an interval's line on an axis that contains the interval. Without an interval, both ends are the
    value. An infinite limit becomes the end of the axis."""
    low, high = (estimate.value if isnan(limit) else limit for limit in (estimate.low, estimate.high))
    return axis.low if low == -inf else low, axis.high if high == inf else high


def difference_axis(title: str, estimates: Iterable[Estimate]) -> Axis:
    """An axis for differences of proportions: zero is in the middle and marked, and the intervals determine the
    width."""
    needed = max(map(abs, finite_ends(estimates)), default=0.0)
    reach = next((limit for limit in (0.1, 0.25, 0.5, 0.75, 1.0) if needed <= limit), needed)
    return Axis(f"{title} (percentage points)", -reach, reach, "points", mark=0)


def check_contained(view: Mapping[str, Any], values: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ChartError` if a number of `values` lies outside its scale in the Vega-Lite view.

    All layers share one scale for x and one for y. Each layer has its own colour scale.
    """
    layers = [layer["encoding"] for layer in view.get("spec", view).get("layer", ())]
    for direction in ("x", "y"):
        channels = [
            channel for layer in layers for name in (direction, f"{direction}2") if (channel := layer.get(name))
        ]
        _check_channels(direction, channels, values)
    for layer in layers:
        for name in ("color", "stroke"):
            _check_channels(name, [layer[name]] if name in layer else [], values)


def _check_channels(name: str, channels: Sequence[Mapping[str, Any]], values: Sequence[Mapping[str, Any]]) -> None:
    for low, high in _domains(channels):
        tolerance = _ROUNDING * (high - low)
        for channel in channels:
            for row in values:
                value = row.get(channel.get("field", ""))
                if isinstance(value, int | float) and not low - tolerance <= value <= high + tolerance:
                    raise ChartError(
                        f"a chart would draw {channel['field']} = {value:g} outside its axis {name}, which goes from"
                        f" {low:g} to {high:g} ({row.get('tip', 'no tip')!r})"
                    )


def _domains(channels: Sequence[Mapping[str, Any]]) -> Iterator[tuple[float, float]]:
    for channel in channels:
        ends = (channel.get("scale") or {}).get("domain", ())
        if channel.get("type") == "quantitative" and len(ends) == 2:
            yield ends[0], ends[1]
