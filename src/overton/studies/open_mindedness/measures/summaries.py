"""From issues to a model: means and shares over issues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan

from scipy.special import ndtri

from overton.statistics import Estimate, not_computed
from overton.statistics.proportions import proportion
from overton.statistics.resampling import Bootstrap

__all__ = ["difference", "mean_over_issues", "share_of_issues", "wald"]


def mean_over_issues(issues: Iterable[Estimate], bootstrap: Bootstrap, reason: str) -> Estimate:
    """The mean of the issues' values with issues resampled; with a single issue, the interval from its answers.

    `n` counts the issues that have a value; `reason` says why there is none.
    """
    known = [issue for issue in issues if not isnan(issue.value)]
    if not known:
        return not_computed(reason, level=bootstrap.level)
    if len(known) == 1:
        one = known[0]
        return Estimate(one.value, one.low, one.high, 1, f"{one.method}, of the one issue", one.level)
    return bootstrap.mean([issue.value for issue in known])


def share_of_issues(flags: Sequence[bool | None], level: float, reason: str) -> Estimate:
    """The share of issues that have a property, with Wilson's interval; None says that an issue cannot tell."""
    known = [flag for flag in flags if flag is not None]
    if not known:
        return not_computed(reason, level=level)
    value, low, high = proportion(sum(known), len(known), level)
    return Estimate(value, low, high, len(known), "Wilson, over issues", level)


def difference(value: float, limits: Sequence[float], n: int, level: float) -> Estimate:
    """A difference of two shares with Newcombe's limits."""
    return Estimate(value, limits[0], limits[1], n, "Newcombe", level)


def wald(value: float, error: float, n: int, level: float, method: str = "Wald") -> Estimate:
    """A difference of shares, on [-1, 1], with the limits that its standard error gives."""
    half = float(ndtri((1 + level) / 2)) * error
    return Estimate(value, max(value - half, -1.0), min(value + half, 1.0), n, method, level)
