"""Nested points: for each dilemma's latent effects, and at each of them for every model's.

The points lie around the means of the latent effects given the decisions, and are stretched by their covariances there
(Naylor and Smith 1982, Appl. Stat. 31:214; Rabe-Hesketh, Skrondal and Pickles 2005, J. Econom. 128:301). Modes and
curvatures, which give a first set of points to find means and covariances with, place them worse where a verdict was
hardly ever given: the density there falls off much slower on one side than on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.quadrature import ROUGH, Rule, moments, normalised, placed, principal_roots

__all__ = ["Grid", "around_means", "around_modes"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Placement:
    """Where to put points: `mean` [B, J] and `covariance` of the dilemmas' latent effects, and of the models' given the
    dilemma's: `own` [B, M, J] + `along` [B, M, J, J] times how far the dilemma's are from their mean, `spread`."""

    mean: Array
    covariance: Array
    own: Array
    along: Array
    spread: Array

    def grid(self, rules: tuple[Rule, Rule]) -> Grid:
        outer, outer_heights = placed(self.mean, principal_roots(self.covariance), rules[0])
        centre = self.own[..., None] + self.along @ (outer - self.mean[..., None])[:, None]  # [B, M, J, Q]
        roots = principal_roots(self.spread)[:, :, None]
        inner, inner_heights = placed(centre.swapaxes(2, 3), roots, rules[1])
        return Grid(self, outer, outer_heights, inner.swapaxes(2, 3), inner_heights)


@dataclass(frozen=True)
class Grid:
    """Q points for the latent effects of each of B dilemmas, and at each of them S points for those of M models.

    `placement` is where they were put; `outer` [B, J, Q], `inner` [B, M, J, Q, S], and the heights of both, [B, Q] and
    [B, M, Q, S].
    """

    placement: Placement
    outer: Array
    outer_heights: Array
    inner: Array
    inner_heights: Array

    def effects(self, dilemma: Array, taste: Array) -> Array:
        """What is added to the coefficients in the basis, for loadings [J, J] of both: [B, M, J, Q S]."""
        size, models, width, first, second = self.inner.shape
        tastes = (taste @ self.inner.reshape(size, models, width, -1)).reshape(self.inner.shape)
        return (tastes + (dilemma @ self.outer)[:, None, ..., None]).reshape(size, models, width, first * second)

    def tastes(self, model: int) -> Array:
        """A model's points, [B, J, Q S]."""
        return self.inner[:, model].reshape(*self.outer.shape[:2], -1)

    def masses(self, logliks: Array) -> tuple[Array, Array, Array]:
        """Given log-likelihoods [B, M, Q S] at the points: probabilities of the dilemmas' points [B, Q], of the models'
        given those [B, M, Q, S], and the log of the integral [B]."""
        within, by_point = normalised(self.inner_heights + logliks.reshape(self.inner_heights.shape))
        between, loglik = normalised(self.outer_heights + by_point.sum(1))
        return between, within, loglik


def around_modes(mode: Array, hessian: Array, rules: tuple[Rule, Rule]) -> Grid:
    """Around the mode [B, J + M J] of all latent effects, where the curvature is `hessian`."""
    width = len(rules[0][0])
    size, models = len(mode), mode.shape[1] // width - 1
    curvature = hessian.reshape(size, 1 + models, width, 1 + models, width)
    each_model = np.arange(1, 1 + models)
    spread = np.linalg.inv(curvature[:, each_model, :, each_model]).swapaxes(0, 1)
    placement = Placement(
        mean=mode[:, :width],
        covariance=np.asarray(np.linalg.inv(hessian)[:, :width, :width], np.float64),
        own=mode[:, width:].reshape(size, models, width),
        along=-spread @ curvature[:, 1:, :, 0],
        spread=np.asarray(spread, np.float64),
    )
    return placement.grid(rules)


def around_means(grid: Grid, between: Array, within: Array, rules: tuple[Rule, Rule]) -> Grid:
    """Around the means, from a first grid with the probabilities of its points."""
    rough = grid.placement
    mean, covariance = moments(grid.outer, between, rough.covariance)
    away = grid.outer - mean[..., None]  # [B, J, Q]
    by_point = (grid.inner * within[:, :, None]).sum(-1)  # [B, M, J, Q]
    own = (by_point * between[:, None, None]).sum(-1)
    shared = (away * between[:, None])[:, None].swapaxes(2, 3)  # [B, 1, Q, J]
    along = (by_point - own[..., None]) @ shared @ np.linalg.inv(covariance)[:, None]
    centre = own[..., None] + along @ away[:, None]
    left = (grid.inner - centre[..., None]).reshape(*own.shape, -1)
    masses = (within * between[:, None, :, None]).reshape(*own.shape[:2], 1, -1)
    spread = (left * masses) @ left.swapaxes(2, 3)
    return Placement(mean, covariance, own, along, spread + ROUGH * rough.spread).grid(rules)
