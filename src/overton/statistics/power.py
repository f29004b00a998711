"""How many items and trials it takes to see a difference, and how probable a verdict is.

If few items pull unevenly at a difference, its t does not have Student's distribution, and no formula gives the one
that it has. So few items are simulated: they pull as the observed ones do. For many, Student's t is close.

A number of a model rests on items, and on trials of each. The pull of one item at the difference of two numbers varies
from item to item, and part of that is chance in the trials, which more trials reduce. Nothing here knows what the
numbers measure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf, isfinite, nan, sqrt

import numpy as np
from scipy.special import chdtri, nctdtr, stdtrit

from overton.statistics.arrays import Floats
from overton.statistics.comparison import Number, equivalence_level
from overton.statistics.estimate import FEWEST
from overton.statistics.jackknife import Influence, StandardErrors, standard_errors, student_gap

SIMULATED = 100
"""More items than this are not simulated: Student's t is then within a percentage point."""

_SIMULATED_DIFFERENCES = 2_000
_SMALLEST = 1e-9
"""A standard error smaller than this, relative to that of one item, is rounding error around zero."""


@dataclass(frozen=True, eq=False)
class ItemInfluences:
    """How unevenly items pull at the difference of two numbers, whatever its scale.

    seen    [n] pulls of items, on any scale, to draw from; if empty, normal ones are drawn
    alike   None: `seen` are pulls at a difference. Otherwise they are one model's, two models are drawn from them, and
            this share of items, 0 to 1, pulls at both alike
    chance  the share of the variance that is chance in trials, assumed normal
    """

    seen: Floats = field(default_factory=lambda: np.empty(0))
    alike: float | None = None
    chance: float = 0.0
    _simulations: dict[int, tuple[Floats, StandardErrors]] = field(default_factory=dict, repr=False)

    def with_chance(self, chance: float) -> ItemInfluences:
        """The same, with another share of chance in trials."""
        return ItemInfluences(self.seen, self.alike, chance)

    def power(self, difference: float, error: float, items: int, level: float) -> float:
        """The probability that an interval of `level` lies above 0 if the truth is `difference`, with the standard
        error `error` over so many items."""
        if error <= 0:
            return 1.0
        if items <= SIMULATED:
            low, _ = self._simulated_limits(items, level)
            return float(np.mean(difference / error + low > 0))
        freedom = items - 1
        return 1 - float(nctdtr(freedom, difference / error, stdtrit(freedom, (1 + level) / 2)))

    def equivalent(self, difference: float, margin: float, error: float, items: int, level: float) -> float:
        """The chance that the interval of equivalence lies within the margin: two one-sided tests (Schuirmann 1987).

        For many items by the difference of two noncentral t distributions, which is slightly low if it is small.
        """
        if error <= 0:
            return float(abs(difference) < margin)
        inner, (above, below) = equivalence_level(level), ((difference + margin) / error, (difference - margin) / error)
        if items <= SIMULATED:
            low, high = self._simulated_limits(items, inner)
            return float(np.mean((above + low >= 0) & (below + high <= 0)))
        freedom = items - 1
        critical = stdtrit(freedom, (1 + inner) / 2)
        return max(float(nctdtr(freedom, below, -critical)) - float(nctdtr(freedom, above, critical)), 0.0)

    def _simulated_limits(self, items: int, level: float) -> tuple[Floats, Floats]:
        """Limits of simulated differences whose truth is 0 [K] each, in standard errors of so many items; those that do
        not vary have none."""
        mean, spread = self.over(items)
        flat = ~(spread.error > _SMALLEST)
        half, root = student_gap(spread, level), sqrt(items)
        return np.where(flat, -np.inf, (mean - half) * root), np.where(flat, np.inf, (mean + half) * root)

    def over(self, items: int) -> tuple[Floats, StandardErrors]:
        """Simulated differences over so many items whose truth is 0 [K], and their spread; an item's variance is 1."""
        if items not in self._simulations:
            rng = np.random.default_rng(items)
            drawn = sqrt(1 - self.chance) * self._draw_influences(rng, (items, _SIMULATED_DIFFERENCES))
            drawn += sqrt(self.chance) * rng.standard_normal(drawn.shape)
            drawn *= rng.choice((-1.0, 1.0), _SIMULATED_DIFFERENCES)  # which of the two is the higher one is not known
            mean, many = drawn.mean(0), np.full(_SIMULATED_DIFFERENCES, float(items))
            self._simulations[items] = mean, standard_errors(Influence((drawn - mean) / items, many, many - 1))
        return self._simulations[items]

    def _draw_influences(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        if self.alike is None:
            return self._draw_of_model(rng, shape)
        apart = rng.random(shape) >= self.alike
        return apart * (self._draw_of_model(rng, shape) - self._draw_of_model(rng, shape)) / sqrt(2 * (1 - self.alike))

    def _draw_of_model(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        spread = float(np.std(self.seen)) if len(self.seen) > 1 else 0.0
        if not spread > 0:
            return rng.standard_normal(shape)
        return np.asarray(rng.choice((self.seen - self.seen.mean()) / spread, shape))


NORMAL = ItemInfluences()
"""If nothing is known about pulls."""


def item_influences(number: Number) -> Floats:
    """The pull of each item, or group of items, at a number."""
    return number.influence.parts[:, 0]


MOST_ITEMS = 1_000_000
"""Nobody asks more than this."""

_ChanceOfItems = Callable[[int], float]


def scatter(number: Number) -> float:
    """The variance of one item's pull at a number: the number's own variance times its items; NaN without any."""
    if number.influence.parts.shape[0] < 2:
        return nan
    (error,) = standard_errors(number.influence).error
    return float(error) ** 2 * float(number.numbers.clusters[0])


def by_chance(first: Number, second: Number, trials: tuple[int, int]) -> float:
    """The part of an item's variance that is due to chance in one trial, from the same number over the same items by
    two sets of so many trials of each: their differences item by item are chance alone. NaN if it cannot be estimated.
    """
    first_trials, second_trials = trials
    apart_by = scatter(second.minus(first)) if first.influence.parts.shape == second.influence.parts.shape else nan
    return apart_by / (1 / first_trials + 1 / second_trials)


@dataclass(frozen=True)
class ItemVariance:
    """One item's pull at a number, or at the difference of two: its variance `items` over endless trials of each, and
    `trials`, what the chance in a single one adds. `trials` is NaN if the two could not be separated: all is then in
    `items`, and applies to as many trials as there were.
    """

    items: float
    trials: float = nan

    @classmethod
    def found(cls, whole: float, chance: float, trials: int) -> ItemVariance:
        """From the whole variance with so many trials of each item, and the part that chance in a single trial adds."""
        if not isfinite(chance):
            return cls(whole)
        return cls(max(whole - chance / trials, 0.0), min(chance, whole * trials))

    def error(self, items: int, trials: int | None) -> float:
        """The standard error with so many items, and trials of each."""
        chance = 0.0 if trials is None or not isfinite(self.trials) else self.trials / trials
        return sqrt((self.items + chance) / items)


def apart(item_variance: ItemVariance, correlation: float) -> ItemVariance:
    """The difference of two models that vary alike, whose true numbers have this `correlation` over items.

    Chance in trials is each model's own.
    """
    return ItemVariance(2 * (1 - correlation) * item_variance.items, 2 * item_variance.trials)


def fewest_items(chance: _ChanceOfItems, power: float) -> int | None:
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


def smallest_detectable(error: float, items: int, level: float, power: float, pulls: ItemInfluences = NORMAL) -> float:
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
