"""The estimators: of coefficients, of spreads, and of how far both may be off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.as_published import fit_as_published
from overton.statistics.choice.climbing import Peak, Start, Until, climb
from overton.statistics.choice.decisions import Decisions
from overton.statistics.choice.design import Block, Conformity, Design, Situations, blocks, design
from overton.statistics.choice.effects import Spread, any_covariance, one_size
from overton.statistics.choice.identification import Estimable, fit_patterns
from overton.statistics.choice.likelihood import JointFit, fit_jointly
from overton.statistics.choice.marginal import marginal_likelihood
from overton.statistics.choice.quadrature import coarse, fine, finest
from overton.statistics.choice.tastes import Spreads, taste_likelihood

__all__ = [
    "Fitted",
    "fit_alike",
    "fit_penalised",
    "fit_published",
    "fit_random",
    "fit_taste",
    "fit_taste_by_model",
    "gain_by_model",
    "gain_by_tastes",
]

Array = NDArray[np.float64]

_CELLS = 400_000
"""Rows times points of a block, at most: its largest arrays then take a few megabytes, and stay in a core's cache."""

_ROWS = 2_000
"""Rows of a block, at most."""

_FEW = 30
"""Dilemmas. Fewer do not determine a covariance of effects; one size for all verdicts is estimated instead."""

_FEW_DECISIONS = 750
"""The same for decisions where each model's tastes have a size of their own. With fewer, a covariance takes up tastes,
and intervals of inertia cover too rarely; one size serves even where the verdicts' true sizes are 0.3 to 1.6."""

_EM_STEPS = 3

_NEARLY, _ROUGHLY, _FAIRLY, _CLOSELY = Until(1.0, steps=10), Until(0.1, steps=10), Until(0.03), Until(0.01)
"""Steps with few points need not converge fully, least of all where steps with many, and the same sites, follow; with
tastes, where every step is expensive, little is left to gain."""

_TASTE, _LEAST_TASTE = 0.5, 0.1
"""Logits, to start from; and at least, since a size near zero is left by small steps only."""

_SOME = 150
"""Dilemmas on which tastes' spread is first searched, if there are at least four times as many."""


@dataclass(frozen=True)
class Fitted:
    """`coefficients` of the columns `kept` [P], `dilemma` and `taste` factors, and the `covariance` of all, in order.

    `spread` says what the dilemmas' factors mean; it is None, and there are none, if effects are not random. `level`
    are the directions that are hardly determined, see `Peak`. `refits` [R, P] are the coefficients of refits, if
    intervals rest on these, and `sites` where expectation propagation ended, if there are tastes.
    """

    kept: list[int]
    coefficients: Array
    spread: Spread | None
    dilemma: Array
    taste: Array
    covariance: Array
    loglik: float
    converged: bool
    level: Array
    refits: Array | None = None
    sites: Start | None = None


def fit_penalised(situations: Situations, models: int, conformity: Conformity, penalty: float) -> tuple[Design, Fitted]:
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


def fit_published(
    decisions: Decisions, situations: Situations, conformity: Conformity, refits: int
) -> tuple[Design, Fitted]:
    """The published estimator as its authors ran it, and the scatter of its refits."""
    made = design(situations, np.ones((len(decisions.models), len(decisions.verdicts)), bool), conformity)
    found = fit_as_published(decisions, made, conformity, refits)
    count = len(found.coefficients)
    scatter = np.cov(found.refits, rowvar=False) if refits > 1 else np.full((count, count), np.nan)
    fit = JointFit(found.coefficients, scatter, [], [], found.loglik, converged=True)
    return made, replace(_unspread(list(range(count)), fit), refits=found.refits)


def fit_alike(estimable: Estimable) -> Fitted:
    """Maximum likelihood with all dilemmas alike: all that is left if nothing shows how they differ."""
    return _unspread(estimable.kept, estimable.start)


def fit_random(estimable: Estimable) -> Fitted:
    """Marginal maximum likelihood with normal effects of dilemmas, their covariance estimated."""
    width, count = estimable.design.basis.shape[1], len(estimable.kept)
    spread = _spread_of(estimable)
    fit, factors = _approximately(_rows(estimable, 1), spread, estimable.start.coefficients)
    sizes = np.concatenate([np.zeros(count, bool), spread.sizes])
    parameters, latent = np.concatenate([fit.coefficients, factors]), fit.latent
    for rule, until in ((coarse(width), _ROUGHLY), (finest(width), _CLOSELY)):
        rows = _rows(estimable, len(rule[1]))
        at = marginal_likelihood(rows, spread, rule, count)
        peak = climb(at, parameters, _laid_out(latent, rows), sizes, until)
        parameters, latent = peak.parameters, peak.latent
    return _spread(estimable, peak, spread)


def fit_taste(estimable: Estimable, models: int) -> Fitted:
    """The same with normal effects of each model in each dilemma besides, of one size."""
    return _fit_tastes(estimable, models, np.array([_TASTE]), _spread_of(estimable))


def fit_taste_by_model(estimable: Estimable, models: int) -> Fitted:
    """The same with a size for each model; none for a model without decisions."""
    tastes = np.where(estimable.used.any(1), _TASTE, 0.0)
    return _fit_tastes(estimable, models, tastes, _spread_of(estimable, _FEW_DECISIONS))


def gain_by_tastes(estimable: Estimable, models: int, plain: Fitted) -> float:
    """Twice the gain in log-likelihood by tastes, over the `plain` fit without them.

    Both log-likelihoods are taken as with tastes, so that what this approximation is off by cancels.
    """
    assert plain.spread is not None
    width, count = estimable.design.basis.shape[1], len(estimable.kept)
    rows = _rows(estimable, 1, models=models)
    at = taste_likelihood(rows, Spreads(plain.spread, one_size(width), 1), finest(width), count)
    without = at(np.concatenate([plain.coefficients, plain.dilemma, [0.0]]), _nowhere(rows, 0)).loglik
    return max(2 * (fit_taste(estimable, models).loglik - without), 0.0)


def gain_by_model(estimable: Estimable, models: int, fitted: Fitted) -> float:
    """Twice the gain in log-likelihood by a size of tastes for each model, over one for all.

    `fitted` is the fit with either; the search for the other, with effects of dilemmas of the same kind, starts nearby.
    """
    assert fitted.spread is not None
    alike = len(fitted.taste) == 1
    deciding = estimable.used.any(1)
    common = float(np.sqrt(np.mean((fitted.taste if alike else fitted.taste[deciding]) ** 2)))  # whatever their signs
    tastes = np.where(deciding, common, 0.0) if alike else np.array([common])
    near = fitted if alike else _with_tastes(fitted, common)
    other = _fit_tastes(estimable, models, tastes, fitted.spread, near)
    return max(2 * (other.loglik - fitted.loglik) * (1 if alike else -1), 0.0)


def _fit_tastes(estimable: Estimable, models: int, tastes: Array, spread: Spread, near: Fitted | None = None) -> Fitted:
    """Starting from these sizes, of all models [1] or of each [M], and in all else from a fit that is `near`, with its
    sites of expectation propagation."""
    width, count = estimable.design.basis.shape[1], len(estimable.kept)
    spreads = Spreads(spread, one_size(width), len(tastes))
    sizes = np.concatenate([np.zeros(count, bool), spread.sizes, np.ones(len(tastes), bool)])
    stages = [(estimable, [(fine(width), _NEARLY), (finest(width), _FAIRLY)])]
    if near is None and (step := estimable.situations.dilemmas // _SOME) > 3:
        some = replace(estimable, situations=estimable.situations.every(step))
        stages.insert(0, (some, [(fine(width), _ROUGHLY)]))
    if near is None:
        first, factors = _approximately(_rows(stages[0][0], 1), spread, estimable.start.coefficients)
        parameters = np.concatenate([first.coefficients, factors, tastes])
    else:
        parameters = np.concatenate([near.coefficients, near.dilemma, tastes])
    for part, climbs in stages:
        rows = _rows(part, 1, models=models)
        own = parameters[-len(tastes) :]
        parameters[-len(tastes) :] = np.where(tastes > 0, np.maximum(np.abs(own), _LEAST_TASTE), 0.0)
        latent = near.sites if near is not None and near.sites is not None else _nowhere(rows, 0)
        for rule, until in climbs:
            peak = climb(taste_likelihood(rows, spreads, rule, count), parameters, latent, sizes, until)
            parameters, latent = peak.parameters, peak.latent
    return replace(_spread(estimable, peak, spread), sites=peak.latent)


def _with_tastes(fitted: Fitted, size: float) -> Fitted:
    """A fit with tastes of this size in all models, and its other parameters where its curvature then has them."""
    if fitted.level.size:
        return fitted
    others = np.concatenate([fitted.coefficients, fitted.dilemma])
    first = len(others)
    across, own = fitted.covariance[:first, first:], fitted.covariance[first:, first:]
    moved = np.copysign(size, fitted.taste) - fitted.taste
    others = others + across @ np.linalg.pinv(own, hermitian=True) @ moved
    coefficients, dilemma = np.split(others, [len(fitted.coefficients)])
    return replace(fitted, coefficients=coefficients, dilemma=dilemma)


def _spread_of(estimable: Estimable, decisions: int = 0) -> Spread:
    """How the dilemmas' effects may be spread, as far as so many determine it; any way takes so many `decisions`."""
    width, situations = estimable.design.basis.shape[1], estimable.situations
    many = situations.dilemmas >= _FEW and situations.counts.sum() >= decisions
    return any_covariance(width) if many else one_size(width)


def _rows(estimable: Estimable, nodes: int, *, models: int = 1) -> list[Block]:
    features = estimable.design.take(estimable.kept)
    size = min(max(_CELLS // nodes, 1), _ROWS)
    return blocks(estimable.situations, features, estimable.design.basis, size, models=models)


def _nowhere(rows: list[Block], latent: int) -> Start:
    """Latent effects of zero."""
    return [np.zeros((block.size, latent)) for block in rows]


def _laid_out(latent: Start, rows: list[Block]) -> Start:
    """Latent effects of one layout for another: in both, dilemmas are ordered by their total sizes."""
    return np.split(np.concatenate(latent), np.cumsum([block.size for block in rows])[:-1])


def _spread(estimable: Estimable, peak: Peak, spread: Spread) -> Fitted:
    count = len(estimable.kept)
    beta, shared, own = np.split(peak.parameters, [count, count + len(spread)])
    return Fitted(estimable.kept, beta, spread, shared, own, peak.covariance, peak.loglik, peak.converged, peak.level)


def _unspread(kept: list[int], fit: JointFit) -> Fitted:
    nothing = np.zeros(0)
    return Fitted(
        kept,
        fit.coefficients,
        None,
        nothing,
        nothing,
        fit.covariance,
        fit.loglik,
        fit.converged,
        np.zeros((len(fit.coefficients), 0)),
    )


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
