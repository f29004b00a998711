"""The effect of a randomised two-valued factor on a share, over many small strata."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["DifferenceParts", "mantel_haenszel"]

Array = NDArray[np.float64]


class DifferenceParts(NamedTuple):
    """Sums over strata from which the difference and its error follow, so that clusters of strata can be combined."""

    numerator: Array
    denominator: Array
    p: Array
    q: Array

    def difference(self) -> Array:
        """The common difference of shares, on [-1, 1]; NaN where no stratum has both values of the factor."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.numerator / self.denominator

    def error(self) -> Array:
        """Its standard error by Sato (1989, Biometrics 45:1323), good for many small and for few large strata."""
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = (self.difference() * self.p + self.q) / self.denominator**2
        return np.sqrt(np.maximum(variance, 0))


def mantel_haenszel(
    with_successes: ArrayLike, with_n: ArrayLike, without_successes: ArrayLike, without_n: ArrayLike, axis: int = -1
) -> DifferenceParts:
    """Parts of the Mantel-Haenszel difference of shares, with minus without the factor, summed over `axis`.

    Counts of successes and of answers in each stratum, broadcast together (Greenland and Robins 1985).
    """
    x1, n1 = np.asarray(with_successes, float), np.asarray(with_n, float)
    x0, n0 = np.asarray(without_successes, float), np.asarray(without_n, float)
    total = np.maximum(n1 + n0, 1)
    p = (n1**2 * x0 - n0**2 * x1 + n1 * n0 * (n0 - n1) / 2) / total**2
    q = (x1 * (n0 - x0) + x0 * (n1 - x1)) / (2 * total)
    return DifferenceParts(
        ((x1 * n0 - x0 * n1) / total).sum(axis),
        (n1 * n0 / total).sum(axis),
        np.where(n1 * n0 > 0, p, 0).sum(axis),
        np.where(n1 * n0 > 0, q, 0).sum(axis),
    )
