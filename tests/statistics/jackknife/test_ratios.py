from math import sqrt

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student

from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import ANYTHING, SHARE
from overton.statistics.jackknife import Jackknife

JACKKNIFE = Jackknife(seed=3, unit="dilemmas")


def counts(dilemmas, seed=0, chance=0.3):
    rng = np.random.default_rng(seed)
    below = rng.integers(1, 5, dilemmas).astype(float)
    return ClusterSums(rng.binomial(below.astype(int), chance).astype(float), below)


def by_hand(one):
    """The ratio and Student's limits, every cluster left out by itself."""
    many = len(one.below)
    value, without = (
        one.above.sum() / one.below.sum(),
        [
            (one.above.sum() - above) / (one.below.sum() - below)
            for above, below in zip(one.above, one.below, strict=True)
        ],
    )
    half = student.ppf(0.975, many - 1) * sqrt((many - 1) / many * ((without - np.mean(without)) ** 2).sum())
    return value, value - half, value + half


def test_a_rate_and_its_interval_are_those_of_leaving_out_each_cluster():
    one = counts(60)
    made = JACKKNIFE.over(60).ratio(one, "nothing")
    value, low, high = by_hand(one)
    assert made.value == pytest.approx(value)
    assert made.high - made.low == pytest.approx(high - low, rel=0.05)
    assert made.n == one.below.sum()


def test_many_dilemmas_in_groups_give_the_same_interval_but_for_noise():
    one = counts(5000)
    made, (value, low, high) = JACKKNIFE.over(5000).ratio(one, "nothing"), by_hand(one)
    assert made.value == pytest.approx(value)
    assert made.high - made.low == pytest.approx(high - low, rel=0.1)


def test_a_rate_with_nothing_below_says_why():
    made = JACKKNIFE.over(4).ratio(ClusterSums(np.zeros(4), np.zeros(4)), "no message has values")
    assert np.isnan(made.value)
    assert made.method == "not computed: no message has values"


def test_a_share_of_none_in_every_resample_has_wilsons_interval_and_a_mean_does_not():
    one, resampling = ClusterSums(np.zeros(50), np.full(50, 2.0)), JACKKNIFE.over(50)
    share, mean = resampling.ratio(one, ""), resampling.ratio(one, "", ANYTHING)
    assert share.method.startswith("Wilson")
    assert (share.low, share.high) == pytest.approx((0, 0.0713), abs=1e-3)
    assert np.isnan([mean.low, mean.high]).all()
    assert mean.method == "no interval: the same in all 50 dilemmas"


def test_one_dilemma_gives_no_interval():
    made = JACKKNIFE.over(1).ratio(ClusterSums(np.ones(1), np.full(1, 2.0)), "")
    assert made.value == 0.5
    assert np.isnan(made.low)


def test_a_difference_of_paired_sides_is_narrower_than_of_sides_that_share_nothing():
    rng = np.random.default_rng(1)
    base = rng.random(200) < 0.5
    first = ClusterSums(base.astype(float), np.ones(200))
    second = ClusterSums((base ^ (rng.random(200) < 0.1)).astype(float), np.ones(200))
    shuffled = ClusterSums(rng.permutation(second.above), np.ones(200))
    resampling = JACKKNIFE.over(200)
    paired, unpaired = (made[0][2] for made in resampling.differences([(first, second), (first, shuffled)], ""))
    assert paired.value == pytest.approx(unpaired.value)
    assert paired.high - paired.low < 0.6 * (unpaired.high - unpaired.low)


def test_of_two_sides_that_always_differ_so_many_may_be_otherwise_as_wilsons_limit_allows():
    never, always = ClusterSums(np.zeros(40), np.ones(40)), ClusterSums(np.ones(40), np.ones(40))
    resampling = JACKKNIFE.over(40)
    _, _, gap = resampling.differences([(never, always)], "")[0][0]
    assert gap.value == 1
    most = 1.96**2 / (40 + 1.96**2)
    assert (gap.low, gap.high) == (pytest.approx(1 - 2 * most, abs=1e-4), 1)


def test_wide_counts_come_back_in_their_own_lists():
    wide = ClusterSums(np.eye(3)[:, :2], np.ones(3))
    narrow = ClusterSums(np.ones(3), np.full(3, 2.0))
    made = JACKKNIFE.over(3).ratios([wide, narrow], "")
    assert [[one.value for one in part] for part in made] == [[pytest.approx(1 / 3)] * 2, [0.5]]


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(5)
    resampling = Jackknife().over(60)
    below = np.full(60, 2.0)
    chances = rng.beta(2, 3, (300, 60))  # dilemmas differ; their mean chance is 0.4
    found = resampling.ratios((ClusterSums(rng.binomial(2, chance).astype(float), below) for chance in chances), "")
    covered = np.mean([one.low <= 0.4 <= one.high for (one,) in found])
    assert 0.91 <= covered <= 0.98


def test_sums_by_cluster_and_by_group_give_the_same():
    rng = np.random.default_rng(7)
    below = rng.integers(0, 3, (1500, 4)).astype(float)
    one, resampling = ClusterSums(rng.binomial(below.astype(int), 0.4).astype(float), below), JACKKNIFE.over(1500)
    (found,) = resampling.ratios([one], "")
    (made,) = resampling.ratios([resampling.sums(one)], "")
    assert found == made
    assert [estimate.n for estimate in made] == below.sum(0).tolist()


def test_more_numbers_than_are_resampled_at_once_are_the_same_numbers(monkeypatch):
    rng = np.random.default_rng(8)
    many = [ClusterSums(rng.random((30, wide)), np.ones((30, 1))) for wide in (5, 1, 7, 2, 11)]
    pairs = [(one, ClusterSums(one.above[::-1], one.below)) for one in many]
    resampling = JACKKNIFE.over(30)
    rates, gaps = resampling.ratios(many, ""), resampling.differences(pairs, "")
    monkeypatch.setattr("overton.statistics.jackknife._AT_ONCE", 3 * 30)
    assert [len(part) for part in rates] == [5, 1, 7, 2, 11]
    for made, expected in ((resampling.ratios(many, ""), rates), (resampling.differences(pairs, ""), gaps)):
        assert [len(part) for part in made] == [len(part) for part in expected]
        flat, others = ([one for part in side for one in part] for side in (made, expected))
        for one, other in zip(flat, others, strict=True):
            both = (one, other) if isinstance(one, tuple) else ((one,), (other,))
            for mine, its in zip(*both, strict=True):
                assert (mine.value, mine.n) == (its.value, its.n)
                assert (mine.low, mine.high) == pytest.approx((its.low, its.high), abs=2e-7)


def test_counts_are_taken_one_after_the_other():
    taken = []

    def some():
        for number in range(3):
            taken.append(number)
            yield ClusterSums(np.full(4, float(number)), np.ones(4))

    assert [part[0].value for part in JACKKNIFE.over(4).ratios(some(), "")] == [0, 1, 2]
    assert taken == [0, 1, 2]
    assert JACKKNIFE.over(4).ratios([], "") == JACKKNIFE.over(4).differences([], "") == []


def test_a_small_share_among_large_sums_keeps_its_interval():
    below = np.full(40, 1e7)
    one = ClusterSums(5e6 + np.arange(40.0), below)
    made, (_, low, high) = JACKKNIFE.over(40).ratio(one, ""), by_hand(one)
    assert made.low <= made.value <= made.high
    assert (made.low, made.high) == pytest.approx((low, high), abs=2e-7)


def test_two_sides_that_never_differ_have_the_interval_of_a_share_that_is_0():
    verdicts = np.array([1.0, 0, 1, 1, 0, 0, 1, 0])
    same = ClusterSums(verdicts, np.ones(8))
    _, _, gap = JACKKNIFE.over(8).differences([(same, same)], "")[0][0]
    assert (gap.value, gap.low) == (0, -gap.high)
    assert gap.high == pytest.approx(1.96**2 / (8 + 1.96**2), abs=1e-4)
    assert gap.method == "Wilson, over dilemmas"


def test_a_share_of_several_answers_a_cluster_that_is_0_or_1_in_each_has_the_interval_of_the_clusters():
    yes = np.array([1.0, 0, 1, 1, 0, 0, 1, 0])
    once, often = (JACKKNIFE.over(8).ratio(ClusterSums(yes * each, np.full(8, each)), "") for each in (1.0, 25.0))
    assert (once.low, once.high) == pytest.approx((often.low, often.high))
    assert once.method == often.method == "Wilson, over dilemmas"
    assert (once.low, once.high) == pytest.approx(binomtest(4, 8).proportion_ci(method="wilson"))


def test_clusters_of_unequal_weight_count_as_fewer_by_the_ratio_of_students_quantiles():
    """Four of eight weigh 1 and say yes, and three times as much and say no: exact sums, and Wilson's formula."""
    yes, weight = np.array([1.0, 1, 1, 1, 0, 0, 0, 0]), np.array([1.0, 1, 1, 1, 3, 3, 3, 3])
    made = JACKKNIFE.over(8).ratio(ClusterSums(yes * weight, weight), "")
    influence = 7 / 8 * weight * (yes - 0.25) / (16 - weight)
    spread = ((influence - influence.mean()) ** 2).sum()
    freedom = (weight**2).sum() ** 2 / (weight**4).sum() - 1
    effective = 0.25 * 0.75 / spread * (student.ppf(0.975, 7) / student.ppf(0.975, freedom)) ** 2
    z = 1.959963985
    centre = (0.25 + z**2 / (2 * effective)) / (1 + z**2 / effective)
    half = z / (1 + z**2 / effective) * np.sqrt(0.25 * 0.75 / effective + z**2 / (4 * effective**2))
    assert (made.low, made.high) == pytest.approx((centre - half, centre + half))
    assert made.method == "Wilson, over dilemmas"


def test_clusters_of_unequal_weight_widen_the_interval():
    rng = np.random.default_rng(11)
    values = rng.normal(size=8)
    even, uneven = np.ones(8), np.array([9.0, 1, 1, 1, 1, 1, 1, 1])
    one, other = (JACKKNIFE.over(8).ratio(ClusterSums(values * below, below), "", ANYTHING) for below in (even, uneven))
    assert other.high - other.low > 2 * (one.high - one.low)


def test_bootstrapped_limits_are_percentiles_of_clusters_drawn_with_replacement() -> None:
    above, below = np.array([1.0, 8.0, 2.0, 2.0, 3.0, 9.0]), np.array([2.0, 10.0, 4.0, 4.0, 4.0, 11.0])
    made = (
        Jackknife(resamples=4_000, seed=3, bootstrap=True).over(6).ratio(ClusterSums(above, below), "nothing", ANYTHING)
    )
    drawn = np.random.default_rng(11).integers(0, 6, (40_000, 6))
    low, high = np.quantile(above[drawn].sum(1) / below[drawn].sum(1), (0.025, 0.975))
    assert (made.low, made.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
    assert made.method == "percentiles of 4,000 bootstrap samples of issues"
    assert made.value == pytest.approx(above.sum() / below.sum())


def test_a_number_that_does_not_vary_is_not_bootstrapped() -> None:
    same = ClusterSums(np.full(6, 2.0), np.full(6, 4.0))
    made = [Jackknife(bootstrap=bootstrap).over(6).ratio(same, "nothing", SHARE) for bootstrap in (True, False)]
    assert made[0] == made[1]
