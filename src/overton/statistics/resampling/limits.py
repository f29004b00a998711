"""The rule for every interval over clusters: Student's t on how a number changes without each of them.

A number's influence values say how far each cluster moves it; they are found by leaving out each in turn (the
jackknife). Their spread is its standard error, their skewness is removed by Hall's transformation, within a limit. Five
clusters are needed. docs/statistics.md has the formulas, the alternatives that were tried, and the coverage of the
intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

__all__ = [
    "FARTHEST",
    "FEWEST",
    "OF_SKEWNESS",
    "Influence",
    "Spread",
    "freedom_of",
    "gaps",
    "spread_of",
    "student_gap",
]

Array = NDArray[np.float64]

FEWEST = 5
"""The fewest clusters with an interval: with fewer, no method that was tried covers the truth often enough."""

OF_SKEWNESS = 0.9
"""The part of an estimated skewness that is removed. Removing all of it makes intervals of symmetric values with long
tails (Laplace) too short, and of those without (uniform) too long."""

FARTHEST = 1.6
"""No limit is further from its number than this many times Student's. Where one cluster of ten stands out, the inverse
of Hall's cubic is nearly vertical: moving that cluster a little would move the limit by several standard errors."""


@dataclass(frozen=True)
class Influence:
    """How far each group of clusters moves K numbers.

    parts    [groups, K] 0 for a group that says nothing about a number; they add up to nothing, or nearly
    groups   [K] how many groups say something
    freedom  [K] Student's degrees of freedom
    """

    parts: Array
    groups: Array
    freedom: Array

    def __sub__(self, other: Influence) -> Influence:
        """The influence on the differences of K numbers, whose groups are the same."""
        least = (np.minimum(*both) for both in ((self.groups, other.groups), (self.freedom, other.freedom)))
        return Influence(self.parts - other.parts, *least)


class Spread(NamedTuple):
    """K numbers' standard errors, the skewness of their distributions, and degrees of freedom [K]."""

    error: Array
    skewness: Array
    freedom: Array


def freedom_of(below: Array) -> Array:
    """Student's degrees of freedom of B ratios from their denominators [groups, B].

    One less than the groups that say something if they weigh alike; less if few outweigh the others (Satterthwaite
    1946, for values of equal variance); at least 1.
    """
    squares = below * below
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = squares.sum(0) ** 2 / (squares * squares).sum(0)
    return np.asarray(np.maximum(np.round(worth, 9) - 1, 1))


def spread_of(influence: Influence) -> Spread:
    """Standard error and skewness of K numbers; NaN or infinite if leaving a group out leaves no number."""
    parts, many = influence.parts, influence.groups
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = parts * parts
        first, second, third = parts.sum(0), squares.sum(0), np.einsum("gk,gk->k", squares, parts)
        variance = np.maximum(second - first**2 / many, 0)
        skewness = (third - 3 * first * second / many + 2 * first**3 / many**2) / variance**1.5
        error = np.sqrt(variance * many / (many - 1))
    # By its formula it is on [-1, 1]; rounding error around no spread at all can have any.
    return Spread(error, np.clip(np.nan_to_num(skewness), -1, 1), influence.freedom)


def gaps(
    spread: Spread, level: float, of_skewness: float = OF_SKEWNESS, farthest: float = FARTHEST
) -> tuple[Array, Array]:
    """How far K numbers' limits are from them [K] each, at most 0 and at least 0.

    Student's quantiles are transformed by the inverse of Hall's cubic transformation (1992, JRSS B 54:221), which makes
    a studentised mean's distribution symmetric. Without skewness they are Student's own, and they are never further out
    than `farthest` times these.
    """
    quantile = stdtrit(spread.freedom, (1 + level) / 2)
    bend = of_skewness * spread.skewness / 3
    low, high = (-_untransformed(one, bend) * spread.error for one in (quantile, -quantile))
    most = farthest * quantile * spread.error
    return np.clip(low, -most, 0.0), np.clip(high, 0.0, most)


def student_gap(spread: Spread, level: float) -> Array:
    """How far Student's limits of K numbers are from them, on both sides [K]."""
    return np.asarray(stdtrit(spread.freedom, (1 + level) / 2) * spread.error)


def _untransformed(quantile: Array, bend: Array) -> Array:
    """t for which ((1 + bend t)^3 - 1) / (3 bend) + bend / 2 = `quantile`; NaN if the quantile is infinite."""
    moved = quantile - bend / 2
    with np.errstate(invalid="ignore"):  # with few items, joint levels of many numbers round to 1
        root = np.cbrt(1 + 3 * bend * moved)
        return np.asarray(3 * moved / (root * root + root + 1))
