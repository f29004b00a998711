"""The rule that makes limits of resampled numbers."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

__all__ = ["FEWEST", "Draws", "limits", "tail"]

Array = NDArray[np.float64]
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
