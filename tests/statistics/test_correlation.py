from math import isnan

import numpy as np
import pytest
from scipy.stats import pearsonr

from overton.statistics.correlation import clustered_pearson
from overton.statistics.jackknife import Jackknife


def test_the_value_is_pearsons_and_n_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    found = clustered_pearson(x, y, np.arange(60), Jackknife())
    assert found.value == pytest.approx(pearsonr(x, y).statistic)
    assert found.n == 60
    expected = pearsonr(x, y).confidence_interval()
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.08)
    assert "Fisher's z" in found.method


def test_pairs_that_only_repeat_their_cluster_do_not_narrow_the_interval() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    once = clustered_pearson(x, y, np.arange(30), Jackknife())
    repeated = clustered_pearson(np.repeat(x, 5), np.repeat(y, 5), np.repeat(np.arange(30), 5), Jackknife())
    assert (repeated.low, repeated.high) == pytest.approx((once.low, once.high))


def test_pairs_with_a_nan_are_left_out() -> None:
    found = clustered_pearson(np.array([1, 2, 3, np.nan]), np.array([2.0, 4.0, 6.0, 1.0]), [0, 1, 2, 3], Jackknife())
    assert (found.value, found.n) == (pytest.approx(1), 3)


def test_values_that_do_not_vary_have_no_correlation() -> None:
    found = clustered_pearson(np.ones(5), np.arange(5.0), np.arange(5), Jackknife())
    assert isnan(found.value)
    assert found.method.startswith("not computed: ")
