"""Equation 2 of the discussion study, fitted to decisions: a multinomial logit with inertia and conformity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log, nan, sqrt
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from overton.errors import InputError
from overton.statistics.choice.decisions import NONE, Decisions
from overton.statistics.choice.design import Column, Conformity, Design, Situations, count_situations
from overton.statistics.choice.estimators import Fitted, fit_alike, fit_paper, fit_random, fit_taste
from overton.statistics.choice.identification import Told, what_is_told, why_not
from overton.statistics.choice.likelihood import one_thread_each

__all__ = ["ALL_MODELS", "ChoiceFit", "Estimator", "Parameter", "Size", "fit"]

ALL_MODELS = "all models"
"""The key under which a conformity that all models share stands."""


class Parameter(msgspec.Struct, frozen=True):
    """A coefficient in logits with its Wald interval; the odds ratios are their exponentials.

    All numbers are NaN where the data cannot tell, and `reason` says why not; it is None otherwise.
    """

    estimate: float
    se: float
    interval: tuple[float, float]
    odds_ratio: float
    odds_ratio_interval: tuple[float, float]
    reason: str | None = None


class Size(msgspec.Struct, frozen=True):
    """A standard deviation in logits, 0 or more, with an interval that is symmetric for its logarithm.

    NaN with a `reason` as in `Parameter`; a spread that is not told from none has an estimate but no interval.
    """

    estimate: float
    se: float
    interval: tuple[float, float]
    reason: str | None = None


class ChoiceFit(msgspec.Struct, frozen=True):
    """Equation 2, fitted.

    `inertia` by model; `previous` and `within`, the conformity to earlier rounds and within the round, by model or
    under `ALL_MODELS`; `preference` by model and verdict, in logits above the mean of the verdicts that the model
    uses. `dilemma_spread` is the standard deviation of the dilemmas' effects on a verdict, over all verdicts, and
    `verdict_spreads` that on each verdict, both about the mean of the verdicts; None where effects are not random.
    `taste_spread` is that of each model's own effects. `names` and `covariance` belong together: the estimates of
    inertia and conformity that there are, as `inertia.MODEL`, `previous.MODEL` and `within.MODEL`.

    `loglik` is marginal where effects are random, and excludes the penalty of `paper`; by `taste`, which can afford
    fewer points for the dilemmas' effects, it is off by some hundredths a dilemma. `converged` is False where the
    maximum was not reached: `warnings` then says so, and the numbers are not to be trusted.
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
    names: list[str]
    covariance: list[list[float]]
    loglik: float
    converged: bool
    n: int
    dilemmas: int
    warnings: list[str]

    def difference(self, first: str, second: str) -> Parameter:
        """The first coefficient less the second, both as in `names`, with what they have in common in the interval.

        Raises `ValueError` for a name without an estimate.
        """
        i, j = self.names.index(first), self.names.index(second)
        table = self.covariance
        variance = table[i][i] + table[j][j] - 2 * table[i][j]
        return _parameter(self._estimate(first) - self._estimate(second), sqrt(max(variance, 0.0)), self.level)

    def _estimate(self, name: str) -> float:
        kind, model = name.split(".", 1)
        values: dict[str, Parameter] = getattr(self, kind)
        return values[model].estimate


def _parameter(estimate: float, se: float, level: float) -> Parameter:
    """With its interval at `level`."""
    half = float(ndtri((1 + level) / 2)) * se
    low, high = estimate - half, estimate + half
    return Parameter(estimate, se, (low, high), _exp(estimate), (_exp(low), _exp(high)))


def _untold(reason: str) -> Parameter:
    """No number, and why."""
    return Parameter(nan, nan, (nan, nan), nan, (nan, nan), reason)


def _size(estimate: float, se: float, level: float) -> Size:
    """With its interval at `level`, by the delta method for its logarithm."""
    if not 0 < se <= estimate:
        return Size(estimate, se, (nan, nan), "not told from no spread at all: no interval")
    half = float(ndtri((1 + level) / 2)) * se / estimate
    return Size(estimate, se, (exp(log(estimate) - half), exp(log(estimate) + half)))


def _exp(value: float) -> float:
    return exp(value) if value < 700 else float("inf")


Array = NDArray[np.float64]
Estimator = Literal["random", "paper", "taste"]

_ONCE = "each model decided afresh at most once on every dilemma, so that its lasting taste looks like inertia"
_ALONE = "there is one model, and its tastes are the effects of the dilemmas"
_LEVEL = "the likelihood is about level in it, as it is with few dilemmas or rare verdicts: no interval"

_OF_LEVEL = 0.05
"""The part that level directions may have in a number that is told."""


def fit(
    decisions: Decisions,
    *,
    estimator: Estimator = "random",
    conformity: Conformity = "shared",
    level: float = 0.95,
    penalty: float = 0.1,
) -> ChoiceFit:
    """Estimate preference, inertia and conformity, each with standard error, interval and odds ratio.

    The log-odds of verdict v are theta[model, v] + phi[dilemma, v] + alpha[model] where v is the agent's own verdict of
    the round before + gamma_prev n_prev[v] + gamma_within n_within[v].

    - "random": phi is normal with an estimated covariance and integrated out. Standard errors are from the observed
      information of the marginal likelihood.
    - "paper": phi is free, and `penalty`/2 times the sum of squares of all parameters is taken from the likelihood, as
      published. Pulled towards zero, and its intervals ignore that and how many parameters there are.
    - "taste": besides phi, a normal effect of each model in each dilemma, which is not to be taken for inertia. Told
      where models decide more than once on a dilemma; where they do not, inertia has no estimate and the rest is that
      of "random".

    `conformity` is "shared" by all models, as published, or estimated "by model". What the decisions cannot tell is NaN
    with a reason, and the rest is estimated still. Raises `InputError` where there are no decisions.
    """
    if not len(decisions):
        raise InputError("there are no decisions to explain: no discussion holds a valid verdict")
    untold_taste = _no_tastes(decisions) if estimator == "taste" else None
    with one_thread_each():
        told = what_is_told(decisions, conformity)
        if estimator == "paper":
            made, fitted = fit_paper(count_situations(decisions), len(decisions.models), conformity, penalty)
        else:
            made, fitted = told.design, _with_effects(told, tastes=estimator == "taste" and not untold_taste)
    view = _View(decisions, told, made, fitted, level, untold_taste)
    return ChoiceFit(
        estimator=estimator,
        conformity=conformity,
        level=level,
        inertia=view.by_model("inertia"),
        previous=view.by_model("previous") if conformity == "by model" else view.shared("previous"),
        within=view.by_model("within") if conformity == "by model" else view.shared("within"),
        preference=view.preferences(),
        dilemma_spread=view.dilemma_spread(),
        verdict_spreads=view.verdict_spreads(),
        taste_spread=view.taste_spread() if estimator == "taste" else None,
        names=view.names(),
        covariance=view.covariance().tolist(),
        loglik=fitted.loglik,
        converged=fitted.converged,
        n=len(decisions),
        dilemmas=decisions.dilemmas,
        warnings=list(_warnings(told, fitted, estimator, untold_taste)),
    )


def _with_effects(told: Told, *, tastes: bool) -> Fitted:
    """With random effects of dilemmas, and models' tastes for them, as far as anything tells how dilemmas differ."""
    if _alike(told.situations):
        return fit_alike(told)
    return fit_taste(told, len(told.used)) if tastes else fit_random(told)


def _warnings(told: Told, fitted: Fitted, estimator: Estimator, untold_taste: str | None) -> Iterator[str]:
    if estimator != "paper" and (why := _alike(told.situations)):
        yield f"effects of dilemmas are left out: {why}"
    if untold_taste:
        yield f"tastes for dilemmas are left out: {untold_taste}"
    if not fitted.converged:
        yield "the likelihood's maximum was not reached: do not trust these numbers"


def _no_tastes(decisions: Decisions) -> str | None:
    """Why nothing tells models' lasting tastes for dilemmas, if so.

    It takes a model that decides twice on a dilemma without a verdict of its own to hold on to.
    """
    if len(np.unique(decisions.model)) < 2:
        return _ALONE
    fresh = decisions.own_previous == NONE
    pairs = decisions.dilemma[fresh] * len(decisions.models) + decisions.model[fresh]
    return None if np.unique(pairs, return_counts=True)[1].max(initial=0) > 1 else _ONCE


def _alike(situations: Situations) -> str | None:
    """Why nothing tells how dilemmas differ, if so."""
    each = np.bincount(situations.dilemma, situations.counts.sum(1), minlength=1)
    if (each > 0).sum() < 2:
        return "there are decisions on one dilemma only"
    return "there is one decision on each" if each.max() < 2 else None


@dataclass(frozen=True)
class _View:
    """A fit in the terms of the person who asked for it."""

    decisions: Decisions
    told: Told
    design: Design
    fitted: Fitted
    level: float
    untold_taste: str | None

    def by_model(self, kind: str) -> dict[str, Parameter]:
        return {name: self._one(Column(kind, number)) for number, name in enumerate(self.decisions.models)}

    def shared(self, kind: str) -> dict[str, Parameter]:
        return {ALL_MODELS: self._one(Column(kind, None))}

    def preferences(self) -> dict[str, dict[str, Parameter]]:
        return {
            model: {verdict: self._preference(m, v) for v, verdict in enumerate(self.decisions.verdicts)}
            for m, model in enumerate(self.decisions.models)
        }

    def names(self) -> list[str]:
        return [self._name(column) for column in self._estimated()]

    def covariance(self) -> Array:
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
        used: NDArray[np.bool_] = np.any(self.told.used, axis=0)
        return {
            verdict: self._size(np.outer(basis[v], basis[v]) / scale, root)
            for v, verdict in enumerate(self.decisions.verdicts)
            if used[v]
        }

    def taste_spread(self) -> Size:
        if not len(self.fitted.taste):
            reason = self.untold_taste or "the effects of dilemmas are not told either"
            return Size(np.nan, np.nan, (np.nan, np.nan), reason)
        slopes = np.zeros(len(self.fitted.covariance))
        slopes[-1] = 1.0
        return self._sized(abs(float(self.fitted.taste[0])), slopes)

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
            return Size(estimate, np.nan, (np.nan, np.nan), _LEVEL)
        return _size(estimate, _root(float(slopes @ self.fitted.covariance @ slopes)), self.level)

    def _level(self, slopes: Array) -> bool:
        """Whether what has these slopes in the parameters lies in directions in which the likelihood is level."""
        shared = slopes @ self.fitted.level[: len(slopes)]
        return bool(shared @ shared > _OF_LEVEL * (slopes @ slopes))

    def _estimated(self) -> list[Column]:
        return [c for c in self.design.columns if c.kind != "preference" and self._reason(c) is None]

    def _name(self, column: Column) -> str:
        who = ALL_MODELS if column.model is None else self.decisions.models[column.model]
        return f"{column.kind}.{who}"

    def _place(self, column: Column) -> int:
        """Where a single coefficient stands among those that were fitted."""
        (at,) = self.design.of(*column)
        return self.fitted.kept.index(at)

    def _reason(self, column: Column) -> str | None:
        if self.untold_taste == _ONCE and column.kind == "inertia":
            return _ONCE
        (at,) = self.told.design.of(*column)
        if not self.told.known[at]:
            return why_not(self.decisions, column)
        return _LEVEL if self._level(np.eye(len(self.fitted.coefficients))[self._place(column)]) else None

    def _one(self, column: Column) -> Parameter:
        if reason := self._reason(column):
            return _untold(reason)
        at = self._place(column)
        return _parameter(float(self.fitted.coefficients[at]), _root(self.fitted.covariance[at, at]), self.level)

    def _preference(self, model: int, verdict: int) -> Parameter:
        if not self.told.used[model, verdict]:
            return _untold(f"{self.decisions.models[model]} never gave this verdict")
        if self.told.used[model].sum() == 1:
            return _untold(f"{self.decisions.models[model]} gave no other verdict")
        if not all(self.told.known[at] for at in self.told.design.of("preference", model)):
            return _untold("the data do not tell it apart from other effects, or predict it perfectly")
        weights = np.zeros(len(self.fitted.coefficients))
        places = [self.fitted.kept.index(at) for at in self.design.of("preference", model)]
        weights[places] = self.design.bases[model][verdict]
        if self._level(weights):
            return _untold(_LEVEL)
        error = _root(float(weights @ self.fitted.covariance[: len(weights), : len(weights)] @ weights))
        return _parameter(float(weights @ self.fitted.coefficients), error, self.level)


def _root(variance: float) -> float:
    """A standard error; NaN where the curvature was not that of a maximum."""
    return sqrt(variance) if variance >= 0 else np.nan
