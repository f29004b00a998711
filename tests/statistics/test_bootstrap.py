from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from overton.statistics.resampling import Bootstrap, percentile_limits, tail


def test_equal_settings_give_equal_resamples_and_another_seed_others() -> None:
    assert np.array_equal(Bootstrap(seed=3).weights(7), Bootstrap(seed=3).weights(7))
    assert not np.array_equal(Bootstrap(seed=3).weights(7), Bootstrap(seed=4).weights(7))


def test_a_resample_holds_as_many_clusters_as_there_are() -> None:
    weights = Bootstrap(resamples=50).weights(9)
    assert weights.shape == (50, 9)
    assert (weights.sum(1) == 9).all()


def test_the_interval_of_a_mean_is_as_wide_as_students() -> None:
    values = np.random.default_rng(0).normal(10, 2, 12)
    made = Bootstrap(resamples=20_000).mean(values)
    half = student.ppf(0.975, 11) * values.std(ddof=1) / sqrt(12)
    assert made.value == pytest.approx(values.mean())
    assert (made.high - made.low) / 2 == pytest.approx(half, rel=0.1)
    assert made.n == 12


def test_values_that_are_nan_are_left_out_and_not_counted() -> None:
    made = Bootstrap().mean([1.0, nan, 3.0])
    assert (made.value, made.n) == (2.0, 2)


def test_one_cluster_has_no_interval_and_none_no_value() -> None:
    one = Bootstrap().mean([2.0])
    assert (one.value, isnan(one.low), one.n) == (2.0, True, 1)
    none = Bootstrap().mean([])
    assert isnan(none.value)
    assert none.method == "not computed: no issues to average"


def test_a_ratio_weighs_clusters_by_their_denominators() -> None:
    made = Bootstrap().ratio([1.0, 8.0, 5.0], [2.0, 10.0, 0.0])
    assert (made.value, made.n) == (9 / 12, 2)
    assert 0.5 <= made.low < 9 / 12 < made.high <= 0.8


def test_tails_are_those_of_the_level_for_many_clusters_and_smaller_for_few() -> None:
    assert tail(100_000, 0.95) == pytest.approx(0.025, abs=1e-4)
    assert tail(5, 0.95) < 0.005
    assert isnan(tail(1, 0.95))


def test_limits_hold_the_value_even_where_the_draws_do_not() -> None:
    assert percentile_limits(np.linspace(0, 1, 101), 1.5, 0.1) == pytest.approx((0.1, 1.5))
