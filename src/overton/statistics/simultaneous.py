"""Simultaneous intervals: several estimates' limits, widened so that all of them cover at once."""

from __future__ import annotations

from math import isnan

import msgspec

from overton.statistics.estimate import Estimate

__all__ = ["widened"]


def widened(one: Estimate, level: float, freedom: float) -> Estimate:
    """The estimate with its limits for another `level`, widened by the ratio of Student's quantiles.

    Each limit keeps its own distance from the value, so that corrections for skewness are preserved; but if the
    standard error is known, neither is nearer than Student's t has it: for the skewness of such a far tail there is too
    little data. Limits stay within the estimate's range. `freedom` are Student's degrees of freedom. With `level` =
    1 - a / k, all of k such intervals cover in at least 1 - a of cases (Bonferroni). Estimates without an interval are
    returned unchanged.
    """
    if isnan(one.low) or isnan(one.high):
        return one
    from scipy.special import stdtrit

    quantile = float(stdtrit(freedom, (1 + level) / 2))
    ratio, least = quantile / float(stdtrit(freedom, (1 + one.level) / 2)), quantile * (one.error or 0.0)
    low = one.value - max(ratio * (one.value - one.low), least)
    high = one.value + max(ratio * (one.high - one.value), least)
    lowest, highest = one.within
    low = low if lowest is None else max(low, min(lowest, one.low))
    high = high if highest is None else min(high, max(highest, one.high))
    return msgspec.structs.replace(one, low=low, high=high, level=level)
