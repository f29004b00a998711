"""The probability of a verdict: the same intervals as those of comparisons, over simulated items.

If few items pull unevenly at a difference, its t does not have Student's distribution, and no formula gives the one
that it has. So few items are simulated: they pull as the observed ones do. For many, Student's t is close.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, stdtrit

from overton.statistics.comparing import Number, equivalence_level
from overton.statistics.resampling.limits import Influence, Spread, spread_of, student_gap

__all__ = ["NORMAL", "Pulls", "pulls_of"]

Array = NDArray[np.float64]

SIMULATED = 100
"""More items than this are not simulated: Student's t is then within a percentage point."""

_TIMES = 2_000
_SMALLEST = 1e-9
"""A standard error smaller than this, relative to that of one item, is rounding error around zero."""


@dataclass(frozen=True, eq=False)
class Pulls:
    """How unevenly items pull at the difference of two numbers, whatever its scale.

    seen    [n] pulls of items, on any scale, to draw from; if empty, normal ones are drawn
    alike   None: `seen` are pulls at a difference. Otherwise they are one model's, two models are drawn from them, and
            this share of items, 0 to 1, pulls at both alike
    chance  the share of the variance that is chance in trials, assumed normal
    """

    seen: Array = field(default_factory=lambda: np.empty(0))
    alike: float | None = None
    chance: float = 0.0
    _known: dict[int, tuple[Array, Spread]] = field(default_factory=dict, repr=False)

    def with_chance(self, chance: float) -> Pulls:
        """The same, with another share of chance in trials."""
        return Pulls(self.seen, self.alike, chance)

    def power(self, difference: float, error: float, items: int, level: float) -> float:
        """The probability that an interval of `level` lies above 0 if the truth is `difference`, with the standard
        error `error` over so many items."""
        if error <= 0:
            return 1.0
        if items <= SIMULATED:
            low, _ = self._limits(items, level)
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
            low, high = self._limits(items, inner)
            return float(np.mean((above + low >= 0) & (below + high <= 0)))
        freedom = items - 1
        critical = stdtrit(freedom, (1 + inner) / 2)
        return max(float(nctdtr(freedom, below, -critical)) - float(nctdtr(freedom, above, critical)), 0.0)

    def _limits(self, items: int, level: float) -> tuple[Array, Array]:
        """Limits of simulated differences whose truth is 0 [K] each, in standard errors of so many items; those that do
        not vary have none."""
        mean, spread = self.over(items)
        flat = ~(spread.error > _SMALLEST)
        half, root = student_gap(spread, level), sqrt(items)
        return np.where(flat, -np.inf, (mean - half) * root), np.where(flat, np.inf, (mean + half) * root)

    def over(self, items: int) -> tuple[Array, Spread]:
        """Simulated differences over so many items whose truth is 0 [K], and their spread; an item's variance is 1."""
        if items not in self._known:
            rng = np.random.default_rng(items)
            drawn = sqrt(1 - self.chance) * self._drawn(rng, (items, _TIMES))
            drawn += sqrt(self.chance) * rng.standard_normal(drawn.shape)
            drawn *= rng.choice((-1.0, 1.0), _TIMES)  # which of the two is the higher one is not known
            mean, many = drawn.mean(0), np.full(_TIMES, float(items))
            self._known[items] = mean, spread_of(Influence((drawn - mean) / items, many, many - 1))
        return self._known[items]

    def _drawn(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        if self.alike is None:
            return self._one(rng, shape)
        apart = rng.random(shape) >= self.alike
        return apart * (self._one(rng, shape) - self._one(rng, shape)) / sqrt(2 * (1 - self.alike))

    def _one(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        spread = float(np.std(self.seen)) if len(self.seen) > 1 else 0.0
        if not spread > 0:
            return rng.standard_normal(shape)
        return np.asarray(rng.choice((self.seen - self.seen.mean()) / spread, shape))


NORMAL = Pulls()
"""If nothing is known about pulls."""


def pulls_of(number: Number) -> Array:
    """What each item, or group of items, pulls at a number."""
    return number.influence.parts[:, 0]
