"""A fit in the terms of the person who requested it."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.decisions import Decisions
from overton.statistics.choice.design import Column, Design
from overton.statistics.choice.estimators import Fitted
from overton.statistics.choice.identification import SHORT, Estimable, too_few, why_not
from overton.statistics.choice.results import (
    ALL_MODELS,
    Parameter,
    Size,
    critical,
    no_estimate,
    parameter,
    size,
    with_limits,
    without_interval,
)
from overton.statistics.estimate import NO_INTERVAL

__all__ = ["NO_REFITS", "View"]

Array = NDArray[np.float64]

NO_REFITS = "its interval takes many refits, made where this estimator is the one that is chosen"

_LEVEL = "the likelihood is about level in it, as it is with few dilemmas or rare verdicts: no interval"

_WORDS = {
    "inertia": "inertia",
    "previous": "conformity to earlier rounds",
    "within": "conformity to the same round",
}
"""Kinds of coefficients in sentences."""

_WIDEST = 6.0
"""Logits. The ends of a wider interval are odds ratios that differ by a factor of more than 400."""

_OF_LEVEL = 0.05
"""The largest part that level directions may have in a number with an estimate."""


@dataclass(frozen=True)
class View:
    """A fit in the terms of the person who requested it: numbers by name, with intervals at `level`, or their reasons.

    `no_taste` says why there are no tastes, if they were requested. With `cautious`, inertia and conformity have no
    interval where too few discussions tell them, or it would be too wide to tell anything.
    """

    decisions: Decisions
    estimable: Estimable
    design: Design
    fitted: Fitted
    level: float
    no_taste: str | None
    cautious: bool

    @property
    def errors(self) -> float:
        """How many standard errors an interval reaches."""
        return critical(self.level, self.decisions.dilemmas if self.fitted.spread else None)

    def by_model(self, kind: str) -> dict[str, Parameter]:
        """Each model's coefficient of a kind."""
        return {name: self._one(Column(kind, number)) for number, name in enumerate(self.decisions.models)}

    def shared(self, kind: str) -> dict[str, Parameter]:
        """The coefficient of a kind that all models share."""
        return {ALL_MODELS: self._one(Column(kind, None))}

    def preferences(self) -> dict[str, dict[str, Parameter]]:
        """By model and verdict, about the mean of the verdicts that the model uses."""
        return {
            model: {verdict: self._preference(m, v) for v, verdict in enumerate(self.decisions.verdicts)}
            for m, model in enumerate(self.decisions.models)
        }

    def names(self) -> list[str]:
        """Of the coefficients of inertia and conformity with an estimate."""
        return [self._name(column) for column in self._estimated()]

    def without_interval(self) -> dict[str, str]:
        """Why coefficients of inertia and conformity with an estimate have no interval, by their names in words."""
        reasons = {self._words(column): self._one(column).reason for column in self._estimated()}
        return {name: reason for name, reason in reasons.items() if reason and reason.startswith(NO_INTERVAL)}

    def covariance(self) -> Array:
        """Of these."""
        places = [self._place(column) for column in self._estimated()]
        return self.fitted.covariance[np.ix_(places, places)]

    def dilemma_spread(self) -> Size | None:
        """Root of the mean variance over the directions that sum to zero: the spread of independent effects."""
        if self.fitted.spread is None:
            return None
        root = self.fitted.spread.loading(self.fitted.dilemma)
        return self._size(np.eye(len(root)) / len(root), root)

    def verdict_spreads(self) -> dict[str, Size]:
        """Root of each verdict's variance, scaled up for being about the verdicts' mean: the same if independent."""
        if self.fitted.spread is None:
            return {}
        root = self.fitted.spread.loading(self.fitted.dilemma)
        basis = self.design.basis
        scale = len(basis.T) / (len(basis.T) + 1)
        used: NDArray[np.bool_] = np.any(self.estimable.used, axis=0)
        return {
            verdict: self._size(np.outer(basis[v], basis[v]) / scale, root)
            for v, verdict in enumerate(self.decisions.verdicts)
            if used[v]
        }

    def taste_spread(self) -> Size:
        """The standard deviation of tastes, root mean square over models that have their own; or why there is none."""
        if not len(self.fitted.taste):
            return self._no_taste()
        own = self.fitted.taste * self._deciding if len(self.fitted.taste) > 1 else self.fitted.taste
        among = np.count_nonzero(self._deciding) if len(own) > 1 else 1
        estimate = sqrt(float(own @ own) / among)
        return self._of_tastes(estimate, own / (among * estimate) if estimate else np.zeros(len(own)))

    def taste_spreads(self) -> dict[str, Size]:
        """That of each model's tastes."""
        return {name: self._of_model(number) for number, name in enumerate(self.decisions.models)}

    def _of_model(self, model: int) -> Size:
        if not len(self.fitted.taste):
            return self._no_taste()
        if not self._deciding[model]:
            return Size(nan, nan, (nan, nan), f"{self.decisions.models[model]} made no decision")
        one = float(self.fitted.taste[model])
        return self._of_tastes(abs(one), np.eye(len(self.fitted.taste))[model] * np.sign(one))

    def _no_taste(self) -> Size:
        return Size(nan, nan, (nan, nan), self.no_taste or "the effects of dilemmas are not determined either")

    @property
    def _deciding(self) -> NDArray[np.bool_]:
        """Which models [M] made decisions."""
        return np.asarray(self.estimable.used.any(1))

    def _of_tastes(self, estimate: float, slopes: Array) -> Size:
        """A spread with these slopes in the tastes' factors, which are the last parameters."""
        return self._sized(estimate, np.concatenate([np.zeros(len(self.fitted.covariance) - len(slopes)), slopes]))

    def _size(self, form: Array, root: Array) -> Size:
        """Root of trace(form L L'), with its error from those of the factors (delta method)."""
        assert self.fitted.spread is not None
        variance = float(np.trace(form @ root @ root.T))
        start = len(self.fitted.coefficients)
        slopes = np.zeros(len(self.fitted.covariance))
        slopes[start : start + len(self.fitted.dilemma)] = np.tensordot(
            self.fitted.spread.generators, form @ root, axes=2
        ) / sqrt(variance)
        return self._sized(sqrt(variance), slopes)

    def _sized(self, estimate: float, slopes: Array) -> Size:
        """A spread with these slopes in the parameters."""
        if self._level(slopes):
            return Size(estimate, nan, (nan, nan), _LEVEL)
        return size(estimate, _root(float(slopes @ self.fitted.covariance @ slopes)), self.errors)

    def _level(self, slopes: Array) -> bool:
        """Whether what has these slopes in the parameters lies in directions in which the likelihood is level."""
        shared = slopes @ self.fitted.level[: len(slopes)]
        return bool(shared @ shared > _OF_LEVEL * (slopes @ slopes))

    def _estimated(self) -> list[Column]:
        return [c for c in self.design.columns if c.kind != "preference" and self._reason(c) is None]

    def _name(self, column: Column) -> str:
        who = ALL_MODELS if column.model is None else self.decisions.models[column.model]
        return f"{column.kind}.{who}"

    def _words(self, column: Column) -> str:
        whose = "" if column.model is None else f" of {self.decisions.models[column.model]}"
        return f"{_WORDS[column.kind]}{whose}"

    def _place(self, column: Column) -> int:
        """The place of a single coefficient among those that were fitted."""
        (at,) = self.design.of(*column)
        return self.fitted.kept.index(at)

    def _reason(self, column: Column) -> str | None:
        if self.no_taste == SHORT and column.kind == "inertia":
            return SHORT
        (at,) = self.estimable.design.of(*column)
        if not self.estimable.known[at]:
            return why_not(self.decisions, column)
        return _LEVEL if self._level(np.eye(len(self.fitted.coefficients))[self._place(column)]) else None

    def _one(self, column: Column) -> Parameter:
        if reason := self._reason(column):
            return no_estimate(reason)
        found = self._number(np.eye(len(self.fitted.coefficients))[self._place(column)])
        reason = (too_few(self.decisions, column) or _too_wide(found)) if self.cautious else None
        return without_interval(found, reason) if reason else found

    def _number(self, weights: Array) -> Parameter:
        """The sum of coefficients with these weights."""
        estimate = float(weights @ self.fitted.coefficients)
        error = _root(float(weights @ self.fitted.covariance[: len(weights), : len(weights)] @ weights))
        if self.fitted.refits is None:
            return parameter(estimate, error, self.errors)
        if not len(self.fitted.refits):
            return with_limits(estimate, nan, (nan, nan), NO_REFITS)
        ends = ((1 - self.level) / 2, (1 + self.level) / 2)
        low, high = np.quantile(self.fitted.refits @ weights, ends).tolist()
        return with_limits(estimate, error, (low, high))

    def _preference(self, model: int, verdict: int) -> Parameter:
        if not self.estimable.used[model, verdict]:
            return no_estimate(f"{self.decisions.models[model]} never gave this verdict")
        if self.estimable.used[model].sum() == 1:
            return no_estimate(f"{self.decisions.models[model]} gave no other verdict")
        if not all(self.estimable.known[at] for at in self.estimable.design.of("preference", model)):
            return no_estimate("the data do not separate it from other effects, or predict it perfectly")
        weights = np.zeros(len(self.fitted.coefficients))
        places = [self.fitted.kept.index(at) for at in self.design.of("preference", model)]
        weights[places] = self.design.bases[model][verdict]
        if self._level(weights):
            return no_estimate(_LEVEL)
        return self._number(weights)


def _too_wide(one: Parameter) -> str | None:
    low, high = one.interval
    return f"{NO_INTERVAL}it would be wider than {_WIDEST:g} logits" if high - low > _WIDEST else None


def _root(variance: float) -> float:
    """A standard error; NaN if the curvature was not that of a maximum."""
    return sqrt(variance) if variance >= 0 else nan
