from math import log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from overton.statistics.logit import fit_logit, separated_rows

Floats = NDArray[np.float64]


def simulated(groups: int = 6, rows: int = 400, seed: int = 0) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=rows)
    design = rng.normal(size=(rows, 2))
    chance = 1 / (1 + np.exp(-(np.linspace(-1, 1, groups)[group] + design @ [0.8, -0.4])))
    trials = rng.integers(1, 8, size=rows)
    return rng.binomial(trials, chance).astype(float), trials.astype(float), design, group


def log_likelihood(theta: Floats, data: tuple[Floats, Floats, Floats, NDArray[np.int64]], *, firth: bool) -> float:
    successes, trials, design, group = data
    full = np.column_stack([np.eye(group.max() + 1)[group], design])
    predictor = full @ theta
    value = float(np.sum(successes * predictor - trials * np.logaddexp(0, predictor)))
    if firth:
        chance = 1 / (1 + np.exp(-predictor))
        information = full.T @ ((trials * chance * (1 - chance))[:, None] * full)
        value += 0.5 * float(np.linalg.slogdet(information)[1])
    return value


@pytest.mark.parametrize("firth", [True, False])
def test_estimates_maximise_the_likelihood(firth: bool) -> None:
    data = simulated()
    found = fit_logit(*data, 6, firth=firth)
    best = minimize(lambda theta: -log_likelihood(theta, data, firth=firth), np.zeros(8), method="BFGS")
    np.testing.assert_allclose(np.concatenate([found.intercepts, found.slopes]), best.x, atol=2e-4)


def test_standard_errors_are_from_the_information() -> None:
    successes, trials, design, group = simulated()
    found = fit_logit(successes, trials, design, group, 6)
    full = np.column_stack([np.eye(6)[group], design])
    chance = 1 / (1 + np.exp(-(full @ np.concatenate([found.intercepts, found.slopes]))))
    covariance = np.linalg.inv(full.T @ ((trials * chance * (1 - chance))[:, None] * full))
    np.testing.assert_allclose(
        np.concatenate([found.intercept_errors, found.slope_errors]), np.sqrt(np.diag(covariance)), rtol=1e-6
    )


def test_equal_rows_may_be_grouped() -> None:
    successes, trials, design, group = simulated(rows=60)
    counts = trials.astype(int)
    single = np.concatenate([[1.0] * int(s) + [0.0] * int(n - s) for s, n in zip(successes, counts, strict=True)])
    grouped = fit_logit(successes, trials, design, group, 6)
    spread = fit_logit(single, np.ones(single.size), np.repeat(design, counts, axis=0), np.repeat(group, counts), 6)
    np.testing.assert_allclose(grouped.slopes, spread.slopes)
    np.testing.assert_allclose(grouped.intercept_errors, spread.intercept_errors)


def test_firth_of_a_single_share_adds_half_an_answer_to_each_side() -> None:
    found = fit_logit(np.array([7.0]), np.array([10.0]), np.zeros((1, 0)), np.array([0]), 1)
    assert found.intercepts[0] == pytest.approx(log(7.5 / 3.5))


def test_a_slope_that_separates_has_no_value_and_the_rest_is_fitted() -> None:
    # Column 0 decides wherever it is not 0; the other rows still tell column 1 and the intercepts.
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.integers(-1, 2, 300), rng.normal(size=300)]).astype(float)
    trials = np.full(300, 4.0)
    chance = 1 / (1 + np.exp(-0.7 * design[:, 1]))
    decided = np.where(design[:, 0] > 0, 4, 0)
    successes = np.where(design[:, 0] == 0, rng.binomial(4, chance), decided).astype(float)
    found = fit_logit(successes, trials, design, np.zeros(300, np.int64), 1)
    alone = design[:, 0] == 0
    expected = fit_logit(successes[alone], trials[alone], design[alone][:, 1:], np.zeros(alone.sum(), np.int64), 1)
    assert found.separated
    assert np.isnan(found.slopes[0])
    assert found.slopes[1] == pytest.approx(expected.slopes[0])
    assert found.intercepts[0] == pytest.approx(expected.intercepts[0])


def test_a_group_of_equal_answers_has_no_intercept_and_leaves_the_others() -> None:
    successes, trials, design, group = simulated()
    without = group != 2
    found = fit_logit(np.where(without, successes, trials), trials, design, group, 6)
    expected = fit_logit(successes[without], trials[without], design[without], group[without], 6)
    assert np.isnan(found.intercepts[2])
    np.testing.assert_allclose(found.slopes, expected.slopes)


def test_columns_that_cannot_be_separated_have_no_value_and_leave_the_others() -> None:
    successes, trials, design, group = simulated()
    doubled = np.column_stack([design, design[:, 0]])
    found = fit_logit(successes, trials, doubled, group, 6)
    expected = fit_logit(successes, trials, design, group, 6)
    assert np.isnan(found.slopes[[0, 2]]).all()
    assert found.slopes[1] == pytest.approx(expected.slopes[1])
    np.testing.assert_allclose(found.intercepts, expected.intercepts)


def test_a_column_that_only_differs_between_groups_takes_their_intercepts_with_it() -> None:
    successes, trials, design, group = simulated()
    between = np.column_stack([design, group == 3]).astype(float)
    found = fit_logit(successes, trials, between, group, 6)
    assert np.isnan(found.slopes[2])
    assert np.isnan(found.intercepts[3])
    assert np.isfinite(found.intercepts[[0, 1, 2, 4, 5]]).all()


def test_no_answers_give_nothing() -> None:
    found = fit_logit(np.zeros(2), np.zeros(2), np.ones((2, 1)), np.array([0, 1]), 2)
    assert np.isnan(found.intercepts).all()
    assert np.isnan(found.slopes).all()
    assert found.n == 0


def test_dispersion_is_about_one_where_the_model_is_right_and_more_where_answers_cluster() -> None:
    successes, trials, design, group = simulated(rows=3000)
    assert fit_logit(successes, trials, design, group, 6).dispersion == pytest.approx(1, abs=0.1)
    rng = np.random.default_rng(1)
    clustered = trials * rng.binomial(1, np.clip(successes / trials, 0.2, 0.8))
    assert fit_logit(clustered, trials, design, group, 6).dispersion > 2


def separated(outcomes: list[int], values: list[float]) -> NDArray[np.bool_]:
    n = len(outcomes)
    design = np.array(values).reshape(n, 1)
    return separated_rows(np.array(outcomes, float), np.ones(n), design, np.zeros(n, np.int64), 1)


def test_overlapping_answers_are_not_separated() -> None:
    assert not separated([0, 1, 0, 1], [1, 2, 3, 4]).any()


def test_answers_divided_by_a_threshold_are_all_separated() -> None:
    assert separated([0, 0, 1, 1], [1, 2, 3, 4]).all()


def test_answers_at_the_threshold_itself_are_not() -> None:
    assert separated([0, 0, 1, 1, 1], [1, 2, 2, 3, 4]).tolist() == [True, False, False, True, True]


def test_rows_with_both_answers_hold_the_direction_back() -> None:
    found = separated_rows(
        np.array([0.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0]), np.array([[1.0], [1.0], [2.0]]), np.zeros(3, np.int64), 1
    )
    assert found.tolist() == [False, False, True]


def test_a_group_of_equal_answers_is_separated_alone() -> None:
    found = separated_rows(
        np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0]),
        np.ones(6),
        np.array([[1.0], [2.0], [3.0], [4.0], [1.0], [2.0]]),
        np.array([0, 0, 0, 0, 1, 1]),
        2,
    )
    assert found.tolist() == [False] * 4 + [True] * 2
