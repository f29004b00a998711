from math import isnan

import numpy as np
import pytest

from overton.statistics.resampling import limits, tail


def test_tails_are_those_of_the_level_for_many_clusters_and_smaller_for_few() -> None:
    assert tail(100_000, 0.95) == pytest.approx(0.025, abs=1e-4)
    assert tail(5, 0.95) < 0.005
    assert isnan(tail(1, 0.95))


def one(draws: np.ndarray, clusters: float = 1e9, level: float = 0.8) -> tuple[float, float]:
    low, high = limits(draws[:, None].astype(np.float32), np.array([clusters]), level)
    return float(low[0]), float(high[0])


def test_limits_hold_the_value_even_where_the_draws_do_not() -> None:
    low, high = one(np.linspace(0, 1, 101) - 1.5)
    assert (1.5 + low, 1.5 + high) == pytest.approx((0.1, 1.5))


def test_limits_are_numpys_quantiles_of_the_draws_that_there_are() -> None:
    draws = np.random.default_rng(0).normal(size=500)
    assert one(draws) == pytest.approx(np.quantile(draws, (0.1, 0.9)), abs=1e-5)
    assert one(np.append(draws, [np.nan, np.nan])) == pytest.approx(np.quantile(draws, (0.1, 0.9)), abs=1e-5)


@pytest.mark.parametrize(("draws", "clusters"), [(np.array([-1.0, 1.0]), 1), (np.array([np.nan, np.nan]), 9)])
def test_there_are_no_limits_from_one_cluster_or_no_draws(draws: np.ndarray, clusters: int) -> None:
    assert all(map(isnan, one(draws, clusters)))


def test_each_number_has_the_tail_of_its_own_clusters() -> None:
    draws = np.repeat(np.random.default_rng(0).normal(size=(2000, 1)), 3, axis=1).astype(np.float32)
    low, high = limits(draws, np.array([5.0, 50.0, 5000.0]), 0.95)
    width = high - low
    assert width[0] > width[1] > width[2]
