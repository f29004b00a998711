"""Nested points, against integrals that are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from overton.statistics.choice.quadrature import Grid, around_means, around_modes, coarse, gauss_hermite

Array = NDArray[np.float64]

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
