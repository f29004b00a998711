"""The numbers of items and trials that are needed to detect a difference, and the probability of a verdict.

If there are few items with unequal influence on a difference, its t value does not have Student's distribution, and
there is no formula for its distribution. So small samples of items are simulated from the observed influence values.
For many items, Student's t is close.

A model's number depends on items, and on trials of each item. The influence of an item on the difference of two numbers
varies between items. Part of this variation is random variation between trials, which more trials reduce.
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
"""With more items than this, Overton uses Student's t instead of a simulation. Probabilities then differ by at most a
percentage point."""

_SIMULATED_DIFFERENCES = 2_000
_SMALLEST = 1e-9
"""A standard error smaller than this, relative to that of one item, is rounding error around zero."""


@dataclass(frozen=True, eq=False)
class ItemInfluences:
    """The distribution of items' influence on the difference of two numbers, on any scale.

    seen    [n] influence values of items, on any scale, to sample from; if empty, normal values are sampled
    alike   None if `seen` has influences on a difference. If `seen` has influences on one model's number, two models
            are sampled from it. `alike` is then the proportion of items, 0 to 1, with the same influence on both
            models (a conservative assumption)
    chance  the proportion of the variance that comes from random variation between trials, assumed normal
    """

    seen: Floats = field(default_factory=lambda: np.empty(0))
    alike: float | None = None
    chance: float = 0.0
    _simulations: dict[int, tuple[Floats, StandardErrors]] = field(default_factory=dict, repr=False)

    def with_chance(self, chance: float) -> ItemInfluences:
        """The same distribution with another `chance`."""
        return ItemInfluences(self.seen, self.alike, chance)

    def power(self, difference: float, error: float, items: int, level: float) -> float:
        """The probability that an interval of `level` lies above 0, if the true value is `difference`. `error` is the
        standard error over `items` items."""
        if error <= 0:
            return 1.0
        if items <= SIMULATED:
            low, _ = self._simulated_limits(items, level)
            return float(np.mean(difference / error + low > 0))
        freedom = items - 1
        return 1 - float(nctdtr(freedom, difference / error, stdtrit(freedom, (1 + level) / 2)))

    def equivalent(self, difference: float, margin: float, error: float, items: int, level: float) -> float:
        """The probability that the interval of equivalence lies within the margin: two one-sided tests (Schuirmann
        1987).

        For more than `SIMULATED` items, two noncentral t distributions replace the simulation. The result is then
        slightly too low if the probability is small.
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
        """The lower and upper limits [K] of simulated differences whose true value is 0, in standard errors over
        `items` items. They are infinite for a difference that does not vary."""
        mean, spread = self.over(items)
        flat = ~(spread.error > _SMALLEST)
        half, root = student_gap(spread, level), sqrt(items)
        return np.where(flat, -np.inf, (mean - half) * root), np.where(flat, np.inf, (mean + half) * root)

    def over(self, items: int) -> tuple[Floats, StandardErrors]:
        """Simulated differences [K] over `items` items, and their standard errors. The true differences are 0. An
        item's variance is 1."""
        if items not in self._simulations:
            rng = np.random.default_rng(items)
            drawn = sqrt(1 - self.chance) * self._draw_influences(rng, (items, _SIMULATED_DIFFERENCES))
            drawn += sqrt(self.chance) * rng.standard_normal(drawn.shape)
            drawn *= rng.choice((-1.0, 1.0), _SIMULATED_DIFFERENCES)  # the sign of the difference is unknown
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
"""The distribution if nothing is known about the influence of items."""


def item_influences(number: Number) -> Floats:
    """The influence of each item, or group of items, on a number."""
    return number.influence.parts[:, 0]


MOST_ITEMS = 1_000_000
"""More items than this are never practical."""

_ChanceOfItems = Callable[[int], float]


def scatter(number: Number) -> float:
    """The variance of one item's influence: the estimate's variance times its number of items; NaN without items."""
    if number.influence.parts.shape[0] < 2:
        return nan
    (error,) = standard_errors(number.influence).error
    return float(error) ** 2 * float(number.numbers.clusters[0])


def by_chance(first: Number, second: Number, trials: tuple[int, int]) -> float:
    """The part of an item's variance that comes from random variation in one trial; NaN if it cannot be estimated.

    `first` and `second` are the same number over the same items, each from a separate set of trials. So an item's
    influences on `first` and `second` differ only by random variation. `trials` has the number of trials per item in
    each set.
    """
    first_trials, second_trials = trials
    apart_by = scatter(second.minus(first)) if first.influence.parts.shape == second.influence.parts.shape else nan
    return apart_by / (1 / first_trials + 1 / second_trials)


@dataclass(frozen=True)
class ItemVariance:
    """The variance of one item's influence on a number, or on the difference of two numbers. `items` is the variance
    with infinitely many trials of each item. `trials` is the variance that a single trial adds at random. If `items`
    and `trials` could not be separated, `trials` is NaN, and `items` is the whole variance at the present number of
    trials."""

    items: float
    trials: float = nan

    @classmethod
    def found(cls, whole: float, chance: float, trials: int) -> ItemVariance:
        """Split `whole`, the variance with `trials` trials of each item, into the parts from items and from trials.
        `chance` is the part that random variation in a single trial adds."""
        if not isfinite(chance):
            return cls(whole)
        return cls(max(whole - chance / trials, 0.0), min(chance, whole * trials))

    def error(self, items: int, trials: int | None) -> float:
        """The standard error with this number of items, and this number of trials per item (None: infinitely many)."""
        chance = 0.0 if trials is None or not isfinite(self.trials) else self.trials / trials
        return sqrt((self.items + chance) / items)


def apart(item_variance: ItemVariance, correlation: float) -> ItemVariance:
    """The variance for the difference of two models. Both models have the variance `item_variance`.

    The models' true values have this `correlation` over items. Random variation between trials is independent in the
    two models.
    """
    return ItemVariance(2 * (1 - correlation) * item_variance.items, 2 * item_variance.trials)


def fewest_items(chance: _ChanceOfItems, power: float) -> int | None:
    """The smallest number of items at which the function `chance` gives at least `power`. The function must rise with
    the number of items. None if no practical number is enough."""
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
    """The smallest difference that is detected with the probability `power`."""
    low, high = 0.0, 1e-12 + error
    while pulls.power(high, error, items, level) < power:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if pulls.power(middle, error, items, level) >= power else (middle, high)
    return high


def between(items: int, pilot: int, level: float = 0.8) -> tuple[int, int]:
    """An interval for the number of items that a pilot with `pilot` items suggested. It reflects the uncertainty of the
    pilot's variance (chi-squared)."""
    freedom = pilot - 1
    if freedom < 1:
        return items, MOST_ITEMS
    low, high = (freedom / float(chdtri(freedom, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    return max(ceil(items * low), FEWEST), min(ceil(items * high), MOST_ITEMS)


def trials_needed(error: float, chance: float, trials: int, wanted: float) -> int | None:
    """The number of trials of each item that brings a number's standard error from `error` down to `wanted`; None if no
    number of trials is enough. With the present `trials`, random variation between trials contributes `chance` to the
    variance `error`^2.
    """
    rest = error**2 - chance
    if not chance > 0 or wanted**2 <= rest or wanted == inf:
        return None
    return max(ceil(trials * chance / (wanted**2 - rest)), trials + 1)
