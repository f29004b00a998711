"""Expectation propagation: its guarantees at the end, and its posterior compared with one summed over a grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from overton.studies.deliberation.choice_model import Decisions
from overton.studies.deliberation.choice_model.design import Block, blocks, count_situations, design
from overton.studies.deliberation.choice_model.likelihood import evaluate
from overton.studies.deliberation.choice_model.quadrature import gauss_hermite
from overton.studies.deliberation.choice_model.random_effects import JointEffects, one_size
from overton.studies.deliberation.choice_model.tastes import (
    Posterior,
    Sites,
    Tilted,
    rows_by_model,
    settled,
    sites_at_modes,
)

Array = NDArray[np.float64]
RULE = gauss_hermite(1, 15)
SPREADS = np.array([1.3]), np.array([0.8])
BETA = np.array([0.3, -0.2, 1.5, 1.2, 0.1, 0.6])
"""Preference and inertia of A and B, conformity to earlier rounds and within the round."""


@pytest.fixture(scope="module")
def block(simulated: Callable[..., Decisions]) -> Block:
    """Eight dilemmas that two models discuss, with two verdicts: one dimension of effects."""
    preference = {"A": (0.0, 0.6), "B": (0.3, 0.0)}
    decisions = simulated(5, 8, preference=preference, taste=0.8, design=(("synchronous", "AB"), ("round-robin", "BA")))
    situations = count_situations(decisions)
    made = design(situations, np.ones((2, 2), bool), "shared")
    (whole,) = blocks(situations, made.features, made.basis, 10_000, models=2)
    return whole


@pytest.fixture(scope="module")
def found(block: Block) -> Posterior:
    together = JointEffects.of(one_size(1), one_size(1), (SPREADS[0], SPREADS[1][:, None]), 2)
    start = sites_at_modes(block, BETA, (np.diag(SPREADS[0]), np.diag(SPREADS[1])[None]))
    found = settled(rows_by_model(block), BETA, together, start, RULE)
    for _ in range(3):
        found = settled(rows_by_model(block), BETA, together, found.sites, RULE)
    return found


def test_each_models_decisions_put_back_change_neither_mean_nor_covariance(block: Block, found: Posterior) -> None:
    for model, seat in enumerate(rows_by_model(block)):
        tilted = Tilted.of(found, model, seat, BETA, RULE)
        precision, shift, away = tilted.site(RULE)
        assert away < 2e-3
        assert precision == pytest.approx(found.sites.precision[:, model], abs=5e-3)
        assert shift == pytest.approx(found.sites.shift[:, model], abs=5e-3)


def test_the_posterior_is_about_that_of_a_grid(block: Block, found: Posterior) -> None:
    grid = np.linspace(-7, 7, 281)
    parts = [
        evaluate(rows, BETA[columns], np.eye(1)[None], np.broadcast_to(grid, (block.size, 1, len(grid)))).loglik
        for rows, columns in block.groups()
    ]
    prior = (
        -np.einsum(
            "iab,ij,jab->ab",
            np.stack(np.meshgrid(grid, grid, indexing="ij")),
            found.together.precision,
            np.stack(np.meshgrid(grid, grid, indexing="ij")),
        )
        / 2
    )
    for dilemma in range(block.size):
        density = np.exp(prior + parts[0][dilemma][:, None] + parts[1][dilemma])
        density /= density.sum()
        for model, marginal in enumerate((density.sum(1), density.sum(0))):
            mean = float(marginal @ grid)
            spread = float(marginal @ (grid - mean) ** 2) ** 0.5
            ours, variance = found.marginal(model)
            assert ours[dilemma, 0] == pytest.approx(mean, abs=0.05 * spread)
            assert variance[dilemma, 0, 0] ** 0.5 == pytest.approx(spread, rel=0.05)


def test_no_site_takes_precision_away(found: Posterior) -> None:
    assert np.all(np.linalg.eigvalsh(found.sites.precision) >= -1e-9)


def test_sites_go_through_one_row_a_dilemma_and_back(found: Posterior) -> None:
    again = Sites.unpacked(found.sites.packed, 2, 1)
    assert again.precision == pytest.approx(found.sites.precision)
    assert again.shift == pytest.approx(found.sites.shift)


def test_changing_a_site_updates_the_inverse_of_all_sites(found: Posterior) -> None:
    """Woodbury's identity against the whole inverse."""
    changed = Posterior.of(found.together, Sites(found.sites.precision.copy(), found.sites.shift.copy()))
    changed.change(1, 1.7 * changed.sites.precision[:, 1], changed.sites.shift[:, 1] - 0.4)
    anew = Posterior.of(found.together, changed.sites)
    assert changed.mean == pytest.approx(anew.mean)
    assert changed.covariance == pytest.approx(anew.covariance)
