from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from overton.statistics.resampling import Jackknife, Counts, Resampling, Sums


def test_equal_settings_give_equal_resamples_and_another_seed_others() -> None:
    assert np.array_equal(Jackknife(seed=3).weights(7), Jackknife(seed=3).weights(7))
    assert not np.array_equal(Jackknife(seed=3).weights(7), Jackknife(seed=4).weights(7))


def test_a_resample_holds_as_many_clusters_as_there_are() -> None:
    weights = Jackknife(resamples=50).weights(9)
    assert weights.shape == (50, 9)
    assert (weights.sum(1) == 9).all()


def test_the_interval_of_a_mean_is_as_wide_as_students() -> None:
    values = np.random.default_rng(0).normal(10, 2, 12)
    made = Jackknife(resamples=20_000).mean(values)
    half = student.ppf(0.975, 11) * values.std(ddof=1) / sqrt(12)
    assert made.value == pytest.approx(values.mean())
    assert (made.high - made.low) / 2 == pytest.approx(half, rel=0.1)
    assert made.n == 12


def test_values_that_are_nan_are_left_out_and_not_counted() -> None:
    made = Jackknife().mean([1.0, nan, 3.0])
    assert (made.value, made.n) == (2.0, 2)


def test_one_cluster_has_no_interval_and_none_no_value() -> None:
    one = Jackknife().mean([2.0])
    assert (one.value, isnan(one.low), one.n) == (2.0, True, 1)
    none = Jackknife().mean([])
    assert isnan(none.value)
    assert none.method == "not computed: no issues to average"


def test_a_ratio_weighs_clusters_by_their_denominators() -> None:
    made = Jackknife().ratio([1.0, 8.0, 5.0], [2.0, 10.0, 0.0])
    assert (made.value, made.n) == (9 / 12, 2)
    assert 0.5 <= made.low < 9 / 12 < made.high <= 0.8


def test_of_many_clusters_the_interval_is_that_of_all_of_them_but_for_noise() -> None:
    values = np.random.default_rng(1).normal(3, 1, 5000)
    made, half = Jackknife().mean(values), 1.96 * values.std() / sqrt(5000)
    assert (made.value, made.n) == (pytest.approx(values.mean()), 5000)
    assert (made.high - made.low) / 2 == pytest.approx(half, rel=0.1)


def test_neighbours_of_many_clusters_are_not_resampled_together() -> None:
    trend = np.linspace(0, 1, 3000)
    made = Jackknife().mean(trend)
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * trend.std() / sqrt(3000), rel=0.1)


def test_groups_of_many_clusters_are_alike_in_size() -> None:
    sizes = np.bincount(Jackknife().over(2500).group)
    assert (len(sizes), sizes.min(), sizes.max()) == (1000, 2, 3)


def test_what_is_the_same_in_every_cluster_has_no_width_or_the_reason_that_a_study_gives() -> None:
    same = [0.3, 0.3, 0.3]
    made = Jackknife().mean(same)
    assert (made.low, made.value, made.high) == pytest.approx((0.3, 0.3, 0.3), abs=0)
    made = Jackknife(unvaried="the same: no interval").mean(same)
    assert (made.value, isnan(made.low), isnan(made.high)) == (pytest.approx(0.3), True, True)
    assert made.method == "the same: no interval"


def test_a_study_may_name_its_only_cluster() -> None:
    assert Jackknife().mean([2.0]).method == "one of issues: no interval"
    assert Jackknife(single="one dilemma").mean([2.0]).method == "one dilemma: no interval"


def moments(values: list[float], resampling: Resampling) -> tuple[Sums, np.ndarray]:
    sums = resampling.sums(Counts(np.array(values), np.ones(len(values))))
    return sums, (np.array(values) - sums.numbers.value)[:, None] ** 2


def test_a_deviation_and_its_interval() -> None:
    values = np.random.default_rng(2).normal(0, 2, 400)
    resampling = Jackknife().over(400)
    (((mean,), (made,)),) = resampling.moments([moments(values.tolist(), resampling)], "nothing", "too few")
    assert mean == Jackknife().mean(values)
    error = values.std() / sqrt(2 * 400)
    assert made.value == pytest.approx(values.std(ddof=1))
    assert (made.high - made.low) / 2 == pytest.approx(1.96 * error, rel=0.15)


def test_a_deviation_of_one_or_none_says_why() -> None:
    resampling = Jackknife().over(1)
    one, none = resampling.sums(Counts(np.ones(1), np.ones(1))), resampling.sums(Counts(np.zeros(1), np.zeros(1)))
    made = resampling.moments([(one, np.zeros((1, 1))), (none, np.zeros((1, 1)))], "nothing", "too few")
    assert [deviation.method for _, (deviation,) in made] == ["not computed: too few", "not computed: nothing"]


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

    made = Jackknife(resamples=50).over(6).statistic(parts, first_of_all, "nothing", block=block, use=use)
    assert seen[0].tolist() == [[[5.0], [7.0]]]
    assert (made.value, made.n) == (5, 5)


def test_draws_of_two_numbers_are_of_the_same_resamples() -> None:
    resampling, values = Jackknife().over(30), np.random.default_rng(6).normal(size=30)
    one, other = (resampling.draws(resampling.sums(Counts(part, np.ones(30)))) for part in (values, values + 5))
    assert one == pytest.approx(other, abs=1e-6)
