"""Equation 2 of the discussion study, fitted to decisions: a multinomial logit with inertia and conformity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import chdtrc

from overton.errors import InputError
from overton.statistics.choice.as_published import REFITS, reaches
from overton.statistics.choice.decisions import Decisions
from overton.statistics.choice.design import Conformity, Design, count_situations
from overton.statistics.choice.estimators import (
    Fitted,
    fit_alike,
    fit_penalised,
    fit_published,
    fit_random,
    fit_taste,
    gain_by_tastes,
)
from overton.statistics.choice.identification import Estimable, alike, estimable_part, no_tastes, taste_decisions
from overton.statistics.choice.likelihood import one_thread_each
from overton.statistics.choice.results import ChoiceFit, LikelihoodRatio
from overton.statistics.choice.view import View

__all__ = ["ESTIMATORS", "Estimator", "fit"]

Estimator = Literal["auto", "taste", "random", "penalised", "as_published"]

ESTIMATORS: tuple[Estimator, ...] = ("taste", "random", "penalised", "as_published")
"""All but 'auto', which chooses between the first two."""

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

    - "taste": phi is normal with an estimated covariance, and so is an effect of each model in each dilemma, its
      lasting taste, which must not be mistaken for inertia. Both are integrated out; standard errors are from the
      observed information of the marginal likelihood.
    - "random": the same without tastes. With `against`, the likelihood ratio of tastes against none is added.
    - "penalised": phi is free, and `penalty`/2 times the sum of squares of all parameters is taken from the likelihood.
      Pulled towards zero, and its intervals ignore that and how many parameters there are.
    - "as_published": that of the paper as its authors ran it; intervals are percentiles of `refits` more fits.
    - "auto": "taste" if the decisions distinguish tastes from inertia, otherwise "random".

    `conformity` is "shared" by all models, as published, or estimated "by model". What the decisions do not determine
    is NaN with a reason, and the rest is still estimated. Raises `InputError` if there are no decisions, or no such
    estimator.
    """
    if estimator not in ("auto", *ESTIMATORS):
        raise InputError(f"there is no estimator {estimator!r}: there are auto, {', '.join(ESTIMATORS)}")
    if not len(decisions):
        raise InputError("there are no decisions to explain: no discussion contains a valid verdict")
    with one_thread_each():
        estimable = estimable_part(decisions, conformity)
        used, made, fitted = _fitted(decisions, estimable, _Asked(estimator, conformity, penalty, refits))
        tastes = _ratio(estimable, fitted) if used == "random" and against else None
    no_taste = no_tastes(decisions)
    view = View(decisions, estimable, made, fitted, level, no_taste if used == "taste" else None)
    return ChoiceFit(
        estimator=used,
        conformity=conformity,
        level=level,
        inertia=view.by_model("inertia"),
        previous=view.by_model("previous") if conformity == "by model" else view.shared("previous"),
        within=view.by_model("within") if conformity == "by model" else view.shared("within"),
        preference=view.preferences(),
        dilemma_spread=view.dilemma_spread(),
        verdict_spreads=view.verdict_spreads(),
        taste_spread=view.taste_spread() if used == "taste" else None,
        names=view.names(),
        covariance=view.covariance().tolist(),
        loglik=fitted.loglik,
        likelihood_ratio=tastes,
        converged=fitted.converged,
        n=len(decisions),
        dilemmas=decisions.dilemmas,
        warnings=[
            *_about_effects(decisions, estimable, fitted, used, no_taste),
            *(_about_tastes(estimable, no_taste) if estimator == "auto" and used == "random" else ()),
            *(_about_the_ratio(tastes) if tastes else ()),
            *_about_the_end(fitted, used, len(decisions)),
        ],
    )


class _Asked(NamedTuple):
    estimator: Estimator
    conformity: Conformity
    penalty: float
    refits: int


def _fitted(decisions: Decisions, estimable: Estimable, asked: _Asked) -> tuple[Estimator, Design, Fitted]:
    """By which estimator, in which design, and what it found."""
    situations, models, estimator = count_situations(decisions), len(decisions.models), asked.estimator
    if estimator == "penalised":
        return estimator, *fit_penalised(situations, models, asked.conformity, asked.penalty)
    if estimator == "as_published":
        return estimator, *fit_published(decisions, situations, asked.conformity, asked.refits)
    plain: Estimator = "random" if estimator == "auto" else estimator
    if alike(estimable.situations):
        return plain, estimable.design, fit_alike(estimable)
    if estimator == "random" or no_tastes(decisions):
        return plain, estimable.design, fit_random(estimable)
    found = fit_taste(estimable, models)
    if estimator == "auto" and not found.converged:
        return "random", estimable.design, fit_random(estimable)
    return "taste", estimable.design, found


def _ratio(estimable: Estimable, plain: Fitted) -> LikelihoodRatio | None:
    """Of tastes against none, if there are two models that may differ in them."""
    models = len(estimable.used)
    if plain.spread is None or np.sum(estimable.used.any(1)) < 2:
        return None
    gain = gain_by_tastes(estimable, models, plain)
    return LikelihoodRatio(gain, float(chdtrc(1, gain)) / 2 if gain > 0 else 1.0)


def _about_effects(
    decisions: Decisions, estimable: Estimable, fitted: Fitted, used: Estimator, no_taste: str | None
) -> Iterator[str]:
    if used not in ("taste", "random"):
        return
    if why := alike(estimable.situations):
        yield f"effects of dilemmas are left out: {why}"
    elif used == "taste" and no_taste:
        yield f"tastes for dilemmas are left out: {no_taste}"
    elif used == "taste" and (few := taste_decisions(decisions)) < _FEW:
        yield (
            f"only {few} decisions (a model's third on a dilemma and later, or its second afresh) show a lasting taste"
            " for a verdict from inertia: both are rough, and conformity is too"
        )


def _about_tastes(estimable: Estimable, no_taste: str | None) -> Iterator[str]:
    """If the choice was left to the decisions, and tastes are left out."""
    why = no_taste or alike(estimable.situations) or "with tastes the maximum of the likelihood is not reached"
    yield (
        "models' lasting tastes for verdicts are not separated here, so that inertia may be taste, and conformity"
        f" hidden by it: {why}"
    )


def _about_the_ratio(tastes: LikelihoodRatio) -> Iterator[str]:
    p = f"p = {tastes.p:.3f}" if tastes.p >= 0.001 else "p < 0.001"
    yield f"likelihood ratio of models' tastes for dilemmas against none: {tastes.statistic:.1f} ({p})"


def _about_the_end(fitted: Fitted, used: Estimator, decisions: int) -> Iterator[str]:
    if used == "as_published" and (reach := reaches(decisions)) < _FAR:
        yield (
            f"as its authors ran it, it stops after so few steps with {decisions:,} decisions that no number gets much"
            f" further from zero than {reach:.1f}; refits, on which its intervals rest, stop even sooner"
        )
    if not fitted.converged:
        yield "the likelihood's maximum was not reached: do not trust these numbers"
