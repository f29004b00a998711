"""Equation 2 of the discussion study, fitted to decisions: a multinomial logit with inertia and conformity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    fit_taste_by_model,
    gain_by_model,
    gain_by_tastes,
)
from overton.statistics.choice.identification import (
    Estimable,
    alike,
    estimable_part,
    no_tastes,
    taste_decisions,
)
from overton.statistics.choice.likelihood import one_thread_each
from overton.statistics.choice.results import ChoiceFit, LikelihoodRatio
from overton.statistics.choice.view import View
from overton.statistics.estimate import NO_INTERVAL

__all__ = ["ESTIMATORS", "Estimator", "fit"]

Estimator = Literal["auto", "taste_by_model", "taste", "random", "penalised", "as_published"]

ESTIMATORS: tuple[Estimator, ...] = ("taste_by_model", "taste", "random", "penalised", "as_published")
"""All but 'auto', which chooses among the first three."""

_TASTES: tuple[Estimator, ...] = ("taste_by_model", "taste")
"""Those with tastes."""

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
        used, made, fitted = _fitted(decisions, estimable, _Asked(estimator, conformity, penalty, refits))
        tastes = _of_tastes(estimable, fitted) if used == "random" and against else None
        spreads = _of_spreads(estimable, fitted) if used in _TASTES and against else None
    no_taste = no_tastes(decisions)
    cautious = used in (*_TASTES, "random")
    view = View(decisions, estimable, made, fitted, level, no_taste if used in _TASTES else None, cautious)
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
        taste_spread=view.taste_spread() if used in _TASTES else None,
        taste_spreads=view.taste_spreads() if used == "taste_by_model" else {},
        names=view.names(),
        covariance=view.covariance().tolist(),
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
            *(_about_the_ratio(tastes, _AGAINST_NONE) if tastes else ()),
            *(_about_the_ratio(spreads, _AGAINST_ONE) if spreads and used == "taste" else ()),
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
    fits = {"taste_by_model": fit_taste_by_model, "taste": fit_taste}
    for name in _TASTES if estimator == "auto" else (estimator,):
        found = fits[name](estimable, models)
        if found.converged or estimator != "auto":
            return name, estimable.design, found
    return "random", estimable.design, fit_random(estimable)


def _of_tastes(estimable: Estimable, plain: Fitted) -> LikelihoodRatio | None:
    """Of tastes against none, if there are two models that may differ in them."""
    models = len(estimable.used)
    if plain.spread is None or np.sum(estimable.used.any(1)) < 2:
        return None
    gain = gain_by_tastes(estimable, models, plain)
    return LikelihoodRatio(gain, float(chdtrc(1, gain)) / 2 if gain > 0 else 1.0)


def _of_spreads(estimable: Estimable, fitted: Fitted) -> LikelihoodRatio | None:
    """Of a spread of tastes for each model against one for all, if there are tastes."""
    if not len(fitted.taste):
        return None
    gain = gain_by_model(estimable, len(estimable.used), fitted)
    return LikelihoodRatio(gain, float(chdtrc(np.sum(estimable.used.any(1)) - 1, gain)))


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


_AGAINST_NONE = "models' tastes for dilemmas against none"
_AGAINST_ONE = "a spread of tastes for each model against one for all"


def _about_the_ratio(found: LikelihoodRatio, what: str) -> Iterator[str]:
    yield f"likelihood ratio of {what}: {found}"


def _about_the_end(fitted: Fitted, used: Estimator, decisions: int) -> Iterator[str]:
    if used == "as_published" and (reach := reaches(decisions)) < _FAR:
        yield (
            f"as its authors ran it, it stops after so few steps with {decisions:,} decisions that no number gets much"
            f" further from zero than {reach:.1f}; refits, on which its intervals rest, stop even sooner"
        )
    if not fitted.converged:
        yield "the likelihood's maximum was not reached: do not trust these numbers"
