"""Intervals for shares and for differences of shares, for whole arrays at once; a difference over many small strata."""

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
    """Score limits for shares in [0, 1] of `n` answers each (Wilson 1927), broadcast together.

    `n` may be an effective number of answers, not whole, and is 0 where limits are NaN. If it is an estimate with so
    many degrees of `freedom`, Student's quantile replaces the normal one (as in Korn and Graubard 1998).
    """
    p, size = np.asarray(share, float), np.asarray(n, float)
    z = quantile(level) if freedom is None else scipy.special.stdtrit(freedom, (1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (p + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    # Rounding must not push a limit past the share that it surrounds, nor out of [0, 1].
    return np.clip(np.minimum(centre - half, p), 0, 1), np.clip(np.maximum(centre + half, p), 0, 1)


def proportion(count: float, n: int, level: float = 0.95) -> tuple[float, float, float]:
    """The share `count / n` and its Wilson limits; NaN if `n` is 0."""
    if n == 0:
        return (float("nan"),) * 3
    low, high = wilson_limits(count / n, n, level)
    return count / n, float(low), float(high)


def difference_limits(
    first: ArrayLike, first_n: ArrayLike, second: ArrayLike, second_n: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Limits for `first - second`, two independent shares (Newcombe 1998, method 10: from both Wilson intervals)."""
    p, q = np.asarray(first, float), np.asarray(second, float)
    (p_low, p_high), (q_low, q_high) = wilson_limits(p, first_n, level), wilson_limits(q, second_n, level)
    return p - q - np.hypot(p - p_low, q_high - q), p - q + np.hypot(p_high - p, q - q_low)


def quantile(level: float) -> float:
    """How many standard errors a normal interval of this level takes to either side."""
    return float(scipy.special.ndtri((1 + level) / 2))


class DifferenceParts(NamedTuple):
    """Sums over strata from which the difference and its error follow, so that clusters of strata can be combined."""

    numerator: Floats
    denominator: Floats
    p: Floats
    q: Floats

    def difference(self) -> Floats:
        """The common difference of shares, on [-1, 1]; NaN if no stratum has both values of the factor."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.numerator / self.denominator

    def error(self) -> Floats:
        """Its standard error by Sato (1989, Biometrics 45:1323), good for many small and for few large strata."""
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = (self.difference() * self.p + self.q) / self.denominator**2
        return np.sqrt(np.maximum(variance, 0))


def mantel_haenszel(
    with_successes: ArrayLike, with_n: ArrayLike, without_successes: ArrayLike, without_n: ArrayLike
) -> DifferenceParts:
    """Parts of the Mantel-Haenszel difference of shares, with minus without the factor, summed over the last axis.

    Counts of successes and of answers in each stratum, broadcast together (Greenland and Robins 1985).
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
    """Compute the one-sided P value of Fisher's exact test that a share is not lower afterwards.

    `before` of `of` and `after` of `of_after` are counts. The value is the chance of as many or more successes among
    the first `of`, given the successes of both (Fisher 1935, J. R. Stat. Soc. 98:39).
    """
    successes, failures = before + after, of + of_after - before - after
    most = min(of, successes)
    ways = sum(comb(successes, x) * comb(failures, of - x) for x in range(before, most + 1) if of - x <= failures)
    return ways / comb(of + of_after, of)
