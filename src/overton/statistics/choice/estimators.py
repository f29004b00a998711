"""The three estimators: of coefficients, of spreads, and of how far both may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.blocks import Block, blocks
from overton.statistics.choice.climbing import Peak, Roles, Start, climb, polish
from overton.statistics.choice.design import Conformity, Design, design
from overton.statistics.choice.identification import Told, fit_patterns
from overton.statistics.choice.joint import JointFit, fit_jointly
from overton.statistics.choice.marginal import marginal_likelihood
from overton.statistics.choice.quadrature import Rule, fifth_degree, gauss_hermite
from overton.statistics.choice.situations import Situations
from overton.statistics.choice.spreads import Spread, any_covariance, one_size
from overton.statistics.choice.taste import Spreads, taste_likelihood, taste_loadings

__all__ = ["Fitted", "fit_alike", "fit_paper", "fit_random", "fit_taste"]

Array = NDArray[np.float64]

_CELLS = 100_000
"""Rows times points of a block, at most: its largest arrays then hold a few megabytes, and stay in a core's cache."""

_ROWS = 2_000
"""Rows of a block, at most."""

_FEW = 30
"""Dilemmas. Fewer do not tell a covariance of effects; one size for all verdicts is estimated instead."""

_EM_STEPS = 3

_MANY = 40
"""Decisions a dilemma, on average. With fewer, the likelihood is further from normal and needs more points."""

_POINTS = 700
_AFFORDABLE = 3_000_000
"""Points of a rule, and rows times points: a second or so a step."""


@dataclass(frozen=True)
class Fitted:
    """`coefficients` of the columns `kept` [P], `dilemma` and `taste` factors, and the `covariance` of all, in order.

    `spread` says what the dilemmas' factors mean; it is None, and there are none, where effects are not random.
    `told` is False where the factors are hardly told, see `Peak`.
    """

    kept: list[int]
    coefficients: Array
    spread: Spread | None
    dilemma: Array
    taste: Array
    covariance: Array
    loglik: float
    converged: bool
    told: bool


def fit_paper(situations: Situations, models: int, conformity: Conformity, penalty: float) -> tuple[Design, Fitted]:
    """Penalised maximum likelihood with one free effect for each dilemma; standard errors from its Hessian.

    Maximises log-likelihood - penalty/2 times the sum of squares of all parameters. The penalty keeps every verdict's
    preference finite, so that none is left out, and makes those of a model, and the effects of a dilemma, sum to zero.
    """
    verdicts = situations.counts.shape[1]
    made = design(situations, np.ones((models, verdicts), bool), conformity)
    rows = blocks(situations, made.features, made.basis, _ROWS)
    loading = np.eye(verdicts - 1)[None] / np.sqrt(penalty)
    start = fit_patterns(situations, made.features, penalty).coefficients
    return made, _unspread(list(range(len(start))), fit_jointly(rows, loading, penalty, start))


def fit_alike(told: Told) -> Fitted:
    """Maximum likelihood with all dilemmas alike: all that is left where nothing tells how they differ."""
    return _unspread(told.kept, told.start)


def fit_random(told: Told) -> Fitted:
    """Marginal maximum likelihood with normal effects of dilemmas, their covariance estimated."""
    width, count = told.design.basis.shape[1], len(told.kept)
    spread = any_covariance(width) if told.situations.dilemmas >= _FEW else one_size(width)
    few, many = _rules(told.situations, width)
    fit, factors = _approximately(_rows(told, 1), spread, told.start.coefficients)
    start = np.concatenate([fit.coefficients, factors])
    roles = Roles(count, np.concatenate([np.zeros(count, bool), spread.sizes]))
    rows = _rows(told, len(few[1]))
    peak = climb(marginal_likelihood(rows, spread, few, count), start, _laid_out(fit.latent, rows), roles)
    if many is not few:
        rows = _rows(told, len(many[1]))
        peak = polish(marginal_likelihood(rows, spread, many, count), peak, _laid_out(peak.latent, rows), roles)
    return _spread(told, peak, spread)


def fit_taste(told: Told, models: int, near: Fitted) -> Fitted:
    """The same with normal effects of each model in each dilemma besides, of one size; from the fit without them."""
    assert near.spread is not None
    width, count = told.design.basis.shape[1], len(told.kept)
    spreads, own = Spreads(near.spread, one_size(width)), np.array([0.5])
    few, many = fifth_degree(width), _product(width, 4)
    outer = _outer(told.situations, width)
    rows = _rows(told, 1, models=models)
    loadings = taste_loadings(near.spread.loading(near.dilemma), spreads.taste.loading(own), models)
    fit = fit_jointly(rows, loadings, 0.0, near.coefficients, precision=1.0)
    start = np.concatenate([fit.coefficients, near.dilemma, own])
    roles = Roles(count, np.concatenate([np.zeros(count, bool), near.spread.sizes, spreads.taste.sizes]))
    rows = _rows(told, len(outer[1]) * len(few[1]), models=models)
    at = taste_likelihood(rows, spreads, (outer, few), count)
    peak = climb(at, start, _laid_out(fit.latent, rows), roles)
    rows = _rows(told, len(outer[1]) * len(many[1]), models=models)
    at = taste_likelihood(rows, spreads, (outer, many), count)
    peak = polish(at, peak, _laid_out(peak.latent, rows), roles)
    return _spread(told, peak, near.spread)


def _rules(situations: Situations, width: int) -> tuple[Rule, Rule]:
    """Points to climb with and to polish with: enough for the spreads, which need more of them than coefficients."""
    rows = len(situations.pattern)
    fine = _product(width, 5 if rows * 5**width <= _AFFORDABLE else 4)
    many = situations.counts.sum() >= _MANY * situations.dilemmas
    return (fifth_degree(width) if many else fine), fine


def _outer(situations: Situations, width: int) -> Rule:
    """Points for the dilemmas' effects where models have tastes, which leave them further from normal."""
    few = fifth_degree(width)
    more = _product(width, 3)
    return more if len(situations.pattern) * len(more[1]) * len(few[1]) <= 2 * _AFFORDABLE else few


def _product(width: int, points: int) -> Rule:
    """The product rule, or where that has too many points the one of degree 5."""
    return gauss_hermite(width, points) if points**width <= _POINTS else fifth_degree(width)


def _rows(told: Told, nodes: int, *, models: int = 1) -> list[Block]:
    features = told.design.take(told.kept)
    size = min(max(_CELLS // nodes, 1), _ROWS)
    return blocks(told.situations, features, told.design.basis, size, models=models)


def _laid_out(latent: Start, rows: list[Block]) -> Start:
    """Latent effects of one layout for another: the dilemmas' order is that of their sizes in all."""
    return np.split(np.concatenate(latent), np.cumsum([block.size for block in rows])[:-1])


def _spread(told: Told, peak: Peak, spread: Spread) -> Fitted:
    count = len(told.kept)
    beta, shared, own = np.split(peak.parameters, [count, count + len(spread)])
    return Fitted(told.kept, beta, spread, shared, own, peak.covariance, peak.loglik, peak.converged, peak.told)


def _unspread(kept: list[int], fit: JointFit) -> Fitted:
    nothing = np.zeros(0)
    return Fitted(kept, fit.coefficients, None, nothing, nothing, fit.covariance, fit.loglik, fit.converged, True)


def _approximately(rows: list[Block], spread: Spread, start: Array) -> tuple[JointFit, Array]:
    """A few steps of EM with a normal approximation of the dilemmas' effects, to start from: cheap, and not far off."""
    width = spread.generators.shape[1]
    factors = spread.factors(np.eye(width))
    fit = fit_jointly(rows, spread.loading(factors)[None], 0.0, start, precision=1.0)
    for _ in range(_EM_STEPS):
        old = spread.loading(factors)
        latent = np.concatenate(fit.latent)
        products = (latent.T @ latent + np.concatenate(fit.spread).sum(0)) / len(latent)
        factors = spread.factors(old @ products @ old.T)
        kept = [z @ np.linalg.solve(spread.loading(factors), old).T for z in fit.latent]
        fit = fit_jointly(rows, spread.loading(factors)[None], 0.0, fit.coefficients, latent=kept, precision=1.0)
    return fit, factors
