"""The likelihood with, besides the dilemmas' effects, each model's own taste for a dilemma integrated out.

A model that likes a verdict on a dilemma gives it again and again, in one discussion after another: that looks like
inertia, which is holding on to what one has just said. Given the dilemma's effect, the models' tastes are independent,
so that the integral over all of them is nested: points for the dilemma's effect, and at each of them points for every
model's taste. Slope and curvature follow as in `overton.statistics.choice.marginal`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.blocks import Block
from overton.statistics.choice.climbing import Point, Start
from overton.statistics.choice.cores import each
from overton.statistics.choice.grids import Grid, around_means, around_modes
from overton.statistics.choice.marginal import Sums, added_up
from overton.statistics.choice.modes import modes
from overton.statistics.choice.nodes import Nodes, evaluate
from overton.statistics.choice.quadrature import Rule, coarse
from overton.statistics.choice.spreads import Spread

__all__ = ["Spreads", "taste_likelihood", "taste_loadings"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Spreads:
    """Of the dilemmas' effects, and of the models' tastes."""

    dilemma: Spread
    taste: Spread


def taste_loadings(dilemma: Array, taste: Array, models: int) -> Array:
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

        def part(block: Block, near: Array) -> tuple[Sums, Array]:
            mode, hessian = modes(block, taste_loadings(*roots, block.models), beta, near)
            groups = by_model[id(block)]
            first = around_modes(mode, hessian, rough)
            grid = around_means(first, *first.masses(_logliks(_nodes(groups, beta, roots, first)))[:2], rules)
            return _sums(groups, spreads, (beta, shared, own), grid), mode

        return added_up(parameters, each(part, blocks, latent))

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


def _sums(groups: Sequence[Group], spreads: Spreads, parameters: tuple[Array, Array, Array], grid: Grid) -> Sums:
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
