"""The penalised estimator against the same model written out densely and handed to an optimiser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from overton.studies.deliberation.choice_model import ALL_MODELS, Decisions, fit

Array = NDArray[np.float64]
PENALTY = 0.3


class Dense:
    """Equation 2 with every parameter a number of its own: K preferences a model, K effects a dilemma."""

    def __init__(self, decisions: Decisions) -> None:
        models, verdicts = len(decisions.models), len(decisions.verdicts)
        rows, place = np.arange(len(decisions)), np.arange(verdicts)
        self.x = np.zeros((len(decisions), verdicts, models * verdicts + decisions.dilemmas * verdicts + models + 2))
        for v in place:
            self.x[rows, v, decisions.model * verdicts + v] = 1
            self.x[rows, v, models * verdicts + decisions.dilemma * verdicts + v] = 1
            self.x[rows, v, -models - 2 + decisions.model] = decisions.own_previous == v
        self.x[:, :, -2], self.x[:, :, -1] = decisions.n_prev, decisions.n_within
        self.chosen = self.x[rows, decisions.choice]

    def objective(self, b: Array) -> float:
        logits = self.x @ b
        return float(logsumexp(logits, axis=1).sum() - (self.chosen @ b).sum() + PENALTY / 2 * b @ b)

    def slope(self, b: Array) -> Array:
        chances = np.exp(self.x @ b - logsumexp(self.x @ b, axis=1, keepdims=True))
        return np.einsum("nk,nkp->p", chances, self.x) - self.chosen.sum(0) + PENALTY * b

    def hessian(self, b: Array) -> Array:
        chances = np.exp(self.x @ b - logsumexp(self.x @ b, axis=1, keepdims=True))
        mean = np.einsum("nk,nkp->np", chances, self.x)
        square = np.einsum("nk,nkp,nkq->pq", chances, self.x, self.x, optimize=True)
        return np.asarray(square - mean.T @ mean + PENALTY * np.eye(len(b)))


@pytest.fixture(scope="module")
def decisions(simulated: Callable[..., Decisions]) -> Decisions:
    return simulated(11, 8)


@pytest.fixture(scope="module")
def dense(decisions: Decisions) -> tuple[Array, Array]:
    problem = Dense(decisions)
    start = np.zeros(problem.x.shape[2])
    solved = minimize(
        problem.objective, start, jac=problem.slope, hess=problem.hessian, method="trust-exact", options={"gtol": 1e-9}
    )
    return solved.x, np.sqrt(np.diag(np.linalg.inv(problem.hessian(solved.x))))


def test_estimates_and_errors_are_those_of_the_dense_problem(decisions: Decisions, dense: tuple[Array, Array]) -> None:
    found = fit(decisions, estimator="penalised", penalty=PENALTY)
    named = [*found.inertia.values(), found.previous[ALL_MODELS], found.within[ALL_MODELS]]
    assert [one.estimate for one in named] == pytest.approx(dense[0][-5:], abs=1e-5)
    assert [one.se for one in named] == pytest.approx(dense[1][-5:], rel=1e-5)


def test_so_are_preferences(decisions: Decisions, dense: tuple[Array, Array]) -> None:
    found = fit(decisions, estimator="penalised", penalty=PENALTY)
    preference = [one for of_model in found.preference.values() for one in of_model.values() if one.reason is None]
    known = [i for i, of in enumerate(p for m in found.preference.values() for p in m.values()) if of.reason is None]
    assert len(known) > 10
    assert [one.estimate for one in preference] == pytest.approx(dense[0][known], abs=1e-5)


def test_the_likelihood_leaves_the_penalty_out(decisions: Decisions, dense: tuple[Array, Array]) -> None:
    without = -Dense(decisions).objective(dense[0]) + PENALTY / 2 * dense[0] @ dense[0]
    assert fit(decisions, estimator="penalised", penalty=PENALTY).loglik == pytest.approx(without, abs=1e-3)


def test_a_larger_penalty_shrinks_estimates_towards_zero(decisions: Decisions) -> None:
    weak, strong = (fit(decisions, estimator="penalised", penalty=penalty) for penalty in (0.1, 100.0))
    assert 0 < strong.inertia["A"].estimate < weak.inertia["A"].estimate
