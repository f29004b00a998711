"""Numbers and limits as estimates: the names of their methods, and why some have no interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isnan, nan

import numpy as np
from numpy.typing import NDArray

from overton.statistics.estimate import NO_INTERVAL, Estimate, ends_of, not_computed
from overton.statistics.resampling.limits import FEWEST
from overton.statistics.resampling.sums import Numbers

__all__ = ["Made", "estimates_of", "is_flat", "same_in_all", "too_few"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

_DIGITS = 10
"""Decimals of limits: fewer than those that differ between orders of summation."""

_FLAT = 1e-10
"""A standard error this small, relative to 1 or the number itself, is rounding error around zero."""

_NEEDED = {5: "five"}[FEWEST]


def too_few(count: int, unit: str) -> str:
    """Why there is no interval from so few clusters."""
    return f"{NO_INTERVAL}too few {unit} ({count}; {_NEEDED} are needed)"


def same_in_all(count: int, unit: str) -> str:
    """Why there is no interval for a number that does not vary."""
    return f"{NO_INTERVAL}the same in all {count:,} {unit}"


@dataclass(frozen=True)
class Made:
    """K numbers, their limits and standard errors (NaN if there are none), and how each was computed or why not; and
    the range of all of them."""

    numbers: Numbers
    low: Array
    high: Array
    error: Array
    method: NDArray[np.object_]
    within: tuple[float, float] = (-inf, inf)

    def possible(self, error: Array, unit: str) -> Made:
        """The same without the intervals that cannot exist, given errors on the scale on which limits are computed."""
        value, _, clusters = self.numbers
        method = self.method.copy()
        alone = ~(np.isfinite(self.low) & np.isfinite(self.high))
        method[alone] = f"{NO_INTERVAL}it rests on one of the {unit}"
        flat = is_flat(value, error)
        for place in np.flatnonzero(flat):
            method[place] = same_in_all(round(clusters[place]), unit)
        few = clusters < FEWEST
        for place in np.flatnonzero(few):
            method[place] = too_few(round(clusters[place]), unit)
        none = alone | flat | few
        low, high = (np.where(none, nan, one) for one in (self.low, self.high))
        return replace(self, low=low, high=high, error=np.where(none, nan, self.error), method=method)

    def kept(self, within: tuple[float, float]) -> Made:
        """The same with limits inside the numbers' range, and rounded; they contain the number."""
        value = self.numbers.value
        low, high = (np.clip(np.round(one, _DIGITS), *within) for one in (self.low, self.high))
        return replace(self, low=np.minimum(low, value), high=np.maximum(high, value), within=within)

    def instead(self, where: Flags, low: Array, high: Array, name: str) -> Made:
        """The same with other limits in some places, if there are enough clusters."""
        enough = where & (self.numbers.clusters >= FEWEST)
        method = self.method.copy()
        method[enough] = name
        return replace(self, low=np.where(enough, low, self.low), high=np.where(enough, high, self.high), method=method)


def is_flat(value: Array | float, error: Array) -> Flags:
    """Which numbers have no error because they are the same in every cluster."""
    return np.asarray(error <= _FLAT * np.maximum(1.0, np.abs(value)))


def estimates_of(made: Made, nothing: str, few: str | None, level: float) -> list[Estimate]:
    """The estimates. A number that is NaN is not computed because there is `nothing`, or if something was counted, too
    `few`."""
    value, n, _ = made.numbers
    ends = ends_of(made.within)
    columns = (value + 0.0, made.low + 0.0, made.high + 0.0, np.rint(n).astype(int), made.method, made.error)
    return [
        not_computed(nothing if few is None or count == 0 else few, level=level, n=count)
        if isnan(middle)
        else Estimate(
            middle, _or_nan(lower), _or_nan(upper), count, method, level, None if isnan(error) else error, ends
        )
        for middle, lower, upper, count, method, error in zip(*(one.tolist() for one in columns), strict=True)
    ]


def _or_nan(limit: float) -> float:
    """The limit; if it is NaN, the one NaN object that all share, so that equal estimates are equal."""
    return nan if isnan(limit) else limit
