"""Vectorised intervals for proportions and their differences, and the difference over many small strata."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from overton.statistics.arrays import Floats


def wilson_limits(
    share: ArrayLike, n: ArrayLike, level: float = 0.95, freedom: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Score limits for proportions in [0, 1] of `n` answers each (Wilson 1927), broadcast together.

    `n` may be an effective number of answers, which need not be whole. Where `n` is 0, limits are NaN. If `n` is itself
    an estimate with `freedom` degrees of freedom, Student's quantile replaces the normal one (as in Korn and Graubard
    1998).
    """
    p, size = np.asarray(share, float), np.asarray(n, float)
    z = quantile(level) if freedom is None else scipy.special.stdtrit(freedom, (1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (p + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    # Rounding must not push a limit past the proportion, or out of [0, 1].
    return np.clip(np.minimum(centre - half, p), 0, 1), np.clip(np.maximum(centre + half, p), 0, 1)


def proportion(count: float, n: int, level: float = 0.95) -> tuple[float, float, float]:
    """The proportion `count / n` and its Wilson limits. All three are NaN if `n` is 0."""
    if n == 0:
        return (float("nan"),) * 3
    low, high = wilson_limits(count / n, n, level)
    return count / n, float(low), float(high)


def difference_limits(
    first: ArrayLike, first_n: ArrayLike, second: ArrayLike, second_n: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Limits for the difference `first - second` of two independent proportions. They are computed from both Wilson
    intervals (Newcombe 1998, method 10)."""
    p, q = np.asarray(first, float), np.asarray(second, float)
    (p_low, p_high), (q_low, q_high) = wilson_limits(p, first_n, level), wilson_limits(q, second_n, level)
    return p - q - np.hypot(p - p_low, q_high - q), p - q + np.hypot(p_high - p, q - q_low)


def quantile(level: float) -> float:
    """The number of standard errors from the estimate to each limit of a normal interval of this level."""
    return float(scipy.special.ndtri((1 + level) / 2))


class DifferenceParts(NamedTuple):
    """Sums over strata, from which the difference and its standard error are computed. Sums for different clusters of
    strata can be added."""

    numerator: Floats
    denominator: Floats
    p: Floats
    q: Floats

    def difference(self) -> Floats:
        """The common difference of proportions, on [-1, 1]; NaN if no stratum has answers both with and without the
        factor."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.numerator / self.denominator

    def error(self) -> Floats:
        """The difference's standard error by Sato (1989, Biometrics 45:1323). It is valid for many small strata and for
        few large ones."""
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = (self.difference() * self.p + self.q) / self.denominator**2
        return np.sqrt(np.maximum(variance, 0))


def mantel_haenszel(
    with_successes: ArrayLike, with_n: ArrayLike, without_successes: ArrayLike, without_n: ArrayLike
) -> DifferenceParts:
    """Parts of the Mantel-Haenszel difference of proportions (the proportion with the factor, minus the proportion
    without it). Strata are on the last axis.

    Arguments are counts of successes and of answers in each stratum, broadcast together (Greenland and Robins 1985).
    """
    x1, n1 = np.asarray(with_successes, float), np.asarray(with_n, float)
    x0, n0 = np.asarray(without_successes, float), np.asarray(without_n, float)
    total = np.maximum(n1 + n0, 1)
    p = (n1**2 * x0 - n0**2 * x1 + n1 * n0 * (n0 - n1) / 2) / total**2
    q = (x1 * (n0 - x0) + x0 * (n1 - x1)) / (2 * total)
    return DifferenceParts(
        ((x1 * n0 - x0 * n1) / total).sum(-1),
        (n1 * n0 / total).sum(-1),
        np.where(n1 * n0 > 0, p, 0).sum(-1),
        np.where(n1 * n0 > 0, q, 0).sum(-1),
    )


def exact_fall(before: int, of: int, after: int, of_after: int) -> float:
    """Compute the one-sided p-value of Fisher's exact test of whether a proportion fell.

    There were `before` successes in `of` trials, and later `after` successes in `of_after` trials. The p-value is the
    probability of at least `before` successes among the first `of` trials, given the total number of successes (Fisher
    1935, J. R. Stat. Soc. 98:39).
    """
    successes, failures = before + after, of + of_after - before - after
    most = min(of, successes)
    ways = sum(comb(successes, x) * comb(failures, of - x) for x in range(before, most + 1) if of - x <= failures)
    return ways / comb(of + of_after, of)
