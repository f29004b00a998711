"""How many items, and trials of each, it takes to see a difference of a given size between two models.

A number of a model rests on items, and on trials of each. The pull of one item at the difference of two numbers varies
from item to item, and part of that is chance in the trials, which more trials reduce. Nothing here knows what the
numbers measure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, isfinite, nan, sqrt

from scipy.special import chdtri

from overton.statistics.chances import NORMAL, Pulls
from overton.statistics.comparing import Number
from overton.statistics.resampling import FEWEST
from overton.statistics.resampling.limits import spread_of

__all__ = [
    "MOST_ITEMS",
    "Varying",
    "apart",
    "between",
    "by_chance",
    "fewest_items",
    "scatter",
    "smallest_detectable",
    "trials_needed",
]

MOST_ITEMS = 1_000_000
"""Nobody asks more than this."""

_Of = Callable[[int], float]


def scatter(number: Number) -> float:
    """The variance of one item's pull at a number: the number's own variance times its items; NaN without any."""
    if number.influence.parts.shape[0] < 2:
        return nan
    (error,) = spread_of(number.influence).error
    return float(error) ** 2 * float(number.numbers.clusters[0])


def by_chance(first: Number, second: Number, trials: tuple[int, int]) -> float:
    """The part of an item's variance that is due to chance in one trial, from the same number over the same items by
    two sets of so many trials of each: their differences item by item are chance alone. NaN if it cannot be estimated.
    """
    one, other = trials
    apart_by = scatter(second.minus(first)) if first.influence.parts.shape == second.influence.parts.shape else nan
    return apart_by / (1 / one + 1 / other)


@dataclass(frozen=True)
class Varying:
    """One item's pull at a number, or at the difference of two: its variance `items` over endless trials of each, and
    `trials`, what the chance in a single one adds. `trials` is NaN if the two could not be separated: all is then in
    `items`, and applies to as many trials as there were.
    """

    items: float
    trials: float = nan

    @classmethod
    def found(cls, whole: float, chance: float, trials: int) -> Varying:
        """From the whole variance with so many trials of each item, and the part that chance in a single trial adds."""
        if not isfinite(chance):
            return cls(whole)
        return cls(max(whole - chance / trials, 0.0), min(chance, whole * trials))

    def error(self, items: int, trials: int | None) -> float:
        """The standard error with so many items, and trials of each."""
        chance = 0.0 if trials is None or not isfinite(self.trials) else self.trials / trials
        return sqrt((self.items + chance) / items)


def apart(one: Varying, correlation: float) -> Varying:
    """The difference of two models that vary alike, whose true numbers have this `correlation` over items.

    Chance in trials is each model's own.
    """
    return Varying(2 * (1 - correlation) * one.items, 2 * one.trials)


def fewest_items(chance: _Of, power: float) -> int | None:
    """The fewest items for which a chance, which rises with their number, is `power`; None if none are enough."""
    high = FEWEST
    while chance(high) < power:
        if high > MOST_ITEMS:
            return None
        high *= 2
    low = max(high // 2, FEWEST - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high


def smallest_detectable(error: float, items: int, level: float, power: float, pulls: Pulls = NORMAL) -> float:
    """The smallest difference that is detected with the chance `power`."""
    low, high = 0.0, 1e-12 + error
    while pulls.power(high, error, items, level) < power:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if pulls.power(middle, error, items, level) >= power else (middle, high)
    return high


def between(items: int, pilot: int, level: float = 0.8) -> tuple[int, int]:
    """For a number of items that follows from a pilot of so many: the range in which it could lie, since their variance
    is itself uncertain (chi-squared)."""
    freedom = pilot - 1
    if freedom < 1:
        return items, MOST_ITEMS
    low, high = (freedom / float(chdtri(freedom, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    return max(ceil(items * low), FEWEST), min(ceil(items * high), MOST_ITEMS)


def trials_needed(error: float, chance: float, trials: int, wanted: float) -> int | None:
    """How many trials of each item bring the standard error of a number from `error` down to `wanted`, if chance makes
    the part `chance` of its variance with the present `trials`; None if no number does."""
    rest = error**2 - chance
    if not chance > 0 or wanted**2 <= rest or wanted == inf:
        return None
    return max(ceil(trials * chance / (wanted**2 - rest)), trials + 1)
