"""Points and weights: what they integrate exactly, and that putting them where the mass is pays."""

from __future__ import annotations

from math import log, pi

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from overton.statistics.choice.quadrature import (
    Grid,
    Rule,
    around_means,
    around_modes,
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


def test_the_finest_rule_of_four_dimensions_is_of_degree_ten() -> None:
    rule = finest(4)
    assert len(rule[1]) == 360
    check_moments(rule, 11)


def test_the_corners_of_regular_bodies_are_all_equally_far_away() -> None:
    for rule, many in ((fine(4), 24), (finest(4), 120)):
        distances = np.linalg.norm(rule[0], axis=0)
        assert np.unique(distances.round(9), return_counts=True)[1].tolist() == [many] * 3


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
    """exp(-4 exp(z)) is what is told by ten decisions or so: flat on one side, falling fast on the other."""

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


HESSIAN = np.array(
    [
        [4.0, 0.5, 0.9, 0.1, 0.6, 0.0],
        [0.5, 3.0, 0.2, 0.8, 0.0, 0.7],
        [0.9, 0.2, 2.0, 0.3, 0.0, 0.0],
        [0.1, 0.8, 0.3, 2.5, 0.0, 0.0],
        [0.6, 0.0, 0.0, 0.0, 1.8, 0.2],
        [0.0, 0.7, 0.0, 0.0, 0.2, 1.6],
    ]
)
"""Of a normal density of a dilemma's two latent effects, two of one model and two of another: the models' are
independent given the dilemma's, as they are for all likelihoods here."""

MODE = np.array([0.4, -0.3, 0.2, 0.1, -0.5, 0.6])


def logliks(grid: Grid) -> Array:
    """What makes the product with the prior that normal density, split between the models: [1, 2, Q S].

    The dilemma's own part, and that of its effects with a model's, count for the model; the first has all of the rest.
    """
    outer, size = grid.outer[0] - MODE[:2, None], grid.inner.shape[3:]
    parts = []
    for model in range(2):
        own = slice(2 + 2 * model, 4 + 2 * model)
        inner = grid.inner[0, model] - MODE[own][:, None, None]
        value = -np.einsum("iqs,ij,jqs->qs", inner, HESSIAN[own, own], inner) / 2
        value -= np.einsum("iq,ij,jqs->qs", outer, HESSIAN[:2, own], inner)
        if model == 0:
            value -= (np.einsum("iq,ij,jq->q", outer, HESSIAN[:2, :2], outer) / 2)[:, None]
            value += (np.sum(grid.outer[0] ** 2, axis=0) / 2)[:, None]
        parts.append((value + np.sum(grid.inner[0, model] ** 2, axis=0) / 2).reshape(np.prod(size)))
    return np.stack(parts)[None]


def test_points_around_the_mode_integrate_a_normal_density_exactly() -> None:
    rule = gauss_hermite(2, 3)
    grid = around_modes(MODE[None], HESSIAN[None], (rule, rule))
    between, within, found = grid.masses(logliks(grid))
    assert found[0] == pytest.approx(-np.log(np.linalg.det(HESSIAN)) / 2)
    assert between.sum() == pytest.approx(1)
    assert within.sum(-1) == pytest.approx(np.ones((1, 2, 9)))


def test_means_and_covariances_of_a_normal_density_are_found_from_points_placed_badly() -> None:
    rules = gauss_hermite(2, 9), gauss_hermite(2, 9)
    bad = around_modes(MODE[None] + 0.2, 1.3 * HESSIAN[None], rules)
    placement = around_means(bad, *bad.masses(logliks(bad))[:2], rules).placement
    truth = around_modes(MODE[None], HESSIAN[None], rules).placement
    assert placement.mean == pytest.approx(truth.mean, abs=1e-3)
    assert placement.own == pytest.approx(truth.own, abs=1e-3)
    assert placement.along == pytest.approx(truth.along, abs=0.03)
    assert placement.covariance == pytest.approx(truth.covariance, rel=0.03, abs=0.01)
    assert placement.spread == pytest.approx(truth.spread, rel=0.03, abs=0.01)


def test_effects_are_the_dilemmas_and_the_models_own_together() -> None:
    rules = coarse(2), gauss_hermite(2, 2)
    grid = around_modes(MODE[None], HESSIAN[None], rules)
    dilemma, taste = np.array([[1.0, 0.0], [0.5, 2.0]]), 0.7 * np.eye(2)
    effects = grid.effects(dilemma, taste).reshape(1, 2, 2, len(rules[0][1]), 4)
    expected = dilemma @ grid.outer[0, :, 5] + taste @ grid.inner[0, 1, :, 5, 3]
    assert effects[0, 1, :, 5, 3] == pytest.approx(expected)
    assert grid.tastes(1).reshape(2, -1, 4)[:, 5, 3] == pytest.approx(grid.inner[0, 1, :, 5, 3])
