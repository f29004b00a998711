"""Points and weights: what they integrate exactly, and that putting them where the mass is pays."""

from __future__ import annotations

from math import log, pi

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from overton.studies.deliberation.choice_model.quadrature import (
    Rule,
    coarse,
    fine,
    finest,
    gauss_hermite,
    moments,
    normalised,
    placed,
    principal_roots,
    shells,
)

Array = NDArray[np.float64]
MOMENTS = {2: 1, 4: 3, 6: 15, 8: 105, 10: 945}
"""Of a standard normal variable, by power; those of odd powers are 0."""


def check_moments(rule: Rule, degree: int) -> None:
    """Along any direction."""
    points, weights = rule
    direction = np.random.default_rng(len(weights)).standard_normal(len(points))
    along = direction / np.linalg.norm(direction) @ points
    for power in range(degree + 1):
        expected = 1 if power == 0 else MOMENTS.get(power, 0)
        assert along**power @ weights == pytest.approx(expected, abs=1e-9 * 10**power)


@pytest.mark.parametrize("dimensions", range(1, 7))
@pytest.mark.parametrize("choose", [coarse, fine, finest])
def test_all_rules_are_of_degree_five_with_positive_weights(choose: type, dimensions: int) -> None:
    rule: Rule = choose(dimensions)
    assert rule[0].shape == (dimensions, len(rule[1]))
    assert np.all(rule[1] > 0)
    check_moments(rule, 5)


def test_the_finest_rule_of_four_dimensions_is_exact_to_degree_18_in_the_distance_from_the_centre() -> None:
    """The mean of the distance to the power of 2 k is 4 * 6 * ... * (2 k + 2): chi-squared, four degrees of freedom."""
    points, weights = finest(4)
    assert len(weights) == 408
    squares = np.sum(points**2, axis=0)
    for k in range(10):
        assert squares**k @ weights == pytest.approx(np.prod(4 + 2 * np.arange(k)), rel=1e-9)


def test_the_finest_rule_of_four_dimensions_is_nearly_exact_to_degree_ten_along_any_direction() -> None:
    points, weights = finest(4)
    directions = np.random.default_rng(3).standard_normal((500, 4))
    along = directions / np.linalg.norm(directions, axis=1, keepdims=True) @ points
    for power, near in ((6, 0.002), (8, 0.02), (10, 0.08)):
        assert along**power @ weights == pytest.approx(np.full(500, MOMENTS[power]), rel=near)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_the_finest_rule_finds_the_spread_of_a_lopsided_density(dimensions: int) -> None:
    """As where a strong taste keeps a verdict from being given: half of a wide normal density is about gone.

    The variance where a verdict with logit 2 z was not given is that of a sum over a fine grid. There z is along the
    first axis and between all axes.
    """
    points, weights = finest(dimensions)
    grid = np.linspace(-12, 12, 20_001)

    def variance(z: Array, mass: Array) -> float:
        mass = mass * np.exp(-np.logaddexp(0, 2 * z))
        mean = float(z @ mass / mass.sum())
        return float((z - mean) ** 2 @ mass / mass.sum())

    exact = variance(grid, norm.pdf(grid))
    for direction in (np.eye(dimensions)[0], np.ones(dimensions) / np.sqrt(dimensions)):
        assert variance(direction @ points, weights) == pytest.approx(exact, rel=0.01)


def test_the_corners_of_regular_bodies_are_all_equally_far_away() -> None:
    for rule, many in ((fine(4), [24, 24, 24]), (finest(4), [24, 120, 120, 120, 24])):
        distances = np.linalg.norm(rule[0], axis=0)
        assert np.unique(distances.round(9), return_counts=True)[1].tolist() == many


def test_spheres_take_the_directions_they_are_given() -> None:
    """One sphere with the ends of the axes: exact to degree 3."""
    points, weights = shells(np.concatenate([np.eye(4), -np.eye(4)], axis=1))
    assert np.linalg.norm(points, axis=0) == pytest.approx(np.full(8, 2.0))
    assert weights == pytest.approx(np.full(8, 1 / 8))
    check_moments((points, weights), 3)


def test_the_integral_of_a_normal_likelihood_is_exact_with_any_points() -> None:
    """Of exp(-(z - 1)' A (z - 1) / 2) against the standard normal density, placed where the product has its mass."""
    shape = np.array([[2.0, 0.6], [0.6, 1.0]])
    covariance = np.linalg.inv(shape + np.eye(2))
    mean = covariance @ shape @ np.ones(2)
    points, heights = placed(mean[None], principal_roots(covariance[None]), gauss_hermite(2, 2))
    away = points[0] - 1
    _, found = normalised(heights + (-np.sum(away * (shape @ away), axis=0) / 2)[None])
    both = np.linalg.inv(shape) + np.eye(2)
    density = -np.ones(2) @ np.linalg.solve(both, np.ones(2)) / 2 - log(np.linalg.det(both)) / 2 - log(2 * pi)
    assert found[0] == pytest.approx(density + log(2 * pi) - log(np.linalg.det(shape)) / 2)


def test_means_and_covariances_are_those_of_the_points() -> None:
    points, weights = gauss_hermite(2, 5)
    root = np.array([[1.5, 0.0], [0.4, 0.3]])
    latent = (np.array([[1.0], [-2.0]]) + root @ points)[None]
    mean, covariance = moments(latent, weights[None], np.zeros((1, 2, 2)))
    assert mean[0] == pytest.approx([1.0, -2.0])
    assert covariance[0] == pytest.approx(root @ root.T)


def test_points_around_the_mean_do_better_than_around_the_mode_where_a_verdict_was_never_given() -> None:
    """exp(-4 exp(z)) is what ten decisions or so determine: flat on one side, falling fast on the other."""

    def loglik(z: Array) -> Array:
        return np.asarray(-4 * np.exp(1.5 * z))

    exact = log(quad(lambda z: float(np.exp(loglik(np.array(z))) * norm.pdf(z)), -12, 12)[0])
    grid = np.linspace(-12, 12, 200_001)
    mode = grid[np.argmax(loglik(grid) - grid**2 / 2)]
    curvature = 1 + 4 * 1.5**2 * np.exp(1.5 * mode)
    rough = np.array([[[1 / curvature]]])
    points, heights = placed(np.array([[mode]]), np.sqrt(rough), gauss_hermite(1, 5))
    posterior, around_mode = normalised(heights + loglik(points[:, 0]))
    mean, covariance = moments(points, posterior, rough)
    points, heights = placed(mean, np.sqrt(covariance), gauss_hermite(1, 5))
    _, around_mean = normalised(heights + loglik(points[:, 0]))
    assert abs(around_mean[0] - exact) < 0.7 * abs(around_mode[0] - exact)
    assert around_mean[0] == pytest.approx(exact, abs=0.002)


def test_roots_of_covariances_give_them_back() -> None:
    covariance = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.0], [0.1, 0.0, 0.5]])
    root = principal_roots(covariance)
    assert root @ root.T == pytest.approx(covariance)
