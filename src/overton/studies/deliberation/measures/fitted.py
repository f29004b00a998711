"""What the choice model found: parameters on the scale of log-odds."""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

import msgspec

from overton.statistics import NOT_COMPUTED, Estimate
from overton.studies.plain import Shape

__all__ = ["Choice", "Conformity", "Parameter", "Spread"]

_MEASURE = Shape(measure="number", without=("estimate", "low", "high", "reason", "n"))


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of equation 2: log-odds with standard error and interval, and its odds ratio.

    All numbers are NaN where the data cannot tell, and `reason` says why. `n` counts the decisions of the fit.
    """

    estimate: float
    se: float
    low: float
    high: float
    odds_ratio: float
    reason: str | None = None
    n: int = 0

    SHAPE = _MEASURE

    @property
    def number(self) -> Estimate:
        """It and its interval, of Wald's kind."""
        return _number(self, "Wald")


class Spread(msgspec.Struct, frozen=True):
    """A standard deviation of random effects, in log-odds; NaN with the reason where the data cannot tell.

    `n` counts the decisions of the fit.
    """

    estimate: float
    se: float
    low: float
    high: float
    reason: str | None = None
    n: int = 0

    SHAPE = _MEASURE

    @property
    def number(self) -> Estimate:
        """It and its interval, of Wald's kind for its logarithm."""
        return _number(self, "Wald, of the logarithm")


def _number(one: Parameter | Spread, method: str) -> Estimate:
    if one.reason:
        method = NOT_COMPUTED + one.reason if isnan(one.estimate) else one.reason
    return Estimate(one.estimate, one.low, one.high, one.n, method)


class Conformity(NamedTuple):
    """How readily a model follows what others said: in earlier rounds, and within the round."""

    previous: Parameter | dict[str, Parameter]
    within: Parameter | dict[str, Parameter]


class Choice(msgspec.Struct, frozen=True):
    """The choice model (equation 2) fitted to the decisions with one goal, or with all where they are fitted together.

    `goal` is None where the table has no goals, or several are fitted together. `decisions` counts valid verdicts.
    `inertia` is by model; `previous` and `within`, the conformity to earlier rounds and within the round, of all models
    together or by model; `preferences` by model and verdict, about the mean of the verdicts that the model uses.
    `dilemma_spread` is that of the dilemmas' effects, `taste_spread` that of a model's own taste for a dilemma, None
    where the estimator has none. `notes` are warnings. Where there is no fit at all, `not_computed` says why, and the
    parameters are empty.
    """

    goal: str | None
    estimator: str
    decisions: int
    dilemmas: int
    inertia: dict[str, Parameter]
    previous: Parameter | dict[str, Parameter]
    within: Parameter | dict[str, Parameter]
    preferences: dict[str, dict[str, Parameter]]
    dilemma_spread: Spread | None = None
    taste_spread: Spread | None = None
    loglik: float = nan
    notes: tuple[str, ...] = ()
    not_computed: str | None = None

    SHAPE = Shape(also={"conformity": "conformity"}, without=("previous", "within"))

    @property
    def conformity(self) -> Conformity:
        """Both kinds of it."""
        return Conformity(self.previous, self.within)
