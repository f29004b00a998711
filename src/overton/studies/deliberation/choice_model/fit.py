"""Equation 2 of the discussion study, fitted to verdicts: a multinomial logit with inertia and conformity."""

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
"""The key of a conformity coefficient that all models share."""


class Coefficient(msgspec.Struct, frozen=True):
    """A coefficient in logits, or a standard deviation (at least 0), with its interval.

    The interval is Wald's (on the log scale for a standard deviation). For `as_published`, its ends are percentiles of
    refits. All numbers are NaN if the data do not determine them. Only the interval is NaN if too few decisions inform
    it, if it was not requested, or if a standard deviation is not clearly above zero. `reason` says why the numbers or
    the interval are missing; otherwise it is None.
    """

    estimate: float = nan
    se: float = nan
    interval: tuple[float, float] = (nan, nan)
    reason: str | None = None

    @property
    def odds_ratio(self) -> float:
        """The exponential of the estimate."""
        return float("inf") if self.estimate >= 700 else exp(self.estimate)


class LikelihoodRatio(msgspec.Struct, frozen=True):
    """Twice the difference between the log-likelihoods of two fits.

    In the test of tastes against no tastes, the null value lies on the boundary of the range. So `p` is half the
    p-value of a chi-squared test with one degree of freedom. In the test of separate variances of tastes for M models
    against a common variance, `p` is the p-value of a chi-squared test with M - 1 degrees of freedom. This p-value is
    too large if tastes are near zero.
    """

    statistic: float
    p: float

    def __str__(self) -> str:
        p = f"p = {self.p:.3f}" if self.p >= 0.001 else "p < 0.001"
        return f"{self.statistic:.1f} ({p})"


class ChoiceFit(msgspec.Struct, frozen=True):
    """The fit of equation 2.

    `estimator` is the estimator that was used, even if it was chosen automatically. `inertia` is by model. `previous`
    and `within`, the conformity to earlier rounds and within the round, are by model or under `ALL_MODELS`.
    `preference` is by model and verdict, in logits above the mean of the verdicts that the model uses. `dilemma_spread`
    is the standard deviation of the dilemmas' effects over dilemmas and verdicts. Effects are relative to the dilemma's
    mean over verdicts. `dilemma_spread` is None if effects are not random. `taste_spreads` are the standard deviations
    of each model's own effects, if they were fitted by model. `taste_spread` is the common standard deviation of all
    models, or the root mean square of `taste_spreads`.

    `loglik` is marginal if effects are random, and excludes penalties. With `taste` its error is about 0.01 per
    dilemma. `likelihood_ratio` tests for tastes. It is computed only for the estimator `random`, which would mistake
    tastes for inertia. `likelihood_ratio_of_spreads` tests separate variances of tastes against one variance for all
    models. `converged` is False if the maximum was not reached. Then `warnings` has a message, and the numbers cannot
    be trusted.
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
    """A standard deviation with an interval of `errors` standard errors to each side, by the delta method on the log
    scale."""
    if not 0 < se <= estimate:
        return Coefficient(estimate, se, reason="no interval: a spread of zero fits as well")
    half = errors * se / estimate
    return Coefficient(estimate, se, (exp(log(estimate) - half), exp(log(estimate) + half)))


NO_REFITS = "its interval takes many refits, which are made only if this estimator is chosen"

_LEVEL = "the data barely constrain it, as happens with few dilemmas or rare verdicts"

_WORDS = {
    "inertia": "inertia",
    "previous": "conformity to earlier rounds",
    "within": "conformity to the same round",
}
"""The names of kinds of coefficients in sentences."""

_WIDEST = 6.0
"""The width in logits of the widest interval shown.

The ends of a wider interval are odds ratios that differ by a factor of more than 400.
"""

_OF_LEVEL = 0.05
"""The largest allowed proportion of a number's squared slopes in flat directions of the likelihood.

With a larger proportion, the data barely constrain the number.
"""


@dataclass(frozen=True)
class View:
    """A fit in the user's terms: numbers by name, with intervals at `level`, or the reason for a missing number.

    `no_taste` is the reason why there are no tastes although they were requested. With `cautious`, inertia and
    conformity have no interval if too few discussions inform them, or if the interval would be too wide to be
    informative.
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
        """The number of standard errors from an estimate to its limits, by Student's t over dilemmas or by the normal
        distribution."""
        upper = (1 + self.level) / 2
        return float(stdtrit(self.decisions.dilemmas - 1, upper) if self.fitted.spread else ndtri(upper))

    def of_kind(self, kind: str) -> dict[str, Coefficient]:
        """The coefficients of a kind by model, or the single coefficient of all models."""
        columns = [column for column in self.design.columns if column.kind == kind]
        models = [ALL_MODELS if column.model is None else self.decisions.models[column.model] for column in columns]
        return {model: self._one(column) for model, column in zip(models, columns, strict=True)}

    def preferences(self) -> dict[str, dict[str, Coefficient]]:
        """Preferences by model and verdict, relative to the mean of the verdicts that the model uses."""
        return {
            model: {verdict: self._preference(m, v) for v, verdict in enumerate(self.decisions.verdicts)}
            for m, model in enumerate(self.decisions.models)
        }

    def without_interval(self) -> dict[str, str]:
        """The reasons why inertia or conformity has an estimate but no interval, by the coefficient's name in words."""
        found: dict[str, str] = {}
        for kind, words in _WORDS.items():
            for model, coefficient in self.of_kind(kind).items():
                if coefficient.reason and coefficient.reason.startswith(NO_INTERVAL):
                    found[words if model == ALL_MODELS else f"{words} of {model}"] = coefficient.reason
        return found

    def dilemma_spread(self) -> Coefficient | None:
        """The standard deviation of dilemmas' effects: the root of the mean variance over the directions that sum to
        zero.

        If effects are independent, this is their standard deviation. The standard error follows from the standard
        errors of the spread's parameters (delta method).
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
        """The standard deviation of tastes, or the reason why it is missing.

        If models have separate standard deviations, it is their root mean square.
        """
        if not len(self.fitted.taste):
            return self._no_taste()
        own = self.fitted.taste * self.estimable.deciding if len(self.fitted.taste) > 1 else self.fitted.taste
        among = np.count_nonzero(self.estimable.deciding) if len(own) > 1 else 1
        estimate = sqrt(float(own @ own) / among)
        return self._of_tastes(estimate, own / (among * estimate) if estimate else np.zeros(len(own)))

    def taste_spreads(self) -> dict[str, Coefficient]:
        """The spread of each model's tastes."""
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
        """A standard deviation with these slopes in the parameters of the tastes' spread, which are the last
        parameters."""
        return self._sized(estimate, np.concatenate([np.zeros(len(self.fitted.covariance) - len(slopes)), slopes]))

    def _sized(self, estimate: float, slopes: Floats) -> Coefficient:
        """A standard deviation with these slopes in the parameters."""
        if self._level(slopes):
            return Coefficient(estimate, reason=_LEVEL)
        return _spread(estimate, _root(float(slopes @ self.fitted.covariance @ slopes)), self.errors)

    def _level(self, slopes: Floats) -> bool:
        """Whether a number with these slopes in the parameters depends on directions in which the likelihood is
        flat."""
        shared = slopes @ self.fitted.level[: len(slopes)]
        return bool(shared @ shared > _OF_LEVEL * (slopes @ slopes))

    def _place(self, column: DesignColumn) -> int:
        """The index of a single coefficient among the fitted ones."""
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
        """The sum of the coefficients with these weights, as a number with interval."""
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
    """The standard error for a variance; NaN if the curvature is not that of a maximum."""
    return sqrt(variance) if variance >= 0 else nan


ESTIMATORS: tuple[Estimator, ...] = ("taste_by_model", "taste", "random", "penalised", "as_published")
"""All estimators except 'auto', which chooses among the first three."""

_TASTES: tuple[Estimator, ...] = ("taste_by_model", "taste")
"""The estimators with tastes."""

_AGAINST_ONE = "one spread of tastes per model against one for all"
_FEW = 150
"""With fewer decisions that distinguish tastes from inertia, a warning says that estimates are imprecise."""


_FAR = 3.0
"""A distance in logits that most estimates of inertia do not reach."""


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

    The log-odds of verdict v are theta[model, v] + phi[dilemma, v] + gamma_prev n_prev[v] + gamma_within n_within[v].
    If v is the agent's own verdict in the round before, alpha[model] is added.

    - "taste_by_model": phi is normal with an estimated covariance. Each model also has a random effect in each dilemma,
      its lasting taste, which must not be mistaken for inertia. Each model's tastes have their own standard deviation.
      All effects are integrated out. Standard errors come from the observed information of the marginal likelihood.
      With `against`, the result includes the likelihood ratio against one standard deviation for all models.
    - "taste": as "taste_by_model", but the tastes of all models have a common standard deviation. `against` adds the
      same likelihood ratio. A model whose tastes are stronger than those of other models then seems to have inertia.
    - "random": as "taste", but without tastes. With `against`, the result includes the likelihood ratio of tastes
      against no tastes.
    - "penalised": phi is free, and `penalty`/2 times the sum of squares of all parameters is subtracted from the
      log-likelihood. Estimates shrink towards zero. Their intervals ignore this shrinkage and the number of parameters.
    - "as_published": the paper's estimator as its authors ran it. Intervals are percentiles of `refits` more fits.
    - "auto": "taste_by_model" if the decisions distinguish tastes from inertia, otherwise "random". If the fit of
      "taste_by_model" does not converge, Overton uses "taste". If "taste" does not converge either, Overton uses
      "random".

    `conformity` is "shared" by all models, as published, or estimated "by model". A number that the decisions do not
    determine is NaN with a reason, and the rest is still estimated. With the first three estimators, inertia and
    conformity can have a reason instead of an interval. This happens if fewer than 25 discussions of a model are
    informative, or if the interval would be wider than six logits.

    Raises:
        InputError: there are no decisions, or no such estimator.
    """
    if estimator not in ("auto", *ESTIMATORS):
        raise InputError(f"there is no estimator {estimator!r}: there are auto, {', '.join(ESTIMATORS)}")
    if not len(decisions):
        raise InputError("there are no decisions to explain, because no discussion contains a valid verdict")
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
            *([f"likelihood ratio of models' tastes for dilemmas against no tastes: {tastes}"] if tastes else ()),
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
    """The estimator that was used, its design, and the fit."""
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
    """The likelihood ratio of tastes against no tastes.

    None if fewer than two models made decisions, or if the dilemmas' effects are not random.
    """
    if plain.spread is None or np.sum(estimable.deciding) < 2:
        return None
    gain = gain_by_tastes(estimable, plain)
    return LikelihoodRatio(gain, float(chdtrc(1, gain)) / 2 if gain > 0 else 1.0)


def _of_spreads(estimable: Estimable, fitted: FittedCoefficients) -> LikelihoodRatio | None:
    """The likelihood ratio of separate spreads of tastes for the models against a common spread; None if the fit has no
    tastes."""
    if not len(fitted.taste):
        return None
    gain = gain_by_model(estimable, fitted)
    return LikelihoodRatio(gain, float(chdtrc(np.sum(estimable.deciding) - 1, gain)))


def _about_effects(decisions: Decisions, estimable: Estimable, used: Estimator, no_taste: str | None) -> Iterator[str]:
    if used not in (*_TASTES, "random"):
        return
    if why := alike(estimable.situations):
        yield f"effects of dilemmas are left out, because {why}"
    elif used in _TASTES and no_taste:
        yield f"tastes for dilemmas are left out, because {no_taste}"


def _about_few(decisions: Decisions, tastes: int, without: Mapping[str, str]) -> Iterator[str]:
    """Warnings about inertia and conformity: that intervals are missing, or that all estimates are imprecise."""
    for reason in dict.fromkeys(without.values()):
        names = " or ".join(name for name, why in without.items() if why == reason)
        yield f"no interval for {names}, because {reason.removeprefix(NO_INTERVAL)}"
    if tastes and not without and (few := int(taste_decisions(decisions).sum())) < _FEW:
        yield (
            f"only {few} decisions separate a model's lasting taste for a verdict from inertia, so the estimates of"
            " taste, inertia and conformity are imprecise. A decision separates them if it is the model's third or"
            " later decision on a dilemma, or its second without an earlier verdict of its own"
        )


def _about_the_choice(estimable: Estimable, used: Estimator, no_taste: str | None) -> Iterator[str]:
    """Warnings about the estimator that 'auto' chose, if this estimator has no tastes or assumes equally strong
    tastes."""
    unreached = "the maximum of the likelihood is not reached"
    if used == "taste":
        yield (
            "it assumes equally strong tastes for all models, so inertia may be a strong taste. With one spread per"
            f" model, {unreached}"
        )
    if used != "random":
        return
    why = no_taste or alike(estimable.situations) or f"with tastes {unreached}"
    yield (
        f"it cannot separate a model's lasting taste for a verdict from inertia, because {why}. Inertia may therefore"
        " be taste, and taste may hide conformity"
    )


def _about_the_end(fitted: FittedCoefficients, used: Estimator, decisions: int) -> Iterator[str]:
    if used == "as_published" and (reach := reaches(decisions)) < _FAR:
        yield (
            f"it stops after a fixed number of epochs. With {decisions:,} decisions these are so few steps that"
            f" numbers cannot get much further from zero than {reach:.1f}, and the refits behind its intervals stop"
            " even sooner"
        )
    if not fitted.converged:
        yield "the likelihood's maximum was not reached, so do not trust these numbers"
