"""Bootstrap over clusters: whole issues are resampled, so that what varies between them is in the interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from overton.statistics.absent import not_computed
from overton.statistics.estimate import Estimate

__all__ = ["Bootstrap", "percentile_limits", "tail"]

Array = NDArray[np.float64]


def tail(clusters: int, level: float) -> float:
    """The probability cut off at each end of a bootstrap distribution over `clusters` clusters.

    Percentile intervals from few clusters are too narrow; this is the expanded percentile of Hesterberg (2015, The
    American Statistician 69:371), which for a mean gives the width of Student's t interval. Half of `1 - level` for
    many clusters, smaller for few.
    """
    if clusters < 2:
        return nan
    t = stdtrit(clusters - 1, (1 + level) / 2)
    return float(ndtr(-sqrt(clusters / (clusters - 1)) * t))


def percentile_limits(draws: Array, value: float, cut: float) -> tuple[float, float]:
    """The `cut` and `1 - cut` quantiles of `draws`, widened where needed so that they hold `value`."""
    kept = np.sort(draws[np.isfinite(draws)])
    if not kept.size or not np.isfinite(value):
        return nan, nan
    # As np.quantile's default, several times faster on so few numbers.
    low, high = np.interp((cut * (kept.size - 1), (1 - cut) * (kept.size - 1)), np.arange(kept.size), kept)
    return min(float(low), value), max(float(high), value)


@dataclass(frozen=True)
class Bootstrap:
    """How intervals over clusters are made. Equal settings and numbers of clusters give equal resamples.

    `level` is the nominal coverage, `resamples` the number of resamples, `seed` makes them repeatable.
    """

    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    unit: str = "issues"

    def weights(self, clusters: int) -> Array:
        """How often each resample holds each cluster: [resamples, clusters], rows sum to `clusters`."""
        return _weights(clusters, self.resamples, self.seed)

    def mean(self, values: Sequence[float] | Array) -> Estimate:
        """The mean of one value a cluster, leaving out NaN; `n` counts the clusters that have one."""
        kept = np.asarray(values, float)
        kept = kept[np.isfinite(kept)]
        if not kept.size:
            return not_computed(f"no {self.unit} to average", level=self.level)
        return self.estimate(float(kept.mean()), self.weights(kept.size) @ kept / kept.size, kept.size)

    def ratio(self, numerators: Sequence[float] | Array, denominators: Sequence[float] | Array) -> Estimate:
        """Sum of numerators over sum of denominators, one of each a cluster; clusters with denominator 0 say nothing.

        `n` counts the clusters that say something.
        """
        below = np.asarray(denominators, float)
        use = below > 0
        above, below = np.asarray(numerators, float)[use], below[use]
        if not use.any():
            return not_computed(f"no {self.unit} to average", level=self.level)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = self.weights(below.size)
            draws = (weights @ above) / (weights @ below)
        return self.estimate(float(above.sum() / below.sum()), draws, below.size)

    def estimate(self, value: float, draws: Array, clusters: int) -> Estimate:
        """A value with the interval that its resampled `draws` give; no interval from a single cluster."""
        if clusters < 2:
            return Estimate(value, nan, nan, clusters, f"one of {self.unit}: no interval", self.level)
        low, high = percentile_limits(draws, value, tail(clusters, self.level))
        return Estimate(value, low, high, clusters, f"bootstrap over {self.unit}", self.level)


@lru_cache(maxsize=64)
def _weights(clusters: int, resamples: int, seed: int) -> Array:
    rng = np.random.default_rng((seed, clusters))
    drawn = rng.integers(clusters, size=(resamples, clusters)) + np.arange(resamples)[:, None] * clusters
    weights = np.bincount(drawn.ravel(), minlength=resamples * clusters).reshape(resamples, clusters).astype(float)
    weights.flags.writeable = False
    return weights
