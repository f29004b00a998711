from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from overton.statistics.comparison import variance_of_means
from overton.statistics.tests import permuted_within


def influence(values: np.ndarray) -> np.ndarray:
    """Of the means of columns, each row being a cluster."""
    return (values - values.mean(0)) / len(values)


def test_of_two_means_the_limits_are_students_of_their_difference_squared() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2)) + np.array([0.0, 2.0])
    gap = values[:, 1] - values[:, 0]
    half = student.ppf(0.975, 11) * gap.std(ddof=1) / sqrt(12)
    made = variance_of_means(values.mean(0), influence(values), 12, 0.95)
    assert made.value == pytest.approx(gap.mean() ** 2 / 2)
    assert (made.low, made.high) == pytest.approx(((gap.mean() - half) ** 2 / 2, (gap.mean() + half) ** 2 / 2))
    assert made.by_chance == pytest.approx(gap.var(ddof=1) / 12 / 2)


@pytest.mark.parametrize("effect", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("clusters", [5, 12, 50])
def test_limits_of_the_variance_of_three_means_cover_the_truth(effect: float, clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    truth, held = np.array([0, effect, 2 * effect]), []
    for _ in range(400):
        values = rng.normal(size=(clusters, 1)) + rng.normal(size=(clusters, 3)) + truth
        made = variance_of_means(values.mean(0), influence(values), clusters, 0.95)
        held.append(made.low <= truth.var(ddof=1) <= made.high)
    assert np.mean(held) >= 0.92


def test_variance_by_chance_ignores_values_common_to_all_columns() -> None:
    rng = np.random.default_rng(1)
    own, noise = 10 * rng.normal(size=(40, 1)), rng.normal(size=(40, 3))
    with_own, without = (
        variance_of_means(one.mean(0), influence(one), 40, 0.95).by_chance for one in (own + noise, noise)
    )
    assert with_own == pytest.approx(without)


def test_means_that_do_not_vary_have_no_limits_and_those_that_happen_to_be_equal_have() -> None:
    assert isnan(variance_of_means(np.zeros(3), np.zeros((8, 3)), 8, 0.95).low)
    values = np.random.default_rng(4).normal(size=(8, 2))
    made = variance_of_means(np.zeros(2), influence(values), 8, 0.95)
    assert (made.value, made.low) == (0, 0)
    assert made.high > made.by_chance


def test_a_permutation_test_by_hand() -> None:
    # Of the 2^4 ways to turn four rows, only two are as far apart as these: p = 2 / 16, but for the draws.
    values = np.array([[0.0, 1.0], [0.2, 0.9], [0.4, 0.5], [0.1, 0.3]])
    assert permuted_within(values, 20_000, 0) == pytest.approx(1 / 8, abs=0.01)
    assert permuted_within(values, 500, 7) == permuted_within(values, 500, 7)


def test_a_permutation_test_is_paired() -> None:
    rng = np.random.default_rng(2)
    values = 10 * rng.normal(size=(20, 1)) + 0.3 * rng.normal(size=(20, 3)) + [0, 0, 0.6]
    assert permuted_within(values, 500, 0) < 0.01
    assert permuted_within(np.where(np.eye(20, 3, dtype=bool), nan, values)[:3], 500, 0) != 0


def test_permutation_test_rejects_at_its_level_where_nothing_differs() -> None:
    rng = np.random.default_rng(3)
    p = [permuted_within(rng.exponential(size=(8, 1)) + rng.exponential(size=(8, 3)), 200, 0) for _ in range(300)]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08


def test_permutation_test_leaves_out_incomplete_rows_and_is_nan_without_rows() -> None:
    values = np.array([[0.0, 1.0], [nan, 5.0], [0.2, 0.9]])
    assert permuted_within(values, 100, 0) == permuted_within(values[[0, 2]], 100, 0)
    assert isnan(permuted_within(np.full((3, 2), nan), 100, 0))
    assert permuted_within(np.ones((5, 2)), 100, 0) == 1
