"""Looking more than once: when to look, and limits that are valid however often one looked and why one stopped.

Counts at which one looks grow geometrically, so that there are few of them. Limits of counted answers are exact and
divide the level among the looks. By the union bound all of them are valid together with the level's probability,
whichever is the last (Mnih, Szepesvari and Audibert 2008, "Empirical Bernstein stopping", ICML). Bonferroni's division
is the plainest alpha spending of Lan and DeMets (1983, Biometrika 70:659).

Limits of numbers with a standard error are repeated confidence intervals (Jennison and Turnbull 2000, "Group sequential
methods", chapter 9), equally wide in standard errors at each look (Pocock 1977, Biometrika 64:191). Later looks include
the answers of earlier ones, so their constant is smaller than that of a divided level: 2.49 standard errors for seven
looks at 95%, not 2.69.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil, log, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtri

__all__ = ["GROWTH", "divided", "exact_limits", "looks", "most_looks", "quantile", "repeated"]

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


@lru_cache(maxsize=256)
def repeated(level: float, information: tuple[float, ...]) -> float:
    """How many standard errors to either side make intervals at several looks valid together with `level`.

    `information` is what is known at each look, in any unit, such as numbers of answers; it grows. After equal steps
    this is Pocock's constant.

    Raises:
        ValueError: there is no look, information does not grow, or `level` is not between 0 and 1.
    """
    grows = all(0 < one < other for one, other in pairwise(information))
    if not information or information[0] <= 0 or not grows or not 0 < level < 1:
        raise ValueError(f"no constant for looks at {information} and level {level}")
    return float(brentq(lambda reach: _stays(reach, information) - level, quantile(level) - 1e-3, 10.0, xtol=1e-6))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def _stays(reach: float, information: tuple[float, ...]) -> float:
    """The probability that a random walk with a normal step of variance 1 per unit of information stays within `reach`
    standard deviations at each look (the recursion of Armitage, McPherson and Rowe 1969, JRSS A 132:235)."""
    at, weight, density, before = np.zeros(1), np.ones(1), np.ones(1), 0.0
    for now in information:
        wide, step = reach * sqrt(now), now - before
        places = wide * _NODES
        density = np.exp(-((places[:, None] - at) ** 2) / (2 * step)) @ (weight * density) / sqrt(2 * pi * step)
        at, weight, before = places, wide * _WEIGHTS, now
    return float(weight @ density)


def exact_limits(count: ArrayLike, n: ArrayLike, level: ArrayLike) -> tuple[Array, Array]:
    """Limits of Clopper and Pearson (1934) for `count` of `n` answers, broadcast together; 0 to 1 where `n` is 0.

    They are valid for answers of unequal chances too, whose number varies less than if all had the mean (Hoeffding
    1956).
    """
    x, size, cut = np.asarray(count, float), np.asarray(n, float), (1 - np.asarray(level, float)) / 2
    low = np.where(x > 0, betaincinv(np.maximum(x, 1e-9), size - x + 1, cut), 0.0)
    high = np.where(x < size, betaincinv(x + 1, np.maximum(size - x, 1e-9), 1 - cut), 1.0)
    return np.asarray(low), np.asarray(high)
