"""Intervals for shares and for differences of shares, for whole arrays at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

__all__ = ["difference_limits", "proportion", "wilson_limits"]

Array = NDArray[np.float64]


def wilson_limits(share: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
    """Score limits for shares in [0, 1] of `n` answers each (Wilson 1927), broadcast together.

    `n` may be an effective number of answers, not whole. NaN where `n` is 0.
    """
    p, size = np.asarray(share, float), np.asarray(n, float)
    z = _normal_quantile(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (p + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    # Rounding must not push a limit past the share that it surrounds, nor out of [0, 1].
    return np.clip(np.minimum(centre - half, p), 0, 1), np.clip(np.maximum(centre + half, p), 0, 1)


def proportion(count: int, n: int, level: float = 0.95) -> tuple[float, float, float]:
    """The share `count / n` and its Wilson limits; NaN where `n` is 0."""
    if n == 0:
        return (float("nan"),) * 3
    low, high = wilson_limits(count / n, n, level)
    return count / n, float(low), float(high)


def difference_limits(
    first: ArrayLike, first_n: ArrayLike, second: ArrayLike, second_n: ArrayLike, level: float = 0.95
) -> tuple[Array, Array]:
    """Limits for `first - second`, two independent shares (Newcombe 1998, method 10: from both Wilson intervals)."""
    p, q = np.asarray(first, float), np.asarray(second, float)
    (p_low, p_high), (q_low, q_high) = wilson_limits(p, first_n, level), wilson_limits(q, second_n, level)
    return p - q - np.hypot(p - p_low, q_high - q), p - q + np.hypot(p_high - p, q - q_low)


def _normal_quantile(level: float) -> float:
    return float(ndtri((1 + level) / 2))
