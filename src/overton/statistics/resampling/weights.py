"""How often resamples hold clusters."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "grouped", "weights_of"]

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
