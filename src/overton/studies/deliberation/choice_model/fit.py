"""Equation 2 of the discussion study, fitted to decisions: a multinomial logit with inertia and conformity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, log, nan, sqrt

import msgspec
import numpy as np
from scipy.special import chdtrc, ndtri, stdtrit

from overton.errors import InputError
from overton.statistics.arrays import Floats
from overton.statistics.estimate import NO_INTERVAL
from overton.studies.deliberation.choice_model.design import (
    ChoiceDesign,
    Decisions,
    DesignColumn,
    count_situations,
)
from overton.studies.deliberation.choice_model.estimators import (
    REFITS,
    FittedCoefficients,
    fit_alike,
    fit_penalised,
    fit_published,
    fit_random,
    fit_taste,
    fit_taste_by_model,
    gain_by_model,
    gain_by_tastes,
    reaches,
)
from overton.studies.deliberation.choice_model.identification import (
    SHORT,
    Estimable,
    alike,
    estimable_part,
    no_tastes,
    taste_decisions,
    too_few,
    why_not,
)
from overton.studies.deliberation.choice_model.likelihood import one_thread_each
from overton.studies.deliberation.options import Conformity, Estimator

ALL_MODELS = "all models"
"""The key of a conformity that all models share."""


class Coefficient(msgspec.Struct, frozen=True):
    """A coefficient in logits with its interval, or a standard deviation, 0 or more.

    The interval is Wald's, for a standard deviation that of its logarithm, or percentiles of refits by `as_published`.
    All numbers are NaN if the data do not determine them. Only the interval is NaN if too few decisions do, if it was
    not requested, or if a spread is not clearly above zero. `reason` then says why, and is None otherwise.
    """

    estimate: float = nan
    se: float = nan
    interval: tuple[float, float] = (nan, nan)
    reason: str | None = None

    @property
    def odds_ratio(self) -> float:
        """Its exponential."""
        return float("inf") if self.estimate >= 700 else exp(self.estimate)


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
    deviation of the dilemmas' effects on a verdict about the mean of the verdicts, over all of these; None if effects
    are not random. `taste_spreads` are those of each model's own effects, if they were fitted by model; `taste_spread`
    is the one of all models, or the root of their mean square.

    `loglik` is marginal if effects are random, and excludes penalties; by `taste` it is off by a hundredth or so for
    each dilemma. `likelihood_ratio` tests tastes if `random` attributes them to inertia, and
    `likelihood_ratio_of_spreads` tests a spread of tastes for each model against one for all. `converged` is False if
    the maximum was not reached: `warnings` then says so, and the numbers are not to be trusted.
    """

    estimator: str
    inertia: dict[str, Coefficient]
    previous: dict[str, Coefficient]
    within: dict[str, Coefficient]
    preference: dict[str, dict[str, Coefficient]]
    dilemma_spread: Coefficient | None
    taste_spread: Coefficient | None
    taste_spreads: dict[str, Coefficient]
    loglik: float
    likelihood_ratio: LikelihoodRatio | None
    likelihood_ratio_of_spreads: LikelihoodRatio | None
    converged: bool
    n: int
    dilemmas: int
    warnings: list[str]


def _spread(estimate: float, se: float, errors: float) -> Coefficient:
    """A standard deviation with an interval of so many standard errors, by the delta method for its logarithm."""
    if not 0 < se <= estimate:
        return Coefficient(estimate, se, reason="not distinguishable from no spread at all: no interval")
    half = errors * se / estimate
    return Coefficient(estimate, se, (exp(log(estimate) - half), exp(log(estimate) + half)))


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
    design: ChoiceDesign
    fitted: FittedCoefficients
    level: float
    no_taste: str | None
    cautious: bool

    @property
    def errors(self) -> float:
        """How many standard errors an interval reaches: by Student's t over dilemmas, or by the normal."""
        upper = (1 + self.level) / 2
        return float(stdtrit(self.decisions.dilemmas - 1, upper) if self.fitted.spread else ndtri(upper))

    def of_kind(self, kind: str) -> dict[str, Coefficient]:
        """The coefficients of a kind by model, or the one that all models share."""
        columns = [column for column in self.design.columns if column.kind == kind]
        models = [ALL_MODELS if column.model is None else self.decisions.models[column.model] for column in columns]
        return {model: self._one(column) for model, column in zip(models, columns, strict=True)}

    def preferences(self) -> dict[str, dict[str, Coefficient]]:
        """By model and verdict, about the mean of the verdicts that the model uses."""
        return {
            model: {verdict: self._preference(m, v) for v, verdict in enumerate(self.decisions.verdicts)}
            for m, model in enumerate(self.decisions.models)
        }

    def without_interval(self) -> dict[str, str]:
        """Why coefficients of inertia and conformity with an estimate have no interval, by their names in words."""
        found: dict[str, str] = {}
        for kind, words in _WORDS.items():
            for model, coefficient in self.of_kind(kind).items():
                if coefficient.reason and coefficient.reason.startswith(NO_INTERVAL):
                    found[words if model == ALL_MODELS else f"{words} of {model}"] = coefficient.reason
        return found

    def dilemma_spread(self) -> Coefficient | None:
        """Root of the mean variance over the directions that sum to zero: the spread of independent effects.

        Its error is from those of the factors (delta method).
        """
        if self.fitted.spread is None:
            return None
        root = self.fitted.spread.loading(self.fitted.dilemma)
        share = root / len(root)
        estimate = sqrt(float(np.trace(share @ root.T)))
        start = len(self.fitted.coefficients)
        slopes = np.zeros(len(self.fitted.covariance))
        slopes[start : start + len(self.fitted.dilemma)] = (
            np.tensordot(self.fitted.spread.generators, share, axes=2) / estimate
        )
        return self._sized(estimate, slopes)

    def taste_spread(self) -> Coefficient:
        """The standard deviation of tastes, root mean square over models that have their own; or why there is none."""
        if not len(self.fitted.taste):
            return self._no_taste()
        own = self.fitted.taste * self.estimable.deciding if len(self.fitted.taste) > 1 else self.fitted.taste
        among = np.count_nonzero(self.estimable.deciding) if len(own) > 1 else 1
        estimate = sqrt(float(own @ own) / among)
        return self._of_tastes(estimate, own / (among * estimate) if estimate else np.zeros(len(own)))

    def taste_spreads(self) -> dict[str, Coefficient]:
        """That of each model's tastes."""
        return {name: self._of_model(number) for number, name in enumerate(self.decisions.models)}

    def _of_model(self, model: int) -> Coefficient:
        if not len(self.fitted.taste):
            return self._no_taste()
        if not self.estimable.deciding[model]:
            return Coefficient(reason=f"{self.decisions.models[model]} made no decision")
        taste = float(self.fitted.taste[model])
        return self._of_tastes(abs(taste), np.eye(len(self.fitted.taste))[model] * np.sign(taste))

    def _no_taste(self) -> Coefficient:
        return Coefficient(reason=self.no_taste or "the effects of dilemmas are not determined either")

    def _of_tastes(self, estimate: float, slopes: Floats) -> Coefficient:
        """A spread with these slopes in the tastes' factors, which are the last parameters."""
        return self._sized(estimate, np.concatenate([np.zeros(len(self.fitted.covariance) - len(slopes)), slopes]))

    def _sized(self, estimate: float, slopes: Floats) -> Coefficient:
        """A spread with these slopes in the parameters."""
        if self._level(slopes):
            return Coefficient(estimate, reason=_LEVEL)
        return _spread(estimate, _root(float(slopes @ self.fitted.covariance @ slopes)), self.errors)

    def _level(self, slopes: Floats) -> bool:
        """Whether what has these slopes in the parameters lies in directions in which the likelihood is level."""
        shared = slopes @ self.fitted.level[: len(slopes)]
        return bool(shared @ shared > _OF_LEVEL * (slopes @ slopes))

    def _place(self, column: DesignColumn) -> int:
        """The place of a single coefficient among those that were fitted."""
        (at,) = self.design.of(*column)
        return self.fitted.kept.index(at)

    def _reason(self, column: DesignColumn) -> str | None:
        if self.no_taste == SHORT and column.kind == "inertia":
            return SHORT
        (at,) = self.estimable.design.of(*column)
        if not self.estimable.known[at]:
            return why_not(self.decisions, column)
        return _LEVEL if self._level(np.eye(len(self.fitted.coefficients))[self._place(column)]) else None

    def _one(self, column: DesignColumn) -> Coefficient:
        if reason := self._reason(column):
            return Coefficient(reason=reason)
        found = self._number(np.eye(len(self.fitted.coefficients))[self._place(column)])
        reason = too_few(self.decisions, column) if self.cautious else None
        if self.cautious and not reason and found.interval[1] - found.interval[0] > _WIDEST:
            reason = f"{NO_INTERVAL}it would be wider than {_WIDEST:g} logits"
        return msgspec.structs.replace(found, interval=(nan, nan), reason=reason) if reason else found

    def _number(self, weights: Floats) -> Coefficient:
        """The sum of coefficients with these weights."""
        estimate = float(weights @ self.fitted.coefficients)
        error = _root(float(weights @ self.fitted.covariance[: len(weights), : len(weights)] @ weights))
        if self.fitted.refits is None:
            return Coefficient(estimate, error, (estimate - self.errors * error, estimate + self.errors * error))
        if not len(self.fitted.refits):
            return Coefficient(estimate, reason=NO_REFITS)
        ends = ((1 - self.level) / 2, (1 + self.level) / 2)
        low, high = np.quantile(self.fitted.refits @ weights, ends).tolist()
        return Coefficient(estimate, error, (low, high))

    def _preference(self, model: int, verdict: int) -> Coefficient:
        if not self.estimable.used[model, verdict]:
            return Coefficient(reason=f"{self.decisions.models[model]} never gave this verdict")
        if self.estimable.used[model].sum() == 1:
            return Coefficient(reason=f"{self.decisions.models[model]} gave no other verdict")
        if not all(self.estimable.known[at] for at in self.estimable.design.of("preference", model)):
            return Coefficient(reason="the data do not separate it from other effects, or predict it perfectly")
        weights = np.zeros(len(self.fitted.coefficients))
        places = [self.fitted.kept.index(at) for at in self.design.of("preference", model)]
        weights[places] = self.design.bases[model][verdict]
        if self._level(weights):
            return Coefficient(reason=_LEVEL)
        return self._number(weights)


def _root(variance: float) -> float:
    """A standard error; NaN if the curvature was not that of a maximum."""
    return sqrt(variance) if variance >= 0 else nan


ESTIMATORS: tuple[Estimator, ...] = ("taste_by_model", "taste", "random", "penalised", "as_published")
"""All but 'auto', which chooses among the first three."""

_TASTES: tuple[Estimator, ...] = ("taste_by_model", "taste")
"""Those with tastes."""

_AGAINST_ONE = "a spread of tastes for each model against one for all"
_FEW = 150
"""Decisions that distinguish tastes from inertia."""


_FAR = 3.0
"""Logits: further than most inertia."""


def fit(
    decisions: Decisions,
    *,
    estimator: Estimator = "auto",
    conformity: Conformity = "shared",
    level: float = 0.95,
    penalty: float = 0.1,
    refits: int = REFITS,
    against: bool = True,
) -> ChoiceFit:
    """Estimate preference, inertia and conformity, each with standard error, interval and odds ratio.

    The log-odds of verdict v are theta[model, v] + phi[dilemma, v] + alpha[model] if v is the agent's own verdict of
    the round before + gamma_prev n_prev[v] + gamma_within n_within[v].

    - "taste_by_model": phi is normal with an estimated covariance, and so is an effect of each model in each dilemma,
      its lasting taste, which must not be mistaken for inertia. Each model's tastes have a standard deviation of their
      own. All effects are integrated out; standard errors are from the observed information of the marginal likelihood.
      With `against`, the likelihood ratio against one standard deviation for all models is added.
    - "taste": the same with one standard deviation for all models, and with `against` the same likelihood ratio.
      Models with stronger tastes than others then seem to have inertia.
    - "random": the same without tastes. With `against`, the likelihood ratio of tastes against none is added.
    - "penalised": phi is free, and `penalty`/2 times the sum of squares of all parameters is taken from the likelihood.
      Pulled towards zero, and its intervals ignore that and how many parameters there are.
    - "as_published": that of the paper as its authors ran it; intervals are percentiles of `refits` more fits.
    - "auto": "taste_by_model" if the decisions distinguish tastes from inertia, otherwise "random"; "taste" if only
      that reaches its maximum.

    `conformity` is "shared" by all models, as published, or estimated "by model". A number that the decisions do not
    determine is NaN with a reason, and the rest is still estimated. With the first three estimators, inertia and
    conformity have a reason in place of an interval if fewer than 25 discussions of a model bear on them, or if the
    interval would be wider than six logits.

    Raises:
        InputError: there are no decisions, or no such estimator.
    """
    if estimator not in ("auto", *ESTIMATORS):
        raise InputError(f"there is no estimator {estimator!r}: there are auto, {', '.join(ESTIMATORS)}")
    if not len(decisions):
        raise InputError("there are no decisions to explain: no discussion contains a valid verdict")
    with one_thread_each():
        estimable = estimable_part(decisions, conformity)
        used, made, fitted = _fitted(decisions, estimable, estimator, conformity, penalty=penalty, refits=refits)
        tastes = _of_tastes(estimable, fitted) if used == "random" and against else None
        spreads = _of_spreads(estimable, fitted) if used in _TASTES and against else None
    no_taste = no_tastes(decisions)
    cautious = used in (*_TASTES, "random")
    view = View(decisions, estimable, made, fitted, level, no_taste if used in _TASTES else None, cautious)
    return ChoiceFit(
        estimator=used,
        inertia=view.of_kind("inertia"),
        previous=view.of_kind("previous"),
        within=view.of_kind("within"),
        preference=view.preferences(),
        dilemma_spread=view.dilemma_spread(),
        taste_spread=view.taste_spread() if used in _TASTES else None,
        taste_spreads=view.taste_spreads() if used == "taste_by_model" else {},
        loglik=fitted.loglik,
        likelihood_ratio=tastes,
        likelihood_ratio_of_spreads=spreads,
        converged=fitted.converged,
        n=len(decisions),
        dilemmas=decisions.dilemmas,
        warnings=[
            *_about_effects(decisions, estimable, used, no_taste),
            *_about_few(decisions, len(fitted.taste), view.without_interval()),
            *(_about_the_choice(estimable, used, no_taste) if estimator == "auto" else ()),
            *([f"likelihood ratio of models' tastes for dilemmas against none: {tastes}"] if tastes else ()),
            *([f"likelihood ratio of {_AGAINST_ONE}: {spreads}"] if spreads and used == "taste" else ()),
            *_about_the_end(fitted, used, len(decisions)),
        ],
    )


def _fitted(
    decisions: Decisions,
    estimable: Estimable,
    estimator: Estimator,
    conformity: Conformity,
    *,
    penalty: float,
    refits: int,
) -> tuple[Estimator, ChoiceDesign, FittedCoefficients]:
    """By which estimator, in which design, and what it found."""
    situations = count_situations(decisions)
    if estimator == "penalised":
        return estimator, *fit_penalised(situations, len(decisions.models), conformity, penalty)
    if estimator == "as_published":
        return estimator, *fit_published(decisions, situations, conformity, refits)
    plain: Estimator = "random" if estimator == "auto" else estimator
    if alike(estimable.situations):
        return plain, estimable.design, fit_alike(estimable)
    if estimator == "random" or no_tastes(decisions):
        return plain, estimable.design, fit_random(estimable)
    fits = {"taste_by_model": fit_taste_by_model, "taste": fit_taste}
    for name in _TASTES if estimator == "auto" else (estimator,):
        found = fits[name](estimable)
        if found.converged or estimator != "auto":
            return name, estimable.design, found
    return "random", estimable.design, fit_random(estimable)


def _of_tastes(estimable: Estimable, plain: FittedCoefficients) -> LikelihoodRatio | None:
    """Of tastes against none, if there are two models that may differ in them."""
    if plain.spread is None or np.sum(estimable.deciding) < 2:
        return None
    gain = gain_by_tastes(estimable, plain)
    return LikelihoodRatio(gain, float(chdtrc(1, gain)) / 2 if gain > 0 else 1.0)


def _of_spreads(estimable: Estimable, fitted: FittedCoefficients) -> LikelihoodRatio | None:
    """Of a spread of tastes for each model against one for all, if there are tastes."""
    if not len(fitted.taste):
        return None
    gain = gain_by_model(estimable, fitted)
    return LikelihoodRatio(gain, float(chdtrc(np.sum(estimable.deciding) - 1, gain)))


def _about_effects(decisions: Decisions, estimable: Estimable, used: Estimator, no_taste: str | None) -> Iterator[str]:
    if used not in (*_TASTES, "random"):
        return
    if why := alike(estimable.situations):
        yield f"effects of dilemmas are left out: {why}"
    elif used in _TASTES and no_taste:
        yield f"tastes for dilemmas are left out: {no_taste}"


def _about_few(decisions: Decisions, tastes: int, without: Mapping[str, str]) -> Iterator[str]:
    """Which numbers of inertia and conformity have no interval, and why; or that all are rough."""
    for reason in dict.fromkeys(without.values()):
        names = " or ".join(name for name, why in without.items() if why == reason)
        yield f"no interval for {names}, because {reason.removeprefix(NO_INTERVAL)}"
    if tastes and not without and (few := int(taste_decisions(decisions).sum())) < _FEW:
        yield (
            f"only {few} decisions tell a model's lasting taste for a verdict from inertia (its third on a dilemma and"
            " later, or its second with no verdict of its own to keep): both are rough, and so is conformity"
        )


def _about_the_choice(estimable: Estimable, used: Estimator, no_taste: str | None) -> Iterator[str]:
    """If it was left to the decisions, and tastes are left out, or the same for all models."""
    unreached = "the maximum of the likelihood is not reached"
    if used == "taste":
        yield (
            "inertia may be a strong taste, because all models' tastes are taken for equally strong: with a spread for"
            f" each, {unreached}"
        )
    if used != "random":
        return
    why = no_taste or alike(estimable.situations) or f"with tastes {unreached}"
    yield (
        "a model's lasting taste for a verdict is not separated from inertia here, so that inertia may be taste, and"
        f" conformity hidden by it: {why}"
    )


def _about_the_end(fitted: FittedCoefficients, used: Estimator, decisions: int) -> Iterator[str]:
    if used == "as_published" and (reach := reaches(decisions)) < _FAR:
        yield (
            f"as its authors ran it, it stops after so few steps with {decisions:,} decisions that no number gets much"
            f" further from zero than {reach:.1f}; refits, on which its intervals rest, stop even sooner"
        )
    if not fitted.converged:
        yield "the likelihood's maximum was not reached: do not trust these numbers"
