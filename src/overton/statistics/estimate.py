"""Numbers with their uncertainty, and missing numbers with the reason. Overton shows numbers only in this form."""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from overton.statistics.arrays import AnyFloats

Range = tuple[float, float]
"""The lowest and the highest possible value of a number. Limits of intervals do not go beyond them."""

ANYTHING: Range = (-inf, inf)
POSITIVE: Range = (0.0, inf)
SHARE: Range = (0.0, 1.0)
DIFFERENCE: Range = (-1.0, 1.0)
"""The range of a difference between two proportions."""

FEWEST = 5
"""The minimum number of clusters for an interval. With fewer, no tested method covers the truth often enough."""

_ROUNDING = 1e-9
"""Sums of proportions that are exactly 0 may come out as 1e-17, and scores reach 100."""

Ends = tuple[float | None, float | None]
"""The two ends of a range. None stands for an infinite end, because JSON has no infinity."""


def ends_of(within: tuple[float, float]) -> Ends:
    """The ends of a range, with None for an infinite end."""
    low, high = (end if isfinite(end) else None for end in within)
    return low, high


class Estimate(msgspec.Struct, frozen=True):
    """A value, its interval, and the count behind it.

    `value` is NaN if it cannot be computed, and `low`/`high` are NaN if there is no interval. `n` counts the units
    behind the value (answers, issues, pairs: see the measure's docstring). `level` is the interval's nominal coverage.
    `method` is the method ('Wilson', 'Wald', "Student's t over issues, corrected for skewness", ...), or the reason why
    the value or the interval is missing. `error` is the standard error of a mean or ratio over clusters, None if
    unknown. `within` is the range of possible values, with None for an infinite end. Limits do not go beyond the range.
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
        """The limits that the data do not determine. Such a limit is at or beyond an end of the range, and the value is
        not at that end."""
        low, high = self.within
        ends: tuple[tuple[Literal["low", "high"], bool], ...] = (
            ("low", low is not None and self.low <= low != self.value),
            ("high", high is not None and self.high >= high != self.value),
        )
        return tuple(name for name, at_the_end in ends if at_the_end)

    def lies_above(self, value: float = 0.0) -> bool:
        """Whether the whole interval lies above `value`, by more than rounding errors. False without an interval."""
        return self.low > value + _ROUNDING

    def lies_below(self, value: float = 0.0) -> bool:
        """Whether the whole interval lies below `value`, by more than rounding errors. False without an interval."""
        return self.high < value - _ROUNDING


class PreferredEstimate(Estimate, frozen=True):
    """The preferred variant of a number, together with all variants. `beside` has all variants by name, and `leads` is
    the name of the preferred variant."""

    leads: str = "plain"
    beside: dict[str, Estimate] = {}


def preferred_estimate(leads: str, beside: dict[str, Estimate]) -> PreferredEstimate:
    """The estimate called `leads`, together with all variants in `beside`."""
    return PreferredEstimate(**msgspec.structs.asdict(beside[leads]), leads=leads, beside=beside)


NOT_COMPUTED = "not computed: "
"""The start of `Estimate.method` if `Estimate.value` is NaN. The reason follows it."""


NO_INTERVAL = "no interval: "
"""The start of `Estimate.method` if there is a value but no interval. The reason follows it."""


def not_computed(reason: str, *, level: float = 0.95, n: int = 0) -> Estimate:
    """An estimate without a value, because of `reason`. `n` is the number of available units."""
    return Estimate(nan, nan, nan, n, NOT_COMPUTED + reason, level)


def ratio(sums: AnyFloats) -> AnyFloats:
    """The first of two sums [..., 2] divided by the second. The result is a mean if the second sum counts items."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])
