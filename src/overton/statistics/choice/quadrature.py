"""Points and weights that integrate against the standard normal density, around a mode, and nested in one another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_genlaguerre

__all__ = [
    "Grid",
    "Rule",
    "around_means",
    "around_modes",
    "coarse",
    "fifth_degree",
    "fine",
    "finest",
    "gauss_hermite",
    "moments",
    "normalised",
    "placed",
    "principal_roots",
    "shells",
]

Array = NDArray[np.float64]
Rule = tuple[Array, Array]
"""Points [n, Q] and positive weights [Q] that sum to 1."""

_ROUGH = 0.02
"""The part of a rough covariance that is added to one found from few points, so that this is never degenerate."""


def gauss_hermite(dimensions: int, points: int) -> Rule:
    """The product rule with `points` in each dimension: exact to degree 2 `points` - 1 in every one."""
    roots, weights = np.polynomial.hermite_e.hermegauss(points)
    grid = np.array(list(product(range(points), repeat=dimensions)), np.int64).reshape(-1, dimensions)
    return roots[grid].T.copy(), np.prod((weights / weights.sum())[grid], axis=1)


def fifth_degree(dimensions: int) -> Rule:
    """A rule of degree 5 with positive weights.

    In up to four dimensions it is that of McNamee and Stenger (1967, Numer. Math. 10:327) with at most 2 n^2 + 1
    points; in four the weights of the points on the axes are zero, and its 25 points do what the product rule does
    with 81. Beyond, where it would have negative weights, it is the product of such rules.
    """
    if dimensions > 4:
        first, second = fifth_degree(4), fifth_degree(dimensions - 4)
        few, many = len(first[1]), len(second[1])
        points = np.concatenate([np.repeat(first[0], many, axis=1), np.tile(second[0], few)])
        return points, np.repeat(first[1], many) * np.tile(second[1], few)
    n = dimensions
    far = np.sqrt((n + 2) / 2)
    unit = np.eye(n)
    axes = [sign * np.sqrt(n + 2) * unit[i] for i in range(n) for sign in (1, -1)]
    corners = product(combinations(range(n), 2), product((1, -1), repeat=2))
    pairs = [far * (a * unit[i] + b * unit[j]) for (i, j), (a, b) in corners]
    points = np.array([np.zeros(n), *axes, *pairs]).T
    weights = [2 / (n + 2), *[(4 - n) / (2 * (n + 2) ** 2)] * len(axes), *[1 / (n + 2) ** 2] * len(pairs)]
    kept = np.array(weights) > 0
    return points[:, kept], np.array(weights)[kept]


def shells(*directions: Array) -> Rule:
    """Points in four dimensions on a sphere for each of `directions` [4, n], with positive weights.

    Exact for powers of the distance from the centre to 4 m - 2 with m spheres, and otherwise to the degree to which the
    directions are (spherical-radial rules: Monahan and Genz 1997, J. Am. Stat. Assoc. 92:664).
    """
    squares, weights = roots_genlaguerre(len(directions), 1)  # of half the squared distance: density x exp(-x)
    counts = [chosen.shape[1] for chosen in directions]
    points = [np.sqrt(2 * square) * chosen for square, chosen in zip(squares, directions, strict=True)]
    return np.concatenate(points, axis=1), np.repeat(weights / weights.sum() / counts, counts)


def _corners_24() -> tuple[Array, Array]:
    """Of the 24-cell and of its dual, [4, 24] both: exact to degree 5, and what they miss in degree 6 is opposite."""
    signs = np.array(list(product((1, -1), repeat=4))).T / 2
    pairs = fifth_degree(4)[0]
    return np.concatenate([np.eye(4), -np.eye(4), signs], axis=1), pairs[:, np.any(pairs != 0, axis=0)] / np.sqrt(6)


def _corners_600() -> Array:
    """Of the 600-cell, [4, 120]: exact to degree 11 (Delsarte, Goethals and Seidel 1977, Geom. Dedicata 6:363)."""
    golden = (1 + np.sqrt(5)) / 2
    even = [order for order in permutations(range(4)) if np.linalg.det(np.eye(4)[list(order)]) > 0]
    signs = product((1, -1), repeat=3)
    around = [np.array([a * golden, b, c / golden, 0]) / 2 for a, b, c in signs]
    return np.concatenate(
        [_corners_24()[0], np.array([one[list(order)] for one in around for order in even]).T], axis=1
    )


def coarse(dimensions: int) -> Rule:
    """Few points: enough to get near a maximum, and to find the means and covariances of latent effects."""
    return gauss_hermite(dimensions, 5) if dimensions < 3 else fifth_degree(dimensions)


def fine(dimensions: int) -> Rule:
    """Points for effects of one size in all directions, multiplied with others: 72 in four dimensions.

    They do then what a product rule does with five in each dimension, which are nine times as many.
    """
    cell, dual = _corners_24()
    return shells(dual, cell, dual) if dimensions == 4 else _product(dimensions)


def finest(dimensions: int) -> Rule:
    """Points for effects with any covariance, which differ in how much the decisions tell of them: 360 in four
    dimensions, where a product rule that does as well needs six in each, 1,296."""
    return shells(*[_corners_600()] * 3) if dimensions == 4 else _product(dimensions)


def _product(dimensions: int) -> Rule:
    """Beyond four dimensions, as many points as one can afford."""
    points = {1: 9, 2: 7, 3: 5}
    return gauss_hermite(dimensions, points[dimensions]) if dimensions in points else fifth_degree(dimensions)


def principal_roots(covariances: NDArray[np.floating[Any]]) -> Array:
    """Matrices R with R R' the covariances [..., n, n], along their principal axes.

    A rule that treats all axes and signs alike then gives the same whatever the order of the verdicts.
    """
    variances, axes = np.linalg.eigh(covariances)
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0.0))[..., None, :])


def placed(modes: Array, roots: Array, rule: Rule) -> tuple[Array, Array]:
    """The rule's points around modes [..., n], stretched by roots [..., n, n] of covariances: [..., n, Q].

    And the log of what each point's function value counts for [..., Q], with the points' own density, that of standard
    normal latent effects: the sum of exp(heights + log f) is the integral of f against that density.
    """
    points, weights = rule
    latent = modes[..., None] + roots @ points
    volume = np.linalg.slogdet(roots)[1]
    return latent, volume[..., None] + np.log(weights) + ((points**2).sum(0) - (latent**2).sum(-2)) / 2


def moments(latent: Array, probabilities: Array, rough: Array) -> tuple[Array, Array]:
    """Means [B, n] and covariances [B, n, n] of points [B, n, Q], which were placed with covariances `rough`."""
    mean = (latent @ probabilities[..., None])[..., 0]
    away = latent - mean[..., None]
    return mean, (away * probabilities[:, None]) @ away.swapaxes(1, 2) + _ROUGH * rough


def normalised(heights: Array) -> tuple[Array, Array]:
    """exp(heights) divided by its sum over the last axis, and the log of that sum."""
    peak = heights.max(-1, keepdims=True)
    mass = np.exp(heights - peak)
    total = mass.sum(-1, keepdims=True)
    return mass / total, (np.log(total) + peak)[..., 0]


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
    return Placement(mean, covariance, own, along, spread + _ROUGH * rough.spread).grid(rules)
