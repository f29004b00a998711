"""Means, standard deviations and correlations over conversations, thousands at once, by the weights of a bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.bootstrap import Bootstrap, tail
from overton.statistics.proportions import wilson_limits
from overton.studies.stance_stability.measures.moments import Moments, Values, joined, summed

__all__ = ["Averaged", "Resampling"]

Array = NDArray[np.float64]
Floats = NDArray[np.floating]
Ints = NDArray[np.int64]
Draws = NDArray[np.float32]
_Float = TypeVar("_Float", np.float32, np.float64)

_MOST = 1_000
"""More units are resampled in so many groups, drawn at random: an interval's width gets noise of about 2% from that,
and the cost no longer grows with the units."""

_AT_ONCE = 2_048
_SAME = 1e-6
_EXACT, _DRAWN = 12, 7
"""Digits that double and single precision leave."""

_NOTHING = "no conversation has it"


@dataclass(frozen=True)
class Averaged:
    """Means and standard deviations of cells, and the resampled means [resamples, cells] where they were kept."""

    means: list[Estimate]
    deviations: list[Estimate]
    drawn: Draws | None = None


class Resampling:
    """How intervals are made: the same resamples for every number, so that numbers compare.

    `unit` [N] is the number of the unit that each conversation belongs to (its own, or its topic's).
    """

    def __init__(self, bootstrap: Bootstrap, unit: Ints) -> None:
        self.level = bootstrap.level
        self.name = bootstrap.unit
        units = int(unit.max()) + 1
        self.unit = None if units == len(unit) else unit
        self.groups = min(units, _MOST)
        self.group = _grouped(units, bootstrap.seed)[unit]
        self.weights: Draws = bootstrap.weights(self.groups).astype(np.float32)

    def average(self, parts: Sequence[Values], *, keep: bool = False, deviate: bool = True) -> list[Averaged]:
        """Mean and deviation (n - 1) of every cell of each part; with `keep` what was drawn of the means, too.

        A share that is 0 or 1 in every resample has Wilson's interval over units.
        """
        if not parts:
            return []
        every = joined([summed(part, self.unit, self.group, self.groups) for part in parts])
        cells = len(every.centre)
        means: list[Estimate] = []
        deviations: list[Estimate] = []
        drawn: list[Draws] = []
        for start in range(0, cells, _AT_ONCE):
            one = _taken(every, slice(start, start + _AT_ONCE))
            count, total = self._drawn(one.count), self._drawn(one.total)
            means += self._means(one, _mean(count, total))
            if deviate:
                deviations += self._deviations(one, _deviation(count, total, self._drawn(one.square)))
            drawn += [_mean(count, total) + one.centre.astype(np.float32)] if keep else []
        ends = np.cumsum([part.cells for part in parts]).tolist()
        whole = np.concatenate(drawn, axis=1) if keep else None
        return [
            Averaged(means[begin:end], deviations[begin:end], None if whole is None else whole[:, begin:end])
            for begin, end in zip([0, *ends], ends, strict=False)
        ]

    def statistic(
        self, parts: Array, block: Ints, blocks: int, of: Callable[[Floats], Floats], use: NDArray[np.bool_]
    ) -> Estimate:
        """A function of sums over the chosen conversations [N].

        `parts` [N, K] are summed within each of `blocks` that `block` [N] numbers; `of` maps such sums
        [rows, blocks, K] to one number a row.
        """
        shape = (self.groups, blocks, parts.shape[1])
        cell = (self.group * blocks + block)[use]
        sums = [np.bincount(cell, part, shape[0] * blocks).astype(float) for part in parts[use].T]
        grouped = np.stack(sums, axis=1).reshape(shape)
        value = np.asarray(of(grouped.sum(0, keepdims=True)), float)
        draws = self.weights.astype(float) @ grouped.reshape(self.groups, -1)
        drawn = np.asarray(of(draws.reshape(-1, *shape[1:])), np.float32)
        units = np.array([use.sum() if self.unit is None else len(np.unique(self.unit[use]))], float)
        low, high = self.limits(value, drawn[:, None], units)
        return self._estimate(float(value[0]), float(low[0]), float(high[0]), int(use.sum()), float(units[0]))

    def limits(self, value: Array, draws: Draws, units: Array) -> tuple[Array, Array]:
        """Percentiles of the draws [resamples, K], widened for few units, and where needed to hold the value."""
        ranked = np.sort(draws.T, axis=1)  # NaN last
        kept = np.isfinite(ranked).sum(1)
        behind, place = np.unique(units, return_inverse=True)
        cut = np.array([tail(int(count), self.level) for count in behind])[place]
        low, high = _quantile(ranked, kept, cut), _quantile(ranked, kept, 1 - cut)
        return np.minimum(low, value), np.maximum(high, value)

    def _drawn(self, sums: Array) -> Draws:
        return np.asarray(self.weights @ sums.astype(np.float32))

    def _means(self, one: Moments, draws: Draws) -> list[Estimate]:
        zero = np.where(one.units > 0, 0.0, np.nan)
        low, high = self.limits(zero, draws, one.units)
        value = np.round(one.centre, _EXACT)
        low, high = (np.where(np.abs(limit) < _SAME, value, np.round(value + limit, _DRAWN)) for limit in (low, high))
        low, high = np.minimum(low, value) + 0.0, np.maximum(high, value) + 0.0  # no negative zero
        flat = one.share & (one.units > 1) & (low == high) & (np.minimum(value, 1 - value) < _SAME)
        if flat.any():
            value[flat] = np.round(value[flat])
            low[flat], high[flat] = wilson_limits(value[flat], one.units[flat], self.level)
        parts = zip(*(part.tolist() for part in (value, low, high, one.sums[0], one.units, flat)), strict=True)
        return [self._estimate(*numbers) for numbers in parts]

    def _deviations(self, one: Moments, draws: Draws) -> list[Estimate]:
        value = _deviation(*one.sums)
        value = np.where(value < _SAME, 0.0, value)
        low, high = self.limits(value, draws, one.units)
        parts = zip(*(part.tolist() for part in (value, low, high, one.sums[0], one.units)), strict=True)
        return [self._estimate(*numbers) for numbers in parts]

    def _estimate(self, value: float, low: float, high: float, *behind: float) -> Estimate:
        """`behind` it are the conversations and the units, and whether it is a share that never varies."""
        count, units, flat = (*behind, False)[:3]
        n = round(count)
        if isnan(value):
            return not_computed(_NOTHING if n == 0 else "too few conversations", level=self.level, n=n)
        if units < 2:
            return Estimate(value, nan, nan, n, f"one of {self.name}: no interval", self.level)
        method = f"Wilson, over {self.name}" if flat else f"bootstrap over {self.name}"
        return Estimate(value, low, high, n, method, self.level)


def _grouped(units: int, seed: int) -> Ints:
    """Which group each unit belongs to: its own, or where there are many, one at random, all alike in size."""
    numbers = np.arange(units)
    return numbers if units <= _MOST else np.random.default_rng((seed, units)).permutation(units) % _MOST


def _taken(every: Moments, some: slice) -> Moments:
    return Moments(
        every.count[:, some],
        every.total[:, some],
        every.square[:, some],
        every.units[some],
        every.centre[some],
        every.share[some],
    )


def _mean(count: NDArray[_Float], total: NDArray[_Float]) -> NDArray[_Float]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / count)


def _deviation(count: NDArray[_Float], total: NDArray[_Float], square: NDArray[_Float]) -> NDArray[_Float]:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(square - total**2 / count, 0)
        return np.asarray(np.sqrt(spread / np.where(count > 1, count - 1, np.nan)), count.dtype)


def _quantile(ranked: Draws, kept: NDArray[np.int64], at: Array) -> Array:
    """As np.quantile's default, a row at a time: `at` of the first `kept` numbers of each sorted row."""
    last = np.maximum(kept - 1, 0)
    place = np.where(np.isnan(at), 0, at) * last
    below = np.floor(place).astype(np.int64)
    rows = np.arange(len(ranked))
    lower, upper = (ranked[rows, one].astype(float) for one in (below, np.minimum(below + 1, last)))
    return np.where((kept > 0) & ~np.isnan(at), lower + (place - below) * (upper - lower), np.nan)
