"""What is resampled, how often each resample holds a cluster, and the rule that makes limits of resampled numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

__all__ = [
    "FEWEST",
    "MOST",
    "Counts",
    "Draws",
    "Numbers",
    "Sums",
    "grouped",
    "limits",
    "side_by_side",
    "tail",
    "weights_of",
]

Array = NDArray[np.float64]
Ints = NDArray[np.integer]


class Counts(NamedTuple):
    """What K means or ratios of sums are made of, by cluster: the sum of `above` over that of `below`.

    Both are [clusters, K], or [clusters] for a single one, or for a `below` that all K share. A cluster that has
    nothing below says nothing.
    """

    above: Array
    below: Array


class Numbers(NamedTuple):
    """K numbers, what is counted behind each, and how many clusters are [K]."""

    value: Array
    n: Array
    clusters: Array


class Sums(NamedTuple):
    """The same by group of clusters, as `Resampling.group` has them, ready to be resampled.

    The ratios are `numbers.value`. Their product with what is below is taken off `above` [groups, K]: single precision
    then is enough. `below` [groups, B] holds each denominator once, and `of` [K] says which one is a ratio's.
    """

    above: Array
    below: Array
    of: Ints
    numbers: Numbers

    @property
    def width(self) -> int:
        """How many ratios there are, K."""
        return len(self.of)

    def take(self, some: slice) -> Sums:
        """Some of the ratios."""
        return Sums(self.above[:, some], self.below, self.of[some], Numbers(*(one[some] for one in self.numbers)))


def side_by_side(parts: Sequence[Sums], step: int) -> Iterator[Sums]:
    """All of them side by side, `step` ratios at a time."""
    begins = np.cumsum([0, *(one.below.shape[1] for one in parts)])
    of = np.concatenate([one.of + begin for one, begin in zip(parts, begins, strict=False)])
    above, below = (np.concatenate([one[side] for one in parts], axis=1) for side in (0, 1))
    numbers = [np.concatenate(columns) for columns in zip(*(one.numbers for one in parts), strict=True)]
    every = Sums(above, below, of, Numbers(*numbers))
    for start in range(0, every.width, step):
        yield every.take(slice(start, start + step))


MOST = 1_000
"""More clusters are resampled in so many groups, drawn at random: an interval's width gets noise of about 2% from that,
and time and memory no longer grow with the clusters."""


@lru_cache(maxsize=16)
def weights_of(clusters: int, resamples: int, seed: int) -> NDArray[np.float32]:
    """[resamples, clusters], rows sum to `clusters`. Equal arguments give equal weights."""
    rng = np.random.default_rng((seed, clusters))
    drawn = rng.integers(clusters, size=(resamples, clusters)) + np.arange(resamples)[:, None] * clusters
    counted = np.bincount(drawn.ravel(), minlength=resamples * clusters).reshape(resamples, clusters)
    weights = counted.astype(np.float32)  # whole numbers, exact
    weights.flags.writeable = False
    return weights


def grouped(clusters: int, seed: int) -> NDArray[np.integer]:
    """Which group each cluster belongs to: its own, or where there are many, one at random, all alike in size."""
    if clusters <= MOST:
        return np.arange(clusters)
    return np.asarray(np.random.default_rng((seed, clusters)).permutation(clusters) % MOST)


Draws = NDArray[np.float32]
Floats = NDArray[np.floating]

FEWEST = 2
"""So many clusters have an interval."""


def tail(clusters: int, level: float) -> float:
    """The probability cut off at each end of a bootstrap distribution over `clusters` clusters.

    Percentile intervals from few clusters are too narrow; this is the expanded percentile of Hesterberg (2015, The
    American Statistician 69:371), which for a mean gives the width of Student's t interval. Half of `1 - level` for
    many clusters, smaller for few, NaN below `FEWEST`.
    """
    if clusters < FEWEST:
        return nan
    t = stdtrit(clusters - 1, (1 + level) / 2)
    return float(ndtr(-sqrt(clusters / (clusters - 1)) * t))


def limits(draws: Floats, clusters: Array, level: float) -> tuple[Array, Array]:
    """The rule for every interval: how far K numbers' limits are from them [K] each, at most 0 and at least 0.

    `draws` [resamples, K] are resampled numbers less the number itself, NaN where a resample has none; `clusters` [K]
    counts the clusters behind each. NaN where there are fewer than `FEWEST`, or no draws.
    """
    ranked = np.sort(draws.T, axis=1)  # NaN last
    kept = np.isfinite(ranked).sum(1)
    behind, place = np.unique(clusters, return_inverse=True)
    cut = np.array([tail(int(count), level) for count in behind])[place]
    low, high = _quantile(ranked, kept, cut), _quantile(ranked, kept, 1 - cut)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _quantile(ranked: Floats, kept: NDArray[np.int64], at: Array) -> Array:
    """As np.quantile's default, a row at a time: `at` of the first `kept` numbers of each sorted row."""
    last = np.maximum(kept - 1, 0)
    place = np.where(np.isnan(at), 0, at) * last
    below = np.floor(place).astype(np.int64)
    rows = np.arange(len(ranked))
    lower, upper = (ranked[rows, one].astype(float) for one in (below, np.minimum(below + 1, last)))
    return np.where((kept > 0) & ~np.isnan(at), lower + (place - below) * (upper - lower), np.nan)
