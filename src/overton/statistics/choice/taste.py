"""The likelihood with, besides the dilemmas' effects, each model's own taste for a dilemma integrated out.

A model that likes a verdict on a dilemma gives it again and again, in one deliberation after another: that looks like
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
from overton.statistics.choice.marginal import Sums, added_up
from overton.statistics.choice.modes import modes
from overton.statistics.choice.nodes import evaluate
from overton.statistics.choice.quadrature import Rule, normalised, placed, principal_roots
from overton.statistics.choice.spreads import Spread

__all__ = ["Spreads", "taste_likelihood", "taste_loadings"]

Array = NDArray[np.float64]


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

    def at(parameters: Array, latent: Start) -> Point:
        beta, shared, own = np.split(parameters, ends)
        roots = spreads.dilemma.loading(shared), spreads.taste.loading(own)

        def part(block: Block, near: Array) -> tuple[Sums, Array]:
            mode, hessian = modes(block, taste_loadings(*roots, block.models), beta, near)
            return _sums(block, spreads, (beta, shared, own), _Grid.around(mode, hessian, rules)), mode

        return added_up(parameters, each(part, blocks, latent))

    return at


@dataclass(frozen=True)
class _Grid:
    """Q points for each dilemma's latent effects, and at each of them S points for each model's.

    `outer` [B, J, Q], `inner` [B, M, J, Q, S], and the heights of both, [B, Q] and [B, M, Q, S].
    """

    outer: Array
    outer_heights: Array
    inner: Array
    inner_heights: Array

    @classmethod
    def around(cls, mode: Array, hessian: Array, rules: tuple[Rule, Rule]) -> _Grid:
        """Around the mode [B, J + M J] of all latent effects; a model's shifts with the dilemma's points."""
        width = len(rules[0][0])
        size, models = len(mode), mode.shape[1] // width - 1
        roots = principal_roots(np.linalg.inv(hessian)[:, :width, :width])
        outer, outer_heights = placed(mode[:, :width], roots, rules[0])
        curvature = hessian.reshape(size, 1 + models, width, 1 + models, width)
        each_model = np.arange(1, 1 + models)
        own = np.linalg.inv(curvature[:, each_model, :, each_model]).swapaxes(0, 1)  # given the dilemma's effect
        shift = own @ curvature[:, 1:, :, 0] @ (outer - mode[:, :width, None])[:, None]  # [B, M, J, Q]
        centre = (mode[:, width:].reshape(size, models, width, 1) - shift).swapaxes(2, 3)
        inner, inner_heights = placed(centre, principal_roots(own)[:, :, None], rules[1])
        return cls(outer, outer_heights, inner.swapaxes(2, 3), inner_heights)

    def effects(self, dilemma: Array, taste: Array) -> Array:
        """What is added to the coefficients in the basis, for loadings [J, J] of both: [B M, J, Q S]."""
        size, models, width, first, second = self.inner.shape
        tastes = (taste @ self.inner.reshape(size, models, width, -1)).reshape(self.inner.shape)
        return (tastes + (dilemma @ self.outer)[:, None, ..., None]).reshape(size * models, width, first * second)


def _sums(block: Block, spreads: Spreads, parameters: tuple[Array, Array, Array], grid: _Grid) -> Sums:
    beta, shared, own = parameters
    pairs = block.pairs
    effects = grid.effects(spreads.dilemma.loading(shared), spreads.taste.loading(own))
    nodes = evaluate(pairs, beta, np.eye(effects.shape[1])[None], effects)
    within, by_point = normalised(grid.inner_heights + nodes.loglik.reshape(grid.inner_heights.shape))
    between, loglik = normalised(grid.outer_heights + by_point.sum(1))
    mass = (within * between[:, None, :, None]).reshape(pairs.size, -1)

    # The slopes in coefficients and the tastes' factors vary within a point of the dilemma's effect, and between them.
    latent = grid.inner.reshape(*effects.shape)
    scores = np.concatenate([nodes.score(), spreads.taste.slopes(own, latent)], axis=1)
    means, inside = _within(scores, within.reshape(pairs.size, *within.shape[2:]), mass)
    means = means.reshape(block.size, block.models, *means.shape[1:]).sum(1)
    first, second = len(beta), len(beta) + len(shared)
    slopes = np.concatenate([means[:, :first], spreads.dilemma.slopes(shared, grid.outer), means[:, first:]], axis=1)
    mean = slopes @ between[..., None]

    information = -_products(slopes - mean, between)
    places = np.r_[:first, second : len(information)]
    information[np.ix_(places, places)] -= inside
    information[:first, :first] += nodes.information(mass)
    of_dilemmas, of_tastes = _products(grid.outer, between), _products(latent, mass)
    information[first:second, first:second] += spreads.dilemma.information(shared, of_dilemmas, block.size)
    information[second:, second:] += spreads.taste.information(own, of_tastes, pairs.size)
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
