"""A number with its uncertainty: the only form in which Overton shows one, and what stands in if there is none."""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from overton.statistics.arrays import AnyFloats

Range = tuple[float, float]
"""The range of a number: limits do not go beyond it."""

ANYTHING: Range = (-inf, inf)
POSITIVE: Range = (0.0, inf)
SHARE: Range = (0.0, 1.0)
DIFFERENCE: Range = (-1.0, 1.0)
"""Between two shares."""

FEWEST = 5
"""The fewest clusters with an interval: with fewer, no method that was tried covers the truth often enough."""

Ends = tuple[float | None, float | None]
"""The ends of a range, None for one without a bound: JSON has no infinity."""


def ends_of(within: tuple[float, float]) -> Ends:
    """The ends of a range that may be infinite."""
    low, high = (end if isfinite(end) else None for end in within)
    return low, high


class Estimate(msgspec.Struct, frozen=True):
    """A value, its interval, and the count behind it.

    `value` is NaN if it cannot be computed, and `low`/`high` are NaN if there is no interval. `n` counts the units
    behind the value (answers, issues, pairs: the measure's docstring says which). `level` is the interval's nominal
    coverage and `method` how it was computed ('Wilson', 'Wald', "Student's t over issues, corrected for skewness",
    ...), or why there is none. `error` is the standard error of a mean or ratio over clusters, None if it is not known.
    `within` is the range that values can have, None for an end without a bound; limits do not go beyond it.
    """

    value: float
    low: float
    high: float
    n: int
    method: str
    level: float = 0.95
    error: float | None = None
    within: Ends = (None, None)

    @property
    def undetermined(self) -> tuple[Literal["low", "high"], ...]:
        """The limits at the end of the range, or beyond it with the value, unless the value is that very end: the data
        do not determine them."""
        low, high = self.within
        ends: tuple[tuple[Literal["low", "high"], bool], ...] = (
            ("low", low is not None and self.low <= low != self.value),
            ("high", high is not None and self.high >= high != self.value),
        )
        return tuple(name for name, at_the_end in ends if at_the_end)


class PreferredEstimate(Estimate, frozen=True):
    """The one of several ways to compute a number that should be used: an estimate like any other, together with all of
    them. `leads` names it among those in `beside`."""

    leads: str = "plain"
    beside: dict[str, Estimate] = {}


def preferred_estimate(leads: str, beside: dict[str, Estimate]) -> PreferredEstimate:
    """The one of these that leads."""
    return PreferredEstimate(**msgspec.structs.asdict(beside[leads]), leads=leads, beside=beside)


NOT_COMPUTED = "not computed: "
"""How `Estimate.method` starts if `Estimate.value` is NaN; the reason follows."""


NO_INTERVAL = "no interval: "
"""How `Estimate.method` starts if there is a value and too little for an interval; the reason follows."""


def not_computed(reason: str, *, level: float = 0.95, n: int = 0) -> Estimate:
    """An estimate without a value, and why; `n` counts the units available."""
    return Estimate(nan, nan, nan, n, NOT_COMPUTED + reason, level)


def ratio(sums: AnyFloats) -> AnyFloats:
    """The first of two sums over the second [..., 2]: a mean if the second counts items."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])
