"""Points and weights for integrals against the standard normal density, and their placement."""

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
"""The fraction of a rough covariance that is added to a covariance from few points, so that the sum is never
degenerate."""


def gauss_hermite(dimensions: int, points: int) -> Rule:
    """The product rule with `points` points in each dimension.

    It is exact to degree 2 `points` - 1 in each dimension.
    """
    roots, weights = np.polynomial.hermite_e.hermegauss(points)
    grid = np.array(list(product(range(points), repeat=dimensions)), np.int64).reshape(-1, dimensions)
    return roots[grid].T.copy(), np.prod((weights / weights.sum())[grid], axis=1)


def fifth_degree(dimensions: int) -> Rule:
    """A rule of degree 5 with positive weights.

    In up to four dimensions, the result is the rule of McNamee and Stenger (1967, Numer. Math. 10:327) with at most
    2 n^2 + 1 points. In four dimensions the points on the axes have zero weight, and the remaining 25 points are as
    good as the product rule's 81. In more dimensions the rule would have negative weights, so the result is a product
    of rules in fewer dimensions.
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
    """Points on spheres in four dimensions, with positive weights. Each of `directions` [4, n] gives one sphere.

    With m spheres the rule is exact for powers of the distance from the centre up to 4 m - 2. In the direction from the
    centre, it is exact to the degree of `directions` (spherical-radial rules: Monahan and Genz 1997, J. Am. Stat.
    Assoc. 92:664).
    """
    squares, weights = roots_genlaguerre(len(directions), 1)  # half the squared distance has density x exp(-x)
    counts = [chosen.shape[1] for chosen in directions]
    points = [np.sqrt(2 * square) * chosen for square, chosen in zip(squares, directions, strict=True)]
    return np.concatenate(points, axis=1), np.repeat(weights / weights.sum() / counts, counts)


def _corners_24() -> tuple[Floats, Floats]:
    """The corners of the 24-cell and of its dual, each [4, 24].

    Both are exact to degree 5, and have opposite errors in degree 6.
    """
    signs = np.array(list(product((1, -1), repeat=4))).T / 2
    pairs = fifth_degree(4)[0]
    return np.concatenate([np.eye(4), -np.eye(4), signs], axis=1), pairs[:, np.any(pairs != 0, axis=0)] / np.sqrt(6)


def _corners_600() -> Floats:
    """The corners of the 600-cell, [4, 120], exact to degree 11 (Delsarte, Goethals and Seidel 1977, Geom.

    Dedicata 6:363).
    """
    golden = (1 + np.sqrt(5)) / 2
    even = [order for order in permutations(range(4)) if np.linalg.det(np.eye(4)[list(order)]) > 0]
    signs = product((1, -1), repeat=3)
    around = [np.array([a * golden, b, c / golden, 0]) / 2 for a, b, c in signs]
    return np.concatenate(
        [_corners_24()[0], np.array([point[list(order)] for point in around for order in even]).T], axis=1
    )


def coarse(dimensions: int) -> Rule:
    """A few points, enough to approach a maximum, and to compute means and covariances of latent effects."""
    return gauss_hermite(dimensions, 5) if dimensions < 3 else fifth_degree(dimensions)


def fine(dimensions: int) -> Rule:
    """Points to approach a maximum with tastes: 72 in four dimensions.

    For effects with the same variance in all directions, these points are as good as a product rule with five points in
    each dimension. The product rule has nine times as many points.
    """
    cell, dual = _corners_24()
    return shells(dual, cell, dual) if dimensions == 4 else _product(dimensions, {1: 9, 2: 7, 3: 5})


def finest(dimensions: int) -> Rule:
    """Points for effects with any covariance, however informative the decisions are: 408 in four dimensions.

    With strong tastes the density of a model's effect has a long tail. So a rule must be exact far from the centre,
    here to degree 18. With three spheres and degree 10, standard errors of inertia were 2% too small for tastes of
    spread 1.7, and 5 to 7% too small for spread 2.5. The innermost sphere is small and the outermost has almost no
    weight, so 24 directions suffice for each of these two spheres.
    """
    cell, dual = _corners_24()
    return shells(dual, *[_corners_600()] * 3, cell) if dimensions == 4 else _product(dimensions, {1: 9, 2: 9, 3: 7})


def _product(dimensions: int, points: dict[int, int]) -> Rule:
    """The product rule with `points` points in each dimension. In numbers of dimensions that `points` does not have,
    the cheaper rule of degree 5."""
    return gauss_hermite(dimensions, points[dimensions]) if dimensions in points else fifth_degree(dimensions)


def principal_roots(covariances: NDArray[np.floating[Any]]) -> Floats:
    """Matrices R, along the principal axes of covariances C [..., n, n], with R R' = C.

    With roots along the principal axes, a rule that treats all axes and signs alike gives the same result for any order
    of the verdicts.
    """
    variances, axes = np.linalg.eigh(covariances)
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0.0))[..., None, :])


def placed(modes: Floats, roots: Floats, rule: Rule) -> tuple[Floats, Floats]:
    """Place the rule's points [..., n, Q] around modes [..., n], stretched by roots [..., n, n] of covariances.

    The second result, `heights` [..., Q], is the log of each point's weight. It includes the standard normal density of
    the latent effects at the point. The sum of exp(heights + log f) is the integral of f against that density.
    """
    points, weights = rule
    latent = modes[..., None] + roots @ points
    volume = np.linalg.slogdet(roots)[1]
    return latent, volume[..., None] + np.log(weights) + ((points**2).sum(0) - (latent**2).sum(-2)) / 2


def moments(latent: Floats, probabilities: Floats, rough: Floats) -> tuple[Floats, Floats]:
    """Means [B, n] and covariances [B, n, n] of points [B, n, Q] that were placed with covariances `rough`."""
    mean = (latent @ probabilities[..., None])[..., 0]
    away = latent - mean[..., None]
    return mean, (away * probabilities[:, None]) @ away.swapaxes(1, 2) + _ROUGH * rough


def normalised(heights: Floats) -> tuple[Floats, Floats]:
    """exp(heights) divided by its sum over the last axis, and the log of that sum."""
    peak = heights.max(-1, keepdims=True)
    mass = np.exp(heights - peak)
    total = mass.sum(-1, keepdims=True)
    return mass / total, (np.log(total) + peak)[..., 0]
