"""Intervals that hold together: several estimates' limits, moved out so that all of them cover at once."""

from __future__ import annotations

from math import isnan

import msgspec

from overton.statistics.estimate import Estimate

__all__ = ["widened"]


def widened(one: Estimate, level: float, freedom: float) -> Estimate:
    """The estimate with its limits for another `level`, as far out as Student's quantiles are apart.

    Each limit keeps its own distance from the value, so that what was corrected for skewness stays so; `freedom` are
    Student's degrees of freedom. With `level` = 1 - a / k, k such intervals all hold in 1 - a of cases at least
    (Bonferroni). Estimates without an interval are given back as they are.
    """
    if isnan(one.low) or isnan(one.high):
        return one
    from scipy.special import stdtrit

    ratio = float(stdtrit(freedom, (1 + level) / 2) / stdtrit(freedom, (1 + one.level) / 2))
    low, high = one.value - ratio * (one.value - one.low), one.value + ratio * (one.high - one.value)
    return msgspec.structs.replace(one, low=low, high=high, level=level)
