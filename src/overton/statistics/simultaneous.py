"""Intervals that hold together: several estimates' limits, moved out so that all of them cover at once."""

from __future__ import annotations

from math import isnan

import msgspec

from overton.statistics.estimate import Estimate

__all__ = ["widened"]


def widened(one: Estimate, level: float, freedom: float) -> Estimate:
    """The estimate with its limits for another `level`, as far out as Student's quantiles are apart.

    Each limit keeps its own distance from the value, so that what was corrected for skewness stays so; but where the
    standard error is known, neither is nearer than Student's t has it: for the skewness of a tail so far out there is
    too little data. `freedom` are Student's degrees of freedom. With `level` = 1 - a / k, k such intervals all hold in
    1 - a of cases at least (Bonferroni). Estimates without an interval are given back as they are.
    """
    if isnan(one.low) or isnan(one.high):
        return one
    from scipy.special import stdtrit

    quantile = float(stdtrit(freedom, (1 + level) / 2))
    ratio, least = quantile / float(stdtrit(freedom, (1 + one.level) / 2)), quantile * (one.error or 0.0)
    low = one.value - max(ratio * (one.value - one.low), least)
    high = one.value + max(ratio * (one.high - one.value), least)
    return msgspec.structs.replace(one, low=low, high=high, level=level)
