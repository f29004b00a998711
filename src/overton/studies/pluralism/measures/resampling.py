"""Sums over sums for every model, community and condition at once, with threads resampled."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.bootstrap import Bootstrap, tail
from overton.statistics.proportions import wilson_limits
from overton.studies.pluralism.measures.scopes import Cells
from overton.studies.pluralism.measures.units import Where, summed

__all__ = ["Resampling", "Sums"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Draws = NDArray[np.float32]

_MOST = 1_000
"""More threads are resampled in so many groups, drawn at random: an interval's width gets noise of about 2% from that,
and the cost no longer grows with the threads."""

_AT_ONCE = 2_048
"""So many numbers are resampled at once, that their draws fit into memory."""

_SAME = 2e-6
"""What single precision may add to or take from a mean."""

_DIGITS, _DRAWN = 12, 7
"""Digits that double and single precision leave."""

_BOOTSTRAP, _WILSON = "bootstrap over threads", "Wilson, over threads"
_FLAT = "the same in every thread: no interval"
_NOTHING = "no thread has it"


@dataclass(frozen=True)
class Sums:
    """One measure in every scope and kind [K]: its parts, how many threads are behind, and the resampled values."""

    above: Array
    below: Array
    threads: Array
    draws: Draws

    @property
    def value(self) -> Array:
        """The measure, NaN where nothing is below."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.round(self.above / self.below, _DIGITS))


class Resampling:
    """How intervals over threads are made: the same resamples for every number, so that numbers compare."""

    def __init__(self, bootstrap: Bootstrap, threads: int) -> None:
        self.level = bootstrap.level
        self.groups = min(threads, _MOST)
        self.group = _grouped(threads, bootstrap.seed)
        self.weights: Draws = bootstrap.weights(self.groups).astype(np.float32)

    def sums(self, cells: Cells, where: Where, above: Array, below: Array) -> list[Sums]:
        """The sums of `above` over those of `below` [N, M] in every scope and kind, for each of M measures."""
        place = self.group[where.thread] * cells.many + cells.number(where)
        step = max(1, _AT_ONCE // cells.many)
        made: list[Sums] = []
        for start in range(0, above.shape[1], step):
            parts = [self._grouped(place, cells, part[:, start : start + step].T) for part in (above, below)]
            drawn = [(self.weights @ part.reshape(self.groups, -1).astype(np.float32)) for part in parts]
            wide = [cells.over(one.reshape(len(one), -1, cells.many)).swapaxes(0, 1) for one in drawn]
            whole = [cells.over(part.sum(0)) for part in parts]
            with np.errstate(invalid="ignore", divide="ignore"):
                draws = wide[0] / wide[1]
            threads = [cells.threads(where.take(column > 0)) for column in below[:, start : start + step].T]
            made += [Sums(*one) for one in zip(whole[0], whole[1], threads, draws, strict=True)]
        return made

    def _grouped(self, place: Ints, cells: Cells, columns: Array) -> Array:
        """Sums of M columns by group of threads and cell [groups, M, cells]."""
        sums = [summed(place, self.groups * cells.many, column).reshape(-1, cells.many) for column in columns]
        return np.stack(sums, axis=1)

    def estimates(self, sums: Sums, *, share: bool) -> list[Estimate]:
        """A `share` that is 0 or 1 throughout has Wilson's interval over threads; any other value that does not vary
        between threads has none."""
        return self._made(sums.value, sums.draws, sums.below, sums.threads, share=share)

    def gaps(self, first: Sums, second: Sums) -> list[Estimate]:
        """The first measure minus the second, resampled together."""
        below, threads = np.minimum(first.below, second.below), np.minimum(first.threads, second.threads)
        value = np.round(first.value - second.value, _DIGITS)
        return self._made(value, first.draws - second.draws, below, threads, share=False)

    def _made(self, value: Array, draws: Draws, below: Array, threads: Array, *, share: bool) -> list[Estimate]:
        low, high = self._limits(value, draws, threads)
        flat = np.maximum(np.abs(low - value), np.abs(high - value)) < _SAME
        steady = flat & share & np.isin(value, (0, 1)) & (threads > 1)
        low[flat] = high[flat] = nan
        low[steady], high[steady] = wilson_limits(value[steady], threads[steady], self.level)
        method = np.where(steady, _WILSON, np.where(flat, _FLAT, _BOOTSTRAP)).tolist()
        limits = zip(np.round(low, _DRAWN).tolist(), np.round(high, _DRAWN).tolist(), strict=True)
        numbers = zip((value + 0.0).tolist(), limits, below.tolist(), threads.tolist(), method, strict=True)
        return [self._estimate(*row) for row in numbers]

    def _limits(self, value: Array, draws: Draws, threads: Array) -> tuple[Array, Array]:
        """Percentiles of the draws [resamples, K], widened for few threads, and where needed to hold the value."""
        ranked = np.sort(draws.T, axis=1)  # NaN last
        kept = np.isfinite(ranked).sum(1)
        behind, place = np.unique(threads, return_inverse=True)
        cut = np.array([tail(int(count), self.level) for count in behind])[place]
        low, high = (_quantile(ranked, kept, at) for at in (cut, 1 - cut))
        return np.minimum(low, value), np.maximum(high, value)

    def _estimate(
        self, value: float, limits: tuple[float, float], below: float, threads: float, method: str
    ) -> Estimate:
        n = round(below)
        if isnan(value):
            return not_computed(_NOTHING, level=self.level, n=n)
        if threads < 2:
            return Estimate(value, nan, nan, n, "one of threads: no interval", self.level)
        return Estimate(value, *limits, n, method, self.level)


def _grouped(threads: int, seed: int) -> Ints:
    """Which group each thread belongs to: its own, or where there are many, one at random, all alike in size."""
    numbers = np.arange(threads)
    return numbers if threads <= _MOST else np.random.default_rng((seed, threads)).permutation(threads) % _MOST


def _quantile(ranked: Draws, kept: Ints, at: Array) -> Array:
    """As np.quantile's default, a row at a time: `at` of the first `kept` numbers of each sorted row."""
    last = np.maximum(kept - 1, 0)
    place = np.where(np.isnan(at), 0, at) * last
    below = np.floor(place).astype(np.int64)
    rows = np.arange(len(ranked))
    lower, upper = (ranked[rows, one].astype(float) for one in (below, np.minimum(below + 1, last)))
    return np.where((kept > 0) & ~np.isnan(at), lower + (place - below) * (upper - lower), np.nan)
