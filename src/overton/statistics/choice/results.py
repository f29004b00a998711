"""The results of a fit of equation 2: parameters with their intervals, or why there are none."""

from __future__ import annotations

from math import exp, log, nan, sqrt

import msgspec
from scipy.special import ndtri, stdtrit

__all__ = [
    "ALL_MODELS",
    "ChoiceFit",
    "LikelihoodRatio",
    "Parameter",
    "Size",
    "critical",
    "no_estimate",
    "parameter",
    "size",
    "with_limits",
    "without_interval",
]

ALL_MODELS = "all models"
"""The key of a conformity that all models share."""


class Parameter(msgspec.Struct, frozen=True):
    """A coefficient in logits with its interval; the odds ratios are their exponentials.

    The interval is Wald's, or percentiles of refits by `as_published`. All numbers are NaN if the data do not determine
    them, and only the intervals if too few decisions do or none was wanted; `reason` then says why, and is None
    otherwise.
    """

    estimate: float
    se: float
    interval: tuple[float, float]
    odds_ratio: float
    odds_ratio_interval: tuple[float, float]
    reason: str | None = None


class Size(msgspec.Struct, frozen=True):
    """A standard deviation in logits, 0 or more, with an interval that is symmetric for its logarithm.

    NaN with a `reason` as in `Parameter`; a spread not distinguishable from none has an estimate but no interval.
    """

    estimate: float
    se: float
    interval: tuple[float, float]
    reason: str | None = None


class LikelihoodRatio(msgspec.Struct, frozen=True):
    """Twice the difference of the log-likelihoods of two fits.

    Of tastes against none, `p` is that of a spread on the boundary of its range: half that of chi-squared with one
    degree of freedom. Of a spread of tastes for each of M models against one for all, it is that of chi-squared with
    M - 1 degrees of freedom, which is too large where tastes are near zero.
    """

    statistic: float
    p: float

    def __str__(self) -> str:
        p = f"p = {self.p:.3f}" if self.p >= 0.001 else "p < 0.001"
        return f"{self.statistic:.1f} ({p})"


class ChoiceFit(msgspec.Struct, frozen=True):
    """Equation 2, fitted.

    `estimator` is the one that was used, even if it was left to the data. `inertia` by model; `previous` and
    `within`, the conformity to earlier rounds and within the round, by model or under `ALL_MODELS`; `preference` by
    model and verdict, in logits above the mean of the verdicts that the model uses. `dilemma_spread` is the standard
    deviation of the dilemmas' effects on a verdict, over all verdicts, and `verdict_spreads` that on each verdict, both
    about the mean of the verdicts; None if effects are not random. `taste_spreads` are those of each model's own
    effects, if they were fitted by model; `taste_spread` is the one of all models, or the root of their mean square.
    `names` and `covariance` belong together: the estimates of inertia and conformity that exist, as `inertia.MODEL`,
    `previous.MODEL` and `within.MODEL`.

    `loglik` is marginal if effects are random, and excludes penalties; by `taste` it is off by a hundredth or so for
    each dilemma. `likelihood_ratio` tests tastes if `random` attributes them to inertia, and
    `likelihood_ratio_of_spreads` tests a spread of tastes for each model against one for all. `converged` is False if
    the maximum was not reached: `warnings` then says so, and the numbers are not to be trusted.
    """

    estimator: str
    conformity: str
    level: float
    inertia: dict[str, Parameter]
    previous: dict[str, Parameter]
    within: dict[str, Parameter]
    preference: dict[str, dict[str, Parameter]]
    dilemma_spread: Size | None
    verdict_spreads: dict[str, Size]
    taste_spread: Size | None
    taste_spreads: dict[str, Size]
    names: list[str]
    covariance: list[list[float]]
    loglik: float
    likelihood_ratio: LikelihoodRatio | None
    likelihood_ratio_of_spreads: LikelihoodRatio | None
    converged: bool
    n: int
    dilemmas: int
    warnings: list[str]

    def difference(self, first: str, second: str) -> Parameter:
        """The first coefficient less the second, both as in `names`, with an interval that allows for their covariance.

        There is no interval if either of them has none. Raises `ValueError` for a name without an estimate.
        """
        i, j = self.names.index(first), self.names.index(second)
        table = self.covariance
        variance = table[i][i] + table[j][j] - 2 * table[i][j]
        half = critical(self.level, self.dilemmas if self.dilemma_spread else None)
        made = parameter(self._one(first).estimate - self._one(second).estimate, sqrt(max(variance, 0.0)), half)
        reason = self._one(first).reason or self._one(second).reason
        return without_interval(made, reason) if reason else made

    def _one(self, name: str) -> Parameter:
        kind, model = name.split(".", 1)
        values: dict[str, Parameter] = getattr(self, kind)
        return values[model]


def critical(level: float, dilemmas: int | None) -> float:
    """How many standard errors an interval reaches: by Student's t over so many dilemmas, or by the normal."""
    return float(ndtri((1 + level) / 2) if dilemmas is None else stdtrit(dilemmas - 1, (1 + level) / 2))


def parameter(estimate: float, se: float, errors: float) -> Parameter:
    """With an interval of so many standard errors on either side."""
    return with_limits(estimate, se, (estimate - errors * se, estimate + errors * se))


def with_limits(estimate: float, se: float, interval: tuple[float, float], reason: str | None = None) -> Parameter:
    """With this interval."""
    low, high = interval
    return Parameter(estimate, se, interval, _exp(estimate), (_exp(low), _exp(high)), reason)


def without_interval(one: Parameter, reason: str) -> Parameter:
    """The same without its interval, and why."""
    return with_limits(one.estimate, one.se, (nan, nan), reason)


def no_estimate(reason: str) -> Parameter:
    """No number, and why."""
    return Parameter(nan, nan, (nan, nan), nan, (nan, nan), reason)


def size(estimate: float, se: float, errors: float) -> Size:
    """With an interval of so many standard errors, by the delta method for its logarithm."""
    if not 0 < se <= estimate:
        return Size(estimate, se, (nan, nan), "not distinguishable from no spread at all: no interval")
    half = errors * se / estimate
    return Size(estimate, se, (exp(log(estimate) - half), exp(log(estimate) + half)))


def _exp(value: float) -> float:
    return float("inf") if value >= 700 else exp(value)
