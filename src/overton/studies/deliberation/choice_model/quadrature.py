"""Points and weights that integrate against the standard normal density, and where to put them."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_genlaguerre

from overton.statistics.arrays import Floats

Rule = tuple[Floats, Floats]
"""Points [n, Q] and positive weights [Q] that sum to 1."""

_ROUGH = 0.02
"""The part of a rough covariance that is added to one from few points, so that the sum is never degenerate."""


def gauss_hermite(dimensions: int, points: int) -> Rule:
    """The product rule with `points` in each dimension: exact to degree 2 `points` - 1 in every one."""
    roots, weights = np.polynomial.hermite_e.hermegauss(points)
    grid = np.array(list(product(range(points), repeat=dimensions)), np.int64).reshape(-1, dimensions)
    return roots[grid].T.copy(), np.prod((weights / weights.sum())[grid], axis=1)


def fifth_degree(dimensions: int) -> Rule:
    """A rule of degree 5 with positive weights.

    In up to four dimensions it is that of McNamee and Stenger (1967, Numer. Math. 10:327) with at most 2 n^2 + 1
    points; in four the weights of the points on the axes are zero, and its 25 points are as good as the product rule's
    81. Beyond, where it would have negative weights, it is the product of such rules.
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


def shells(*directions: Floats) -> Rule:
    """Points in four dimensions on a sphere for each of `directions` [4, n], with positive weights.

    Exact for powers of the distance from the centre to 4 m - 2 with m spheres, and otherwise to the degree to which the
    directions are (spherical-radial rules: Monahan and Genz 1997, J. Am. Stat. Assoc. 92:664).
    """
    squares, weights = roots_genlaguerre(len(directions), 1)  # of half the squared distance: density x exp(-x)
    counts = [chosen.shape[1] for chosen in directions]
    points = [np.sqrt(2 * square) * chosen for square, chosen in zip(squares, directions, strict=True)]
    return np.concatenate(points, axis=1), np.repeat(weights / weights.sum() / counts, counts)


def _corners_24() -> tuple[Floats, Floats]:
    """Of the 24-cell and of its dual, [4, 24] both: exact to degree 5, with opposite errors in degree 6."""
    signs = np.array(list(product((1, -1), repeat=4))).T / 2
    pairs = fifth_degree(4)[0]
    return np.concatenate([np.eye(4), -np.eye(4), signs], axis=1), pairs[:, np.any(pairs != 0, axis=0)] / np.sqrt(6)


def _corners_600() -> Floats:
    """Of the 600-cell, [4, 120]: exact to degree 11 (Delsarte, Goethals and Seidel 1977, Geom. Dedicata 6:363)."""
    golden = (1 + np.sqrt(5)) / 2
    even = [order for order in permutations(range(4)) if np.linalg.det(np.eye(4)[list(order)]) > 0]
    signs = product((1, -1), repeat=3)
    around = [np.array([a * golden, b, c / golden, 0]) / 2 for a, b, c in signs]
    return np.concatenate(
        [_corners_24()[0], np.array([point[list(order)] for point in around for order in even]).T], axis=1
    )


def coarse(dimensions: int) -> Rule:
    """Few points: enough to get near a maximum, and to find the means and covariances of latent effects."""
    return gauss_hermite(dimensions, 5) if dimensions < 3 else fifth_degree(dimensions)


def fine(dimensions: int) -> Rule:
    """Points to get near a maximum with tastes, and for effects of one size in all directions: 72 in four dimensions.

    For such effects they are as good as a product rule with five in each dimension, which has nine times as many.
    """
    cell, dual = _corners_24()
    return shells(dual, cell, dual) if dimensions == 4 else _product(dimensions, {1: 9, 2: 7, 3: 5})


def finest(dimensions: int) -> Rule:
    """Points for effects with any covariance, which differ in how much the decisions say about them: 408 in four
    dimensions.

    With strong tastes the density of a model's effect has a long tail, so that what counts is how far from the centre
    a rule is exact: here to degree 18. With three spheres, and degree 10, standard errors of inertia were 2% too small
    for tastes of spread 1.7. The innermost sphere is small and the outermost has next to no weight; 24 directions do
    for them.
    """
    cell, dual = _corners_24()
    return shells(dual, *[_corners_600()] * 3, cell) if dimensions == 4 else _product(dimensions, {1: 9, 2: 9, 3: 7})


def _product(dimensions: int, points: dict[int, int]) -> Rule:
    """With so many points in each dimension; beyond four dimensions, as many as are affordable."""
    return gauss_hermite(dimensions, points[dimensions]) if dimensions in points else fifth_degree(dimensions)


def principal_roots(covariances: NDArray[np.floating[Any]]) -> Floats:
    """Matrices R with R R' the covariances [..., n, n], along their principal axes.

    A rule that treats all axes and signs alike then gives the same whatever the order of the verdicts.
    """
    variances, axes = np.linalg.eigh(covariances)
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0.0))[..., None, :])


def placed(modes: Floats, roots: Floats, rule: Rule) -> tuple[Floats, Floats]:
    """The rule's points around modes [..., n], stretched by roots [..., n, n] of covariances: [..., n, Q].

    Also returns the log of the weight of each point's function value [..., Q], with the points' own density, that of
    standard normal latent effects: the sum of exp(heights + log f) is the integral of f against that density.
    """
    points, weights = rule
    latent = modes[..., None] + roots @ points
    volume = np.linalg.slogdet(roots)[1]
    return latent, volume[..., None] + np.log(weights) + ((points**2).sum(0) - (latent**2).sum(-2)) / 2


def moments(latent: Floats, probabilities: Floats, rough: Floats) -> tuple[Floats, Floats]:
    """Means [B, n] and covariances [B, n, n] of points [B, n, Q], which were placed with covariances `rough`."""
    mean = (latent @ probabilities[..., None])[..., 0]
    away = latent - mean[..., None]
    return mean, (away * probabilities[:, None]) @ away.swapaxes(1, 2) + _ROUGH * rough


def normalised(heights: Floats) -> tuple[Floats, Floats]:
    """exp(heights) divided by its sum over the last axis, and the log of that sum."""
    peak = heights.max(-1, keepdims=True)
    mass = np.exp(heights - peak)
    total = mass.sum(-1, keepdims=True)
    return mass / total, (np.log(total) + peak)[..., 0]
