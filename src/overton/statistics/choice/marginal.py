"""The likelihood with the dilemmas' effects integrated out, and with each model's own taste for a dilemma, too.

Each dilemma's integral is taken at points placed around the mean of its latent effects given the decisions and
stretched by their covariance (Naylor and Smith 1982, Appl. Stat. 31:214), which a few points around the mode give
first. Slope and curvature of the log of the integral are posterior means and covariances of those of the likelihood
given the effects (Louis 1982, J. R. Stat. Soc. B 44:226). The curvature at the maximum is the observed information,
that of the spreads included, from which the standard errors follow.

That discussions stop when all agree needs no correction: whether a round takes place depends on verdicts that are in
the likelihood already, which is a product over decisions, each given everything said before. How many decisions there
are tells nothing more about the parameters.

A model that likes a verdict on a dilemma gives it again and again, in one discussion after another: that looks like
inertia, which is holding on to what one has just said. Given the dilemma's effect, the models' tastes are independent,
so that the integral over all of them is nested: points for the dilemma's effect, and at each of them points for every
model's taste. Slope and curvature follow in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.climbing import Point, Start
from overton.statistics.choice.design import Block
from overton.statistics.choice.likelihood import Nodes, each, evaluate, modes
from overton.statistics.choice.quadrature import (
    Grid,
    Rule,
    around_means,
    around_modes,
    coarse,
    moments,
    normalised,
    placed,
    principal_roots,
)

__all__ = ["Spread", "Spreads", "any_covariance", "marginal_likelihood", "one_size", "taste_likelihood"]

Array = NDArray[np.float64]

_FLOOR = 1e-3
"""Logits. Narrower spreads are not told from none, and would make the density of the effects degenerate."""


@dataclass(frozen=True)
class Spread:
    """Effects L z of J numbers, z standard normal; L is the sum over a of factors[a] * `generators`[a] [J, J].

    Factors rather than variances, so that a spread of zero is an ordinary point on the way from one sign to the other.
    """

    generators: Array

    def __len__(self) -> int:
        return len(self.generators)

    def loading(self, factors: Array) -> Array:
        """L, kept from being singular."""
        made = np.tensordot(factors, self.generators, axes=1)
        size = np.diagonal(made)
        lifted = np.where(np.abs(size) < _FLOOR, np.where(size < 0, -_FLOOR, _FLOOR), size)
        return np.asarray(made + np.diag(lifted - size))

    @property
    def sizes(self) -> NDArray[np.bool_]:
        """Which factors are on the diagonal of L."""
        return np.asarray(np.einsum("aii->a", np.abs(self.generators)) > 0)

    def factors(self, covariance: Array) -> Array:
        """The factors whose L L' is nearest to a covariance [J, J]."""
        root = np.linalg.cholesky(covariance + _FLOOR**2 * np.eye(len(covariance)))
        overlap = np.tensordot(self.generators, root, axes=2)
        return np.asarray(overlap / np.sum(self.generators**2, axis=(1, 2)))

    def slopes(self, factors: Array, latent: Array) -> Array:
        """Slopes of the log density of the effects in the factors, at `latent` z [B, J, Q]: [B, A, Q].

        The effects u = L z are held: with W = L^-1 E, the slope along a generator E is z' W z - trace W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        products = np.einsum("bjq,bkq->bjkq", latent, latent).reshape(len(latent), -1, latent.shape[2])
        traces = np.trace(whitened, axis1=1, axis2=2)
        return np.asarray(whitened.reshape(len(whitened), -1) @ products - traces[:, None])

    def information(self, factors: Array, products: Array, count: int) -> Array:
        """(Minus) the curvature of the log density of `count` effects in the factors, [A, A].

        `products` [J, J] sums z z' over them. Along E and F, with V = L^-1 F, each adds
        z' (V' W + V W + W V) z - trace V W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        after = np.einsum("bij,ajk->abik", whitened, whitened)
        both = np.einsum("bji,ajk->abik", whitened, whitened) + after + after.swapaxes(0, 1)
        return np.asarray(np.einsum("abik,ik->ab", both, products) - count * np.trace(after, axis1=2, axis2=3))


def any_covariance(width: int) -> Spread:
    """Any covariance: the factors are the entries of its lower triangular root."""
    rows, columns = np.tril_indices(width)
    generators = np.zeros((len(rows), width, width))
    generators[np.arange(len(rows)), rows, columns] = 1
    return Spread(generators)


def one_size(width: int) -> Spread:
    """The same spread in every direction, and no correlation: one factor, the standard deviation."""
    return Spread(np.eye(width)[None])


_Sums = tuple[float, Array, Array]
"""Log-likelihood, slope and (minus) curvature of some dilemmas."""


def marginal_likelihood(
    blocks: Sequence[Block], spread: Spread, rule: Rule, coefficients: int
) -> Callable[[Array, Start], Point]:
    """The function of `coefficients` coefficients and the spread's factors, in this order, that `climb` climbs."""
    rough = coarse(len(rule[0]))

    def at(parameters: Array, latent: Start) -> Point:
        beta, factors = parameters[:coefficients], parameters[coefficients:]
        loadings = spread.loading(factors)[None]

        def part(block: Block, near: Array) -> tuple[_Sums, Array]:
            mode, hessian = modes(block, loadings, beta, near)
            covariance = np.asarray(np.linalg.inv(hessian), np.float64)
            points, heights = placed(mode, principal_roots(covariance), rough)
            posterior, _ = normalised(heights + evaluate(block, beta, loadings, points).loglik)
            mean, covariance = moments(points, posterior, covariance)
            placement = placed(mean, principal_roots(covariance), rule)
            return _sums(block, spread, (beta, factors), *placement), mode

        return _added_up(parameters, each(part, blocks, latent))

    return at


def _added_up(parameters: Array, parts: Sequence[tuple[_Sums, Array]]) -> Point:
    """All dilemmas' sums, from the blocks' sums and modes."""
    return Point(
        parameters=parameters,
        loglik=sum(sums[0] for sums, _ in parts),
        slope=np.sum([sums[1] for sums, _ in parts], axis=0),
        information=np.sum([sums[2] for sums, _ in parts], axis=0),
        latent=[mode for _, mode in parts],
    )


def _sums(block: Block, spread: Spread, parameters: tuple[Array, Array], latent: Array, heights: Array) -> _Sums:
    beta, factors = parameters
    nodes = evaluate(block, beta, spread.loading(factors)[None], latent)
    posterior, loglik = normalised(heights + nodes.loglik)
    scores = np.concatenate([nodes.score(), spread.slopes(factors, latent)], axis=1)  # [B, P + A, Q]
    mean = scores @ posterior[..., None]
    centred = scores - mean
    missing = ((centred * posterior[:, None]) @ centred.swapaxes(1, 2)).sum(0)
    products = ((latent * posterior[:, None]) @ latent.swapaxes(1, 2)).sum(0)
    complete = np.zeros_like(missing)
    complete[: len(beta), : len(beta)] = nodes.information(posterior)
    complete[len(beta) :, len(beta) :] = spread.information(factors, products, block.size)
    return float(loglik.sum()), mean.sum((0, 2)), complete - missing


Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Spreads:
    """Of the dilemmas' effects, and of the models' tastes."""

    dilemma: Spread
    taste: Spread


def _taste_loadings(dilemma: Array, taste: Array, models: int) -> Array:
    """Loadings [models, J, J + models J]: all models meet the dilemma's latent effects, and each of them its own."""
    width = len(dilemma)
    loadings = np.zeros((models, width, width * (1 + models)))
    loadings[:, :, :width] = dilemma
    for model in range(models):
        start = width * (1 + model)
        loadings[model, :, start : start + width] = taste
    return loadings


def taste_likelihood(
    blocks: Sequence[Block], spreads: Spreads, rules: tuple[Rule, Rule], coefficients: int
) -> Callable[[Array, Start], Point]:
    """The function of coefficients, the dilemmas' factors and the tastes' that `climb` climbs.

    `rules` are those for the dilemma's effect and, at each of its points, for a model's taste. The blocks' rows are
    ordered by model, as `blocks(..., models=...)` makes them.
    """
    ends = [coefficients, coefficients + len(spreads.dilemma)]
    width = len(rules[0][0])
    rough = coarse(width), coarse(width)
    by_model = {id(block): block.groups() for block in blocks}

    def at(parameters: Array, latent: Start) -> Point:
        beta, shared, own = np.split(parameters, ends)
        roots = spreads.dilemma.loading(shared), spreads.taste.loading(own)

        def part(block: Block, near: Array) -> tuple[_Sums, Array]:
            mode, hessian = modes(block, _taste_loadings(*roots, block.models), beta, near)
            groups = by_model[id(block)]
            first = around_modes(mode, hessian, rough)
            grid = around_means(first, *first.masses(_logliks(_nodes(groups, beta, roots, first)))[:2], rules)
            return _nested_sums(groups, spreads, (beta, shared, own), grid), mode

        return _added_up(parameters, each(part, blocks, latent))

    return at


Group = tuple[Block, Indices]
"""One model's rows in some dilemmas, and which columns of the design count in them."""


def _nodes(groups: Sequence[Group], beta: Array, roots: tuple[Array, Array], grid: Grid) -> list[Nodes]:
    """The likelihood of each model's decisions at the points for its taste, at all points for the dilemma's effect."""
    identity = np.eye(len(roots[0]))[None]
    effects = grid.effects(*roots)
    return [evaluate(block, beta[own], identity, effects[:, m]) for m, (block, own) in enumerate(groups)]


def _logliks(nodes: Sequence[Nodes]) -> Array:
    """[B, M, Q S]."""
    return np.stack([one.loglik for one in nodes], axis=1)


def _nested_sums(
    groups: Sequence[Group], spreads: Spreads, parameters: tuple[Array, Array, Array], grid: Grid
) -> _Sums:
    beta, shared, own = parameters
    nodes = _nodes(groups, beta, (spreads.dilemma.loading(shared), spreads.taste.loading(own)), grid)
    between, within, loglik = grid.masses(_logliks(nodes))
    first, second, total = len(beta), len(beta) + len(shared), len(beta) + len(shared) + len(own)
    slopes = np.zeros((len(between), total, between.shape[1]))
    slopes[:, first:second] = spreads.dilemma.slopes(shared, grid.outer)
    information = np.zeros((total, total))
    information[first:second, first:second] = spreads.dilemma.information(
        shared, _products(grid.outer, between), len(between)
    )
    for model, (found, (_, columns)) in enumerate(zip(nodes, groups, strict=True)):
        # The slopes in coefficients and the tastes' factors vary within a point of the dilemma's effect, and between.
        latent = grid.tastes(model)
        mass = (within[:, model] * between[..., None]).reshape(len(between), -1)
        scores = np.concatenate([found.score(), spreads.taste.slopes(own, latent)], axis=1)
        means, inside = _within(scores, within[:, model], mass)
        places = np.concatenate([columns, np.arange(second, total)])
        slopes[:, places] += means
        information[np.ix_(places, places)] -= inside
        information[np.ix_(columns, columns)] += found.information(mass)
        information[second:, second:] += spreads.taste.information(own, _products(latent, mass), len(between))
    mean = slopes @ between[..., None]
    information -= _products(slopes - mean, between)
    return float(loglik.sum()), mean.sum((0, 2)), information


def _within(scores: Array, within: Array, mass: Array) -> tuple[Array, Array]:
    """Means of `scores` [B, A, Q S] at each of Q points [B, A, Q], and the sum [A, A] of their variances there."""
    by_point = scores.reshape(*scores.shape[:2], *within.shape[1:])  # [B, A, Q, S]
    means = (by_point.swapaxes(1, 2) @ within[..., None])[..., 0].swapaxes(1, 2)
    centred = (by_point - means[..., None]).reshape(scores.shape)
    return means, _products(centred, mass)


def _products(values: Array, weights: Array) -> Array:
    """Weighted sum of products of `values` [B, A, Q] with weights [B, Q]: [A, A]."""
    return np.asarray(((values * weights[:, None]) @ values.swapaxes(1, 2)).sum(0))
