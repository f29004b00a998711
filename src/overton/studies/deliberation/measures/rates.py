"""Rates over dilemmas: sums over sums, thousands at once, with dilemmas resampled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.bootstrap import Bootstrap, tail
from overton.statistics.proportions import difference_limits, wilson_limits

__all__ = ["Counts", "Resampling", "summed"]

Array = NDArray[np.float64]
Draws = NDArray[np.float32]

_MOST = 1_000
"""More dilemmas are resampled in so many groups of neighbours: the interval of a ratio of sums stays the same but for
noise of about 2% of its width, at a cost that no longer grows with the dilemmas."""

_AT_ONCE = 4_096


class Counts(NamedTuple):
    """What rates are made of, for each dilemma: `above` over `below`, each [dilemmas] or [dilemmas, K]."""

    above: Array
    below: Array


def summed(
    cells: Sequence[NDArray[np.integer]], shape: tuple[int, ...], weights: NDArray[np.generic] | None = None
) -> Array:
    """How often each combination of codes occurs, or the sum of its weights, as an array of `shape`."""
    flat = cells[0].astype(np.int64)
    for cell, width in zip(cells[1:], shape[1:], strict=True):
        flat = flat * width + cell
    return np.bincount(flat, weights, minlength=int(np.prod(shape))).reshape(shape).astype(float, copy=False)


class _Columns(NamedTuple):
    """Counts of K rates by group of dilemmas: `above` [groups, K] over `under[of]` [groups].

    `under` [groups, B] holds each denominator once, `of` [K] which one is a rate's; `dilemmas` [K] counts those that
    have something below.
    """

    above: Array
    under: Array
    of: NDArray[np.int64]
    dilemmas: Array

    def take(self, places: NDArray[np.int64]) -> _Columns:
        return _Columns(self.above[:, places], self.under, self.of[places], self.dilemmas[places])

    @property
    def below(self) -> Array:
        """The whole denominators [K]."""
        return np.asarray(self.under.sum(0)[self.of])

    @property
    def value(self) -> Array:
        """The rates [K]; NaN where nothing is below."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.above.sum(0) / self.below)


class Resampling:
    """How intervals over `dilemmas` dilemmas are made: the same resamples for every rate, so that rates compare."""

    def __init__(self, bootstrap: Bootstrap, dilemmas: int) -> None:
        self.level = bootstrap.level
        groups = min(dilemmas, _MOST)
        self._begins = np.arange(groups) * dilemmas // groups
        self._weights = bootstrap.weights(groups).astype(np.float32)

    def estimates(self, counts: Iterable[Counts], reason: str, *, share: bool = True) -> list[list[Estimate]]:
        """The rates of each of `counts`; `reason` says why one has no value.

        A `share`, or a mean of what lies between 0 and 1, that is 0 or 1 in every resample has Wilson's interval over
        dilemmas instead, which is wide enough for either.
        """
        columns, ends = self._columns(counts)
        made: list[Estimate] = []
        for start in range(0, len(columns.of), _AT_ONCE):
            some = columns.take(np.arange(start, min(start + _AT_ONCE, len(columns.of))))
            made += self._estimates(some.value, self._draws(some), some, reason, share)
        return [made[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def estimate(self, counts: Counts, reason: str, *, share: bool = True) -> Estimate:
        """A single rate."""
        return self.estimates([counts], reason, share=share)[0][0]

    def differences(
        self, pairs: Iterable[tuple[Counts, Counts]], reason: str
    ) -> list[list[tuple[Estimate, Estimate, Estimate]]]:
        """The rates of both sides and the second minus the first, resampled together, for each of the pairs."""
        columns, ends = self._columns(counts for pair in pairs for counts in pair)
        places = [np.arange(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
        first, second = (np.concatenate(places[side::2] or [np.arange(0)]) for side in (0, 1))
        made: list[tuple[Estimate, Estimate, Estimate]] = []
        for start in range(0, len(first), _AT_ONCE):
            chunk = slice(start, start + _AT_ONCE)
            made += self._differences(columns.take(first[chunk]), columns.take(second[chunk]), reason)
        stops = np.cumsum([len(side) for side in places[::2]]).tolist()
        return [made[begin:end] for begin, end in zip([0, *stops], stops, strict=False)]

    def _columns(self, counts: Iterable[Counts]) -> tuple[_Columns, list[int]]:
        """All counts side by side, by group of dilemmas; and where each of them ends."""
        above: list[Array] = []
        under: list[Array] = []
        of, dilemmas = [], []
        for one in counts:
            wide, narrow = (part.reshape(len(part), -1) for part in one)
            of.append(np.broadcast_to(sum(map(_width, under)) + np.arange(narrow.shape[1]), _width(wide)))
            dilemmas.append(np.broadcast_to(np.count_nonzero(narrow, axis=0), _width(wide)))
            above.append(self._grouped(wide))
            under.append(self._grouped(narrow))
        if not above:
            nothing = np.zeros((len(self._begins), 0))
            return _Columns(nothing, nothing, np.arange(0), np.zeros(0)), []
        stacked = (np.concatenate(above, axis=1), np.concatenate(under, axis=1))
        columns = _Columns(*stacked, np.concatenate(of), np.concatenate(dilemmas).astype(float))
        return columns, np.cumsum(list(map(_width, above))).tolist()

    def _grouped(self, counts: Array) -> Array:
        return counts if len(counts) == len(self._begins) else np.add.reduceat(counts, self._begins, axis=0)

    def _draws(self, columns: _Columns) -> Draws:
        """Resampled rates [resamples, K]; those that are 0 throughout need no drawing."""
        known, place = np.unique(columns.of, return_inverse=True)
        used: NDArray[np.bool_] = np.asarray(columns.above.any(0))
        wanted = np.hstack([columns.under[:, known], columns.above[:, used]]).astype(np.float32)
        drawn = self._weights @ wanted
        above = np.zeros((len(self._weights), len(used)), np.float32)
        above[:, used] = drawn[:, len(known) :]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(above / drawn[:, place])

    def _estimates(self, value: Array, draws: Draws, columns: _Columns, reason: str, share: bool) -> list[Estimate]:
        low, high = self._limits(value, draws, columns.dilemmas)
        flat = share & (low == high) & (columns.dilemmas > 1) & np.isin(value, (0, 1))
        if flat.any():
            low[flat], high[flat] = wilson_limits(value[flat], columns.dilemmas[flat], self.level)
        parts = (value, low, high, columns.below, columns.dilemmas, flat)
        return [
            not_computed(reason, level=self.level)
            if isnan(middle)
            else Estimate(middle, lower, upper, round(count), _method(behind, steady), self.level)
            for middle, lower, upper, count, behind, steady in zip(*(part.tolist() for part in parts), strict=True)
        ]

    def _differences(self, first: _Columns, second: _Columns, reason: str) -> list[tuple[Estimate, Estimate, Estimate]]:
        sides, draws = (first, second), [self._draws(side) for side in (first, second)]
        made = [
            self._estimates(side.value, drawn, side, reason, True) for side, drawn in zip(sides, draws, strict=True)
        ]
        return list(zip(*made, self._gaps(sides, draws, reason), strict=True))

    def _gaps(self, sides: tuple[_Columns, _Columns], draws: Sequence[Draws], reason: str) -> list[Estimate]:
        """The second minus the first; where both are 0 or 1 in every resample, the interval is Newcombe's."""
        values, behind = [side.value for side in sides], [side.dilemmas for side in sides]
        value, dilemmas = values[1] - values[0], np.minimum(*behind)
        low, high = self._limits(value, draws[1] - draws[0], dilemmas)
        steady = (low == high) & (dilemmas > 1) & np.isin(values, (0, 1)).all(0)
        if steady.any():
            newcombe = difference_limits(values[1], behind[1], values[0], behind[0], self.level)
            low, high = (np.where(steady, own, other) for own, other in zip(newcombe, (low, high), strict=True))
        n = np.minimum(sides[0].below, sides[1].below)
        return [
            not_computed(reason, level=self.level)
            if isnan(middle)
            else Estimate(middle, lower, upper, round(count), _method(several, flat, "Newcombe"), self.level)
            for middle, lower, upper, count, several, flat in zip(
                *(part.tolist() for part in (value, low, high, n, dilemmas, steady)), strict=True
            )
        ]

    def _limits(self, value: Array, draws: Draws, dilemmas: Array) -> tuple[Array, Array]:
        """Percentiles of the draws for the dilemmas behind each rate, widened where needed to hold its value."""
        ranked = np.sort(draws.T, axis=1)  # NaN last
        kept = np.isfinite(ranked).sum(1)
        behind, of_rate = np.unique(dilemmas, return_inverse=True)
        cut = np.array([tail(int(count), self.level) for count in behind])[of_rate]
        low, high = _quantile(ranked, kept, cut), _quantile(ranked, kept, 1 - cut)
        return np.minimum(low, value), np.maximum(high, value)


def _quantile(ranked: Draws, kept: NDArray[np.int64], at: Array) -> Array:
    """As np.quantile's default, a row at a time: `at` of the first `kept` numbers of each sorted row."""
    last = np.maximum(kept - 1, 0)
    place = np.where(np.isnan(at), 0, at) * last
    below = np.floor(place).astype(np.int64)
    rows = np.arange(len(ranked))
    lower, upper = (ranked[rows, one].astype(float) for one in (below, np.minimum(below + 1, last)))
    return np.where((kept > 0) & ~np.isnan(at), lower + (place - below) * (upper - lower), np.nan)


def _method(dilemmas: float, steady: bool, when_steady: str = "Wilson") -> str:
    if dilemmas < 2:
        return "one dilemma: no interval"
    return f"{when_steady}, over dilemmas" if steady else "bootstrap over dilemmas"


def _width(columns: Array) -> int:
    return int(columns.shape[1])
