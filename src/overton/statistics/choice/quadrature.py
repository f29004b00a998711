"""Points and weights that integrate against the standard normal density, and their use around a mode."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rule", "fifth_degree", "gauss_hermite", "normalised", "placed", "principal_roots"]

Array = NDArray[np.float64]
Rule = tuple[Array, Array]
"""Points [n, Q] and positive weights [Q] that sum to 1."""


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


def normalised(heights: Array) -> tuple[Array, Array]:
    """exp(heights) divided by its sum over the last axis, and the log of that sum."""
    peak = heights.max(-1, keepdims=True)
    mass = np.exp(heights - peak)
    total = mass.sum(-1, keepdims=True)
    return mass / total, (np.log(total) + peak)[..., 0]
