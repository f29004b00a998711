"""Axes that contain every number drawn along them, and the check that a finished chart keeps to its axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite, isnan
from typing import Any

from overton.errors import ChartError
from overton.statistics import Estimate
from overton.studies.numbers import Kind

_ROUNDING = 1e-9
"""Share of an axis' length by which a sum of shares may pass its end: no more than floating-point error."""


@dataclass(frozen=True)
class Axis:
    """A quantitative axis: its title with the unit, its range, the kind of number, and a value to mark with a line.

    `low` and `high` are the least that the axis shows. Every form of chart widens it (`containing`) to its numbers and
    the finite limits of their intervals: to the next multiple of `step`, or as far as needed if `step` is 0.

    `anchors` are values to compare a number with, each with what would have it ('coin toss'): dashed lines with these
    words above them.

    Shares and their differences keep their own scale here (0 to 1, -1 to 1); points are drawn times 100.
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
        """This axis, widened to contain the finite ones of these values, its mark and its anchors."""
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
    # One decimal more than a step has: 0.1 * 3 is above 0.3.
    return round(rounded(round(value / step, 9)) * step, 9) if step else value


def finite_ends(estimates: Iterable[Estimate]) -> list[float]:
    """The values and limits of these estimates that are numbers."""
    return [end for estimate in estimates for end in (estimate.value, estimate.low, estimate.high) if isfinite(end)]


def drawn_interval(estimate: Estimate, axis: Axis) -> tuple[float, float]:
    """The ends of an interval's line on an axis that contains it: the value twice if there is no interval, and the end
    of the axis where a limit is infinite."""
    low, high = (estimate.value if isnan(limit) else limit for limit in (estimate.low, estimate.high))
    return axis.low if low == -inf else low, axis.high if high == inf else high


def difference_axis(title: str, estimates: Iterable[Estimate]) -> Axis:
    """An axis for differences of shares: zero in the middle and marked, as wide as the intervals need."""
    needed = max(map(abs, finite_ends(estimates)), default=0.0)
    reach = next((limit for limit in (0.1, 0.25, 0.5, 0.75, 1.0) if needed <= limit), needed)
    return Axis(f"{title} (percentage points)", -reach, reach, "points", mark=0)


def check_contained(view: Mapping[str, Any], values: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ChartError` if a number of `values` lies outside the scale along which the view of Vega-Lite draws it.

    Positions share the scale of their direction in all layers; a colour has that of its own layer.
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
