"""The search for the maximum, on likelihoods whose maximum is known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from overton.studies.deliberation.choice_model.newton import LikelihoodPoint, Start, StopRule, climb

Array = NDArray[np.float64]
At = Callable[[Array, Start], LikelihoodPoint]
COEFFICIENTS = np.zeros(2, bool)
SOMEWHERE: Start = [np.zeros((50, 1))]
"""Fifty dilemmas."""


def quadratic(curvature: Array, top: Array, visited: list[Array] | None = None) -> At:
    def at(x: Array, latent: Start) -> LikelihoodPoint:
        if visited is not None:
            visited.append(x)
        away = x - top
        return LikelihoodPoint(x, -float(away @ curvature @ away) / 2, -curvature @ away, curvature, latent)

    return at


def test_a_quadratic_top_is_reached_in_a_step_with_its_covariance() -> None:
    curvature = np.array([[9.0, 2.0], [2.0, 5.0]])
    peak = climb(quadratic(curvature, np.array([0.4, -0.2])), np.zeros(2), SOMEWHERE, COEFFICIENTS, StopRule(1e-6))
    assert peak.parameters == pytest.approx([0.4, -0.2])
    assert peak.covariance == pytest.approx(np.linalg.inv(curvature))
    assert peak.converged
    assert peak.level.shape == (2, 0)


def test_where_the_curvature_is_that_of_a_valley_steps_go_upwards() -> None:
    """cos x from x = 2.5, beyond the turning point: Newton's plain step would go to the bottom at pi."""

    def at(x: Array, latent: Start) -> LikelihoodPoint:
        return LikelihoodPoint(x, float(np.cos(x[0])) * 10, -10 * np.sin(x), 10 * np.cos(x)[:, None], latent)

    peak = climb(at, np.array([2.5]), SOMEWHERE, np.zeros(1, bool), StopRule(1e-8))
    assert peak.parameters == pytest.approx([0.0], abs=1e-4)
    assert peak.converged


def test_a_level_direction_is_named_and_the_rest_is_found() -> None:
    curvature = np.array([[8.0, 0.0], [0.0, 0.0]])
    peak = climb(quadratic(curvature, np.array([0.5, 0.0])), np.zeros(2), SOMEWHERE, COEFFICIENTS, StopRule(1e-4))
    assert peak.converged
    assert peak.parameters == pytest.approx([0.5, 0.0])
    assert np.abs(peak.level) == pytest.approx(np.array([[0.0], [1.0]]))
    assert peak.covariance[0, 0] == pytest.approx(1 / 8)


def test_a_slope_that_the_values_contradict_matters_only_where_the_likelihood_is_curved() -> None:
    """Sums over few points can be wrong about a slope. With little curvature the search does not wait for it."""

    def biased(curvature: float) -> At:
        inner = quadratic(np.diag([100.0, 10.0]), np.array([0.3, 0.0]))
        information = np.diag([100.0, curvature])

        def at(x: Array, latent: Start) -> LikelihoodPoint:
            point = inner(x, latent)
            slope = np.array([point.slope[0], 0.8 * curvature**0.5])  # a decrement of 0.64
            return LikelihoodPoint(x, point.loglik, slope, information, latent)

        return at

    slight, clear = (
        climb(biased(curvature), np.array([0.31, 0.0]), SOMEWHERE, COEFFICIENTS, StopRule(1e-3))
        for curvature in (0.5, 3)
    )
    assert slight.converged
    assert slight.parameters == pytest.approx([0.3, 0.0])
    assert not clear.converged


def test_a_size_as_good_as_zero_is_fixed_there() -> None:
    visited: list[Array] = []
    curvature = np.diag([4.0, 30.0])
    sizes = np.array([False, True])
    peak = climb(
        quadratic(curvature, np.array([1.0, 0.0]), visited), np.array([0.0, 0.6]), SOMEWHERE, sizes, StopRule(1e-6)
    )
    assert 0 < peak.parameters[1] < 0.03
    assert peak.covariance[1].tolist() == [0.0, 0.0]
    assert peak.parameters[0] == pytest.approx(1.0)
    sizes_met = [x[1] for x in visited]
    assert all(after > before / 3.01 for before, after in pairwise(sizes_met))


def test_steps_are_counted() -> None:
    far = climb(
        quadratic(np.eye(2), np.array([50.0, 0.0])), np.zeros(2), SOMEWHERE, COEFFICIENTS, StopRule(1e-6, steps=3)
    )
    assert not far.converged
    assert far.parameters[0] == pytest.approx(3.0)  # a logit at a time
