from math import isnan, log, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from overton.statistics.cluster_sums import ClusterSums, Sums
from overton.statistics.estimate import ANYTHING, SHARE
from overton.statistics.jackknife import Jackknife, Resampling


def test_the_interval_of_a_mean_is_as_wide_as_students() -> None:
    values = np.random.default_rng(0).normal(10, 2, 12)
    made = Jackknife().mean(values)
    half = student.ppf(0.975, 11) * values.std(ddof=1) / sqrt(12)
    assert made.value == pytest.approx(values.mean())
    assert (made.high - made.low) / 2 == pytest.approx(half, rel=0.05)
    assert made.error == pytest.approx(values.std(ddof=1) / sqrt(12))
    assert made.n == 12


def test_values_that_are_nan_are_left_out_and_not_counted() -> None:
    made = Jackknife().mean([1.0, nan, 3.0])
    assert (made.value, made.n) == (2.0, 2)


def test_no_cluster_has_no_value() -> None:
    none = Jackknife().mean([])
    assert isnan(none.value)
    assert none.method == "not computed: no issues to average"


def test_a_ratio_weighs_clusters_by_their_denominators() -> None:
    made = Jackknife().ratio([1.0, 8.0, 5.0, 2.0, 2.0, 3.0], [2.0, 10.0, 0.0, 4.0, 4.0, 4.0])
    assert (made.value, made.n) == (16 / 24, 5)
    assert made.low < 16 / 24 < made.high


def test_the_error_of_a_ratio_is_that_of_leaving_out_each_cluster() -> None:
    above, below = np.array([1.0, 8.0, 2.0, 2.0, 3.0, 9.0]), np.array([2.0, 10.0, 4.0, 4.0, 4.0, 11.0])
    without = [(above.sum() - a) / (below.sum() - b) for a, b in zip(above, below, strict=True)]
    made = Jackknife().ratio(above, below)
    assert made.error == pytest.approx(sqrt(5 / 6 * ((without - np.mean(without)) ** 2).sum()))


def test_of_many_clusters_the_interval_is_that_of_all_of_them_but_for_noise() -> None:
    values = np.random.default_rng(1).normal(3, 1, 5000)
    made, half = Jackknife().mean(values), 1.96 * values.std() / sqrt(5000)
    assert (made.value, made.n) == (pytest.approx(values.mean()), 5000)
    assert (made.high - made.low) / 2 == pytest.approx(half, rel=0.1)


def test_neighbours_of_many_clusters_are_not_left_out_together() -> None:
    trend = np.linspace(0, 1, 3000)
    made = Jackknife().mean(trend)
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * trend.std() / sqrt(3000), rel=0.1)


def test_groups_of_many_clusters_are_alike_in_size() -> None:
    sizes = np.bincount(Jackknife().over(2500).group)
    assert (len(sizes), sizes.min(), sizes.max()) == (1000, 2, 3)


def test_equal_clusters_get_a_reason_instead_of_an_interval() -> None:
    made = Jackknife(unit="topics").mean([0.3] * 7)
    assert (made.value, isnan(made.low), isnan(made.high), made.error) == (pytest.approx(0.3), True, True, None)
    assert made.method == "no interval: the same in all 7 topics"


def test_equal_clusters_get_wilsons_limits_if_the_range_is_known() -> None:
    most = 1.96**2 / (12 + 1.96**2)  # the upper limit of a share that is 0 in twelve
    made = Jackknife().mean([0.25] * 12, (0.0, 1.0))
    assert (made.low, made.high) == pytest.approx((0.25 - most * 0.25, 0.25 + most * 0.75), abs=1e-4)
    score = Jackknife().mean([0.0] * 12, (0.0, 100.0))
    assert (score.low, score.high) == (0, pytest.approx(100 * most, abs=0.01))
    assert score.method == "Wilson, over issues"


def moments(values: list[float], resampling: Resampling) -> tuple[Sums, np.ndarray]:
    sums = resampling.sums(ClusterSums(np.array(values), np.ones(len(values))))
    return sums, (np.array(values) - sums.numbers.value)[:, None] ** 2


def test_a_deviation_and_its_interval() -> None:
    values = np.random.default_rng(2).normal(0, 2, 400)
    resampling = Jackknife().over(400)
    (made,) = resampling.deviations(*moments(values.tolist(), resampling), "nothing", "too few")
    error = values.std() / sqrt(2 * 400)
    assert made.value == pytest.approx(values.std(ddof=1))
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * error, rel=0.15)


def test_a_deviation_has_students_interval_of_its_logarithm() -> None:
    values = [1.0, 2.0, 4.0, 3.0, 7.0, 5.0]
    resampling = Jackknife().over(6)
    (made,) = resampling.deviations(*moments(values, resampling), "nothing", "too few")
    without = np.array([log(np.std(values[:k] + values[k + 1 :], ddof=1)) for k in range(6)])
    moved = np.mean(without) - without
    error, bend = sqrt(5 / 6 * (moved**2).sum()), 0.9 * (moved**3).sum() / (moved**2).sum() ** 1.5 / 3
    t = log(made.value / made.low) / error
    assert ((1 + bend * t) ** 3 - 1) / (3 * bend) + bend / 2 == pytest.approx(student.ppf(0.975, 5))
    assert log(made.high / made.value) / error == pytest.approx(1.6 * student.ppf(0.975, 5))  # no limit is further out
    assert made.method.endswith("; intervals remain too narrow for skewed values")


def test_no_deviation_of_shares_is_more_than_a_half() -> None:
    values = [0.0, 0.1, 0.1, 0.05, 0.9, 0.2]
    resampling = Jackknife().over(6)
    (free, kept) = (
        resampling.deviations(*moments(values, resampling), "", "", within)[0] for within in (ANYTHING, SHARE)
    )
    assert (kept.low, kept.high) == (free.low, 0.5)
    assert free.high > 0.5


def test_a_deviation_of_one_or_none_says_why() -> None:
    resampling = Jackknife().over(1)
    one, none = (
        resampling.sums(ClusterSums(np.ones(1), np.ones(1))),
        resampling.sums(ClusterSums(np.zeros(1), np.zeros(1))),
    )
    made = [resampling.deviations(sums, np.zeros((1, 1)), "nothing", "too few")[0].method for sums in (one, none)]
    assert made == ["not computed: too few", "not computed: nothing"]


def test_a_deviation_that_rests_on_one_cluster_has_no_interval() -> None:
    resampling = Jackknife().over(6)
    (made,) = resampling.deviations(*moments([0, 0, 0, 0, 0, 1.0], resampling), "nothing", "too few")
    assert made.value == pytest.approx(1 / sqrt(6))
    assert (isnan(made.low), made.method) == (True, "no interval: it rests on one of the issues")


def test_any_function_of_sums_is_resampled_by_cluster() -> None:
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(40), 5)
    values = rng.normal(size=40)[cluster]
    parts = np.stack([np.ones(200), values], axis=1)

    def mean(sums: np.ndarray) -> np.ndarray:
        return sums[:, 0, 1] / sums[:, 0, 0]

    made = Jackknife().over(cluster).statistic(parts, mean, "nothing")
    expected = Jackknife().mean(values[::5])
    assert made.value == pytest.approx(expected.value)
    assert (made.low, made.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert made.n == 200


def test_a_function_sees_blocks_apart_and_only_the_rows_chosen() -> None:
    parts, block = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 0, 1])
    use = np.array([True, True, True, False, True, True])
    seen = []

    def first_of_all(sums: np.ndarray) -> np.ndarray:
        seen.append(sums)
        return sums[:, 0, 0]

    made = Jackknife().over(6).statistic(parts, first_of_all, "nothing", block=block, use=use)
    assert seen[0].tolist() == [[[5.0], [7.0]]]
    assert seen[1][4].tolist() == [[1.0], [7.0]]
    assert (made.value, made.n) == (5, 5)


def test_influence_on_two_numbers_is_of_the_same_clusters() -> None:
    resampling, values = Jackknife().over(30), np.random.default_rng(6).normal(size=30)
    one, other = (
        resampling.influence(resampling.sums(ClusterSums(part, np.ones(30)))) for part in (values, values + 5)
    )
    assert one.parts == pytest.approx(other.parts, abs=1e-12)
    assert (one - other).parts == pytest.approx(0, abs=1e-12)
