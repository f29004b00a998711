"""The sums behind the estimators: their values by hand and by brute force, their slopes by differences."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import dblquad, quad
from scipy.stats import norm
from tests.studies.deliberation.choice_model.tables import decisions_of_columns

from overton.studies.deliberation.choice_model import Decisions
from overton.studies.deliberation.choice_model.design import (
    Block,
    ChoiceDesign,
    Situations,
    blocks,
    count_situations,
    design,
)
from overton.studies.deliberation.choice_model.likelihood import evaluate, fit_jointly, modes
from overton.studies.deliberation.choice_model.newton import LikelihoodPoint, Start
from overton.studies.deliberation.choice_model.quadrature import fifth_degree, gauss_hermite
from overton.studies.deliberation.choice_model.random_effects import any_covariance, marginal_likelihood, one_size
from overton.studies.deliberation.choice_model.tastes import Spreads, taste_likelihood

Array = NDArray[np.float64]
Simulated = Callable[..., Decisions]


def laid_out(decisions: Decisions, size: int = 100, **settings: int) -> tuple[Situations, ChoiceDesign, list[Block]]:
    situations = count_situations(decisions)
    every = np.ones((len(decisions.models), len(decisions.verdicts)), bool)
    made = design(situations, every, "shared")
    return situations, made, blocks(situations, made.features, made.basis, size, **settings)


def zeros(rows: list[Block], latent: int) -> Start:
    return [np.zeros((block.size, latent)) for block in rows]


@pytest.fixture(scope="module")
def two_verdicts() -> Decisions:
    """A and B in turn about three dilemmas, with two verdicts: one dimension of effects."""
    said = ["YNY", "NNY", "YYN"]
    rows = [(d, 1, seat, model, said[d][seat]) for d in range(3) for seat, model in enumerate("AB")]
    rows += [(0, 2, 0, "A", "N"), (0, 2, 1, "B", "N")]
    dilemma, round_, position, model, verdict = (list(column) for column in zip(*rows, strict=True))
    return decisions_of_columns(
        discussion=dilemma,
        dilemma=dilemma,
        format=["round-robin"] * len(rows),
        round=round_,
        position=position,
        model=model,
        verdict=verdict,
        verdicts=("Y", "N"),
    )


BETA = np.array([0.3, -0.2, 0.9, 0.4, 0.2, 0.7])
"""Preference of A and of B, inertia of A and of B, conformity to earlier rounds and within the round."""


def loglik_by_hand(dilemma: int, phi: float, psi: dict[str, float]) -> float:
    """Of the decisions in `two_verdicts`, for an effect that is phi / sqrt(2) on Y and its negative on N."""
    half = 1 / sqrt(2)

    def chance(model: str, verdict: str, own: str | None, earlier: str, now: str) -> float:
        logits = {}
        for v, side in (("Y", 1), ("N", -1)):
            liking = {"A": 0.3, "B": -0.2}[model] + phi + psi[model]
            inertia = {"A": 0.9, "B": 0.4}[model] * (own == v)
            logits[v] = side * half * liking + inertia + 0.2 * earlier.count(v) + 0.7 * now.count(v)
        return exp(logits[verdict]) / sum(map(exp, logits.values()))

    first = {0: "YN", 1: "NN", 2: "YY"}[dilemma]
    value = log(chance("A", first[0], None, "", "")) + log(chance("B", first[1], None, "", first[0]))
    if dilemma == 0:
        value += log(chance("A", "N", "Y", "N", "")) + log(chance("B", "N", "N", "Y", "N"))
    return value


def test_the_likelihood_of_a_few_decisions_agrees_with_hand_computation(two_verdicts: Decisions) -> None:
    _, _, rows = laid_out(two_verdicts)
    loglik = sum(evaluate(b, BETA, np.ones((1, 1, 1)), np.full((b.size, 1, 1), 0.6)).loglik.sum() for b in rows)
    by_hand = sum(loglik_by_hand(d, 0.6, {"A": 0, "B": 0}) for d in range(3))
    assert loglik == pytest.approx(by_hand, abs=1e-12)


def test_the_marginal_likelihood_is_the_integral(two_verdicts: Decisions) -> None:
    _, _, rows = laid_out(two_verdicts)
    at = marginal_likelihood(rows, one_size(1), gauss_hermite(1, 25), len(BETA))
    exact = 0.0
    for dilemma in range(3):

        def density(u: float, dilemma: int = dilemma) -> float:
            return exp(loglik_by_hand(dilemma, u, {"A": 0.0, "B": 0.0})) * float(norm.pdf(u, 0, 1.4))

        exact += log(quad(density, -15, 15)[0])
    assert at(np.append(BETA, 1.4), zeros(rows, 1)).loglik == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(
    ("dilemma_spread", "tastes", "near"),
    [(1.4, (0.8,), 0.005), (0.001, (0.8,), 2e-5), (1.4, (0.4, 1.6), 0.005), (0.001, (0.4, 1.6), 2e-5)],
)
def test_the_likelihood_with_tastes_is_the_integral_over_them_too(
    two_verdicts: Decisions, dilemma_spread: float, tastes: tuple[float, ...], near: float
) -> None:
    """About so; without dilemmas' effects the models have nothing in common, and nothing is approximate.

    Tastes are equally strong, or stronger in B than in A.
    """
    _, _, rows = laid_out(two_verdicts, models=2)
    at = taste_likelihood(rows, Spreads(one_size(1), one_size(1), len(tastes)), gauss_hermite(1, 15), len(BETA))
    in_a, in_b = tastes[0], tastes[-1]
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    exact = 0.0
    for dilemma in range(3):
        area = 0.0
        for phi, first in zip(dilemma_spread * points, weights, strict=True):
            for a, second in zip(in_a * points, weights, strict=True):
                chances = [exp(loglik_by_hand(dilemma, phi, {"A": a, "B": b})) for b in in_b * points]
                area += first * second * float(weights @ chances)
        exact += log(area)
    found = at(np.append(BETA, [dilemma_spread, *tastes]), zeros(rows, 0)).loglik
    assert found == pytest.approx(exact, abs=near)


def test_the_rule_of_degree_five_integrates_polynomials_of_its_degree() -> None:
    for dimensions in range(1, 7):
        points, weights = fifth_degree(dimensions)
        assert np.all(weights > 0)
        assert weights.sum() == pytest.approx(1)
        assert points @ weights == pytest.approx(np.zeros(dimensions), abs=1e-12)
        assert (points * weights) @ points.T == pytest.approx(np.eye(dimensions), abs=1e-12)
        assert points**4 @ weights == pytest.approx(np.full(dimensions, 3.0))
        if dimensions > 1:
            assert (points[0] ** 2 * points[1] ** 2) @ weights == pytest.approx(1)
    assert len(fifth_degree(4)[1]) == 25


def differences(at: Callable[[Array], float | Array], x: Array, width: float = 1e-4) -> Array:
    return np.array([(at(x + width * unit) - at(x - width * unit)) / (2 * width) for unit in np.eye(len(x))])


def check_slope_and_information(
    at: Callable[[Array, Start], LikelihoodPoint], x: Array, latent: Start, near: float, width: float = 1e-4
) -> None:
    point = at(x, latent)
    slope = differences(lambda y: at(y, point.latent).loglik, x, width)
    bend = -differences(lambda y: at(y, point.latent).slope, x, width)
    errors = np.sqrt(np.diag(np.linalg.inv(point.information)))
    assert point.slope * errors == pytest.approx(slope * errors, abs=near)
    assert point.information * np.outer(errors, errors) == pytest.approx(bend * np.outer(errors, errors), abs=near)


def test_slope_and_curvature_of_the_marginal_likelihood_are_those_of_its_values(simulated: Simulated) -> None:
    """With points enough: they are placed again for each value, which the slope and curvature leave out."""
    decisions = simulated(3, 25, preference={"A": (0.0, 0.6, -0.4), "B": (0.3, 0.0, 0.0), "C": (0.0, 0.1, 0.3)})
    _, made, rows = laid_out(decisions)
    at = marginal_likelihood(rows, any_covariance(2), gauss_hermite(2, 9), len(made.columns))
    beta = np.concatenate([np.linspace(-0.3, 0.5, 6), [1.5, 1.2, 0.8, 0.1, 0.6]])
    check_slope_and_information(at, np.append(beta, [0.9, 0.2, 1.1]), zeros(rows, 2), 2e-3)


@pytest.mark.parametrize("tastes", [(0.7,), (0.9, 0.7, 0.8)])
def test_slope_and_curvature_with_tastes_are_those_of_its_values(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch, tastes: tuple[float, ...]
) -> None:
    """Once the sites have settled, which they do over a few steps otherwise."""
    monkeypatch.setattr("overton.studies.deliberation.choice_model.tastes._SWEEPS", 20)
    monkeypatch.setattr("overton.studies.deliberation.choice_model.tastes._SETTLED", 1e-5)
    decisions = simulated(5, 12, preference={"A": (0.0, 0.6), "B": (0.3, 0.0), "C": (0.0, 0.1)}, taste=0.8)
    _, made, rows = laid_out(decisions, models=3)
    at = taste_likelihood(rows, Spreads(one_size(1), one_size(1), len(tastes)), gauss_hermite(1, 15), len(made.columns))
    beta = np.array([0.3, 0.0, -0.2, 1.5, 1.2, 0.8, 0.1, 0.6])
    check_slope_and_information(at, np.append(beta, [0.9, *tastes]), zeros(rows, 0), 5e-3, width=0.01)


def test_the_slope_is_zero_at_the_modes(simulated: Simulated) -> None:
    _, made, rows = laid_out(simulated(1, 5))
    beta = np.linspace(-0.5, 0.5, len(made.columns))
    loading = np.diag([1.0, 0.8, 1.2, 0.5])[None]
    for block in rows:
        found, hessian = modes(block, loading, beta, np.zeros((block.size, 4)))

        def value(z: Array, block: Block = block) -> Array:
            whole = z.reshape(-1, 4)
            return evaluate(block, beta, loading, whole[..., None]).loglik[:, 0].sum() - (whole**2).sum() / 2

        assert differences(value, found.ravel()) == pytest.approx(0, abs=2e-3)
        width = 1e-3
        second = [value(found.ravel() + width * u) + value(found.ravel() - width * u) for u in np.eye(found.size)]
        bend = -(np.array(second) - 2 * value(found.ravel())) / width**2
        assert np.diagonal(hessian, axis1=1, axis2=2).ravel() == pytest.approx(bend, rel=1e-3)


def test_the_layout_in_blocks_changes_nothing(simulated: Simulated) -> None:
    decisions = simulated(2, 20)
    fits = []
    for size in (1, 50, 10_000):
        _, made, rows = laid_out(decisions, size)
        fits.append(fit_jointly(rows, 3 * np.eye(4)[None], 0.1, np.zeros(len(made.columns))))
    assert fits[0].coefficients == pytest.approx(fits[2].coefficients, abs=1e-8)
    assert fits[1].covariance == pytest.approx(fits[2].covariance, abs=1e-8)


def test_equal_situations_are_counted_together(simulated: Simulated) -> None:
    decisions = simulated(2, 20)
    situations = count_situations(decisions)
    assert situations.counts.sum() == len(decisions)
    assert len(situations.pattern) < len(decisions)
    assert len(situations.model) < len(situations.pattern)
    twice = [getattr(situations, name)[situations.pattern] for name in ("model", "own", "previous", "within")]
    rows = np.column_stack([situations.dilemma, *twice])
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_two_dimensions_by_brute_force() -> None:
    """One dilemma, one decision between three verdicts: the integral over a plane."""
    decisions = decisions_of_columns(
        discussion=["t"],
        dilemma=["d"],
        format=["synchronous"],
        round=[1],
        position=[None],
        model=["A"],
        verdict=["x"],
        verdicts=("x", "y", "z"),
    )
    _, made, rows = laid_out(decisions)
    root = np.array([[1.1, 0.0], [-0.4, 0.7]])

    def density(b: float, a: float) -> float:
        logits = made.basis @ root @ np.array([a, b])
        return float(np.exp(logits[0]) / np.exp(logits).sum() * norm.pdf(a) * norm.pdf(b))

    exact = log(dblquad(density, -8, 8, -8, 8, epsabs=1e-9)[0])
    at = marginal_likelihood(rows, any_covariance(2), gauss_hermite(2, 11), len(made.columns))
    parameters = np.concatenate([np.zeros(len(made.columns)), [1.1, -0.4, 0.7]])
    assert at(parameters, zeros(rows, 2)).loglik == pytest.approx(exact, abs=1e-5)
