"""How much means over the same clusters differ: their variance with an interval, and what chance alone gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, stdtrit

__all__ = ["Between", "between"]

Array = NDArray[np.float64]


class Between(NamedTuple):
    """The variance (sample, k - 1) of k means, its limits, and its expectation if the true means were equal."""

    value: float
    low: float
    high: float
    by_chance: float


def between(means: Array, parts: Array, groups: int, level: float) -> Between:
    """The variance of k means [k] whose influence values are `parts` [groups, k], of so many groups; NaN for the limits
    if no mean varies.

    Limits are those of the root of the sum of squares about the mean of the means, by Student's t with the standard
    error that it has in its own direction; the lower one is 0 unless an F test separates the means, whose degrees of
    freedom are Greenhouse and Geisser's (1959). For two means they are Student's limits of the difference, squared.
    """
    k = len(means)
    away = means - means.mean()
    centred = parts - parts.mean(1, keepdims=True)
    covariance = centred.T @ centred * groups / (groups - 1)
    expected, length = float(np.trace(covariance)), float(np.sqrt(away @ away))
    value, by_chance = length**2 / (k - 1), expected / (k - 1)
    if expected <= 0:
        return Between(value, float("nan"), float("nan"), by_chance)
    worth = expected**2 / float((covariance * covariance).sum())
    apart = value / by_chance > fdtri(worth, worth * (groups - 1), level)
    along = max(float(away @ covariance @ away), 0.0) / length**2 if length else by_chance
    margin = float(stdtrit(groups - 1, (1 + level) / 2)) * along**0.5
    low = max(0.0, length - margin) ** 2 / (k - 1) if apart else 0.0
    return Between(value, low, (length + margin) ** 2 / (k - 1), by_chance)
