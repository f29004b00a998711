"""Looking more than once: when to look, and limits that are valid however often one looked and why one stopped.

Counts at which anything is looked at grow geometrically, so that there are few of them, and the level is divided among
them: by the union bound all limits together are valid with the level's probability, whichever is the last (geometric
looks with divided levels, as in Mnih, Szepesvari and Audibert 2008, "Empirical Bernstein stopping", ICML; Bonferroni's
division is
the plainest alpha spending of Lan and DeMets 1983, Biometrika 70:659).
"""

from __future__ import annotations

from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

__all__ = ["GROWTH", "divided", "exact_limits", "looks", "most_looks", "quantile"]

Array = NDArray[np.float64]

GROWTH = 1.5
"""By what part one count exceeds the one before, at least."""


def looks(first: int, most: int) -> tuple[int, ...]:
    """The counts at which one looks: `first`, then each half as much again, rounded up, and `most` at the end."""
    found = [min(first, most)]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, ceil(found[-1] * GROWTH))))
    return tuple(found)


def most_looks(first: float, most: float, growth: float) -> int:
    """How often one can look if each count is `growth` times the one before, from `first` to `most`."""
    return 1 + max(0, ceil(log(most / first) / log(growth))) if 0 < first < most else 1


def divided(level: float, count: int) -> float:
    """The level at each of so many looks, so that all are valid together with `level`."""
    return 1 - (1 - level) / max(count, 1)


def quantile(level: float) -> float:
    """How many standard errors a normal interval of this level takes to either side."""
    return float(ndtri((1 + level) / 2))


def exact_limits(count: ArrayLike, n: ArrayLike, level: ArrayLike) -> tuple[Array, Array]:
    """Limits of Clopper and Pearson (1934) for `count` of `n` answers, broadcast together; 0 to 1 where `n` is 0.

    They are valid for answers of unequal chances too, whose number varies less than if all had the mean (Hoeffding
    1956).
    """
    x, size, cut = np.asarray(count, float), np.asarray(n, float), (1 - np.asarray(level, float)) / 2
    low = np.where(x > 0, betaincinv(np.maximum(x, 1e-9), size - x + 1, cut), 0.0)
    high = np.where(x < size, betaincinv(x + 1, np.maximum(size - x, 1e-9), 1 - cut), 1.0)
    return np.asarray(low), np.asarray(high)
