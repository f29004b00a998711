"""Normal effects of a dilemma on several models: their density's slopes by differences, their covariance by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from overton.studies.deliberation.choice_model.random_effects import JointEffects, any_covariance, one_size

Array = NDArray[np.float64]
FACTORS = np.array([0.9, -0.3, 1.2, 0.7])
"""The root of the dilemma's covariance, [[0.9, 0], [-0.3, 1.2]], and the spread of tastes."""


def together(factors: Array) -> JointEffects:
    return JointEffects.of(any_covariance(2), one_size(2), (factors[:3], factors[3:, None]), 3)


def test_models_share_the_dilemmas_effect_and_have_tastes_of_their_own() -> None:
    shared = np.array([[0.81, -0.27], [-0.27, 0.09 + 1.44]])
    found = together(FACTORS).covariance
    for one in range(3):
        for other in range(3):
            block = found[2 * one : 2 * one + 2, 2 * other : 2 * other + 2]
            assert block == pytest.approx(shared + (0.49 * np.eye(2) if one == other else 0))


def test_each_model_has_tastes_of_its_own_strength() -> None:
    own = np.array([[0.7], [0.0], [1.1]])
    found = JointEffects.of(any_covariance(2), one_size(2), (FACTORS[:3], own), 3).covariance
    shared = np.array([[0.81, -0.27], [-0.27, 0.09 + 1.44]])
    for one, size in enumerate((0.49, 1e-6, 1.21)):  # a spread of nothing is one of a thousandth
        assert found[2 * one : 2 * one + 2, 2 * one : 2 * one + 2] == pytest.approx(shared + size * np.eye(2))
        for other in {0, 1, 2} - {one}:
            assert found[2 * one : 2 * one + 2, 2 * other : 2 * other + 2] == pytest.approx(shared)


@pytest.mark.parametrize("tastes", [(0.7,), (0.7, 0.4, 1.1)])
def test_slopes_and_curvature_of_the_density_are_those_of_its_values(tastes: tuple[float, ...]) -> None:
    """Of all models' tastes, and of each model's."""
    at = np.array([*FACTORS[:3], *tastes])
    effects = np.random.default_rng(0).standard_normal((5, 6))
    products = effects.T @ effects

    def loglik(factors: Array) -> float:
        return float(multivariate_normal(np.zeros(6), together(factors).covariance).logpdf(effects).sum())

    width = 1e-4
    steps = width * np.eye(len(at))
    slope = [(loglik(at + step) - loglik(at - step)) / (2 * width) for step in steps]
    bend = [
        (together(at + step).slope(products, 5) - together(at - step).slope(products, 5)) / (2 * width)
        for step in steps
    ]
    assert together(at).slope(products, 5) == pytest.approx(np.array(slope), rel=1e-5)
    assert -together(at).information(products, 5) == pytest.approx(np.array(bend), rel=1e-5, abs=1e-6)


def test_a_spread_of_nothing_is_kept_from_being_singular() -> None:
    assert np.all(np.isfinite(together(np.array([0.9, 0.0, 1.2, 0.0])).precision))
