import numpy as np
import pytest
from overton.studies.deliberation.measures.rates import Counts, Resampling

from overton.statistics.resampling import Bootstrap

BOOTSTRAP = Bootstrap(resamples=2000, seed=3, unit="dilemmas")


def counts(dilemmas, seed=0, chance=0.3):
    rng = np.random.default_rng(seed)
    below = rng.integers(1, 5, dilemmas).astype(float)
    return Counts(rng.binomial(below.astype(int), chance).astype(float), below)


def test_a_rate_and_its_interval_are_those_of_the_bootstrap_of_ratios():
    one = counts(60)
    made = Resampling(BOOTSTRAP, 60).estimate(one, "nothing")
    expected = BOOTSTRAP.ratio(*one)
    assert made.value == pytest.approx(expected.value)
    assert (made.low, made.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert made.n == one.below.sum()


def test_many_dilemmas_in_groups_give_the_same_interval_but_for_noise():
    one = counts(5000)
    made, expected = Resampling(BOOTSTRAP, 5000).estimate(one, "nothing"), BOOTSTRAP.ratio(*one)
    assert made.value == pytest.approx(expected.value)
    assert made.high - made.low == pytest.approx(expected.high - expected.low, rel=0.1)


def test_a_rate_with_nothing_below_says_why():
    made = Resampling(BOOTSTRAP, 4).estimate(Counts(np.zeros(4), np.zeros(4)), "no message has values")
    assert np.isnan(made.value)
    assert made.method == "not computed: no message has values"


def test_a_share_of_none_in_every_resample_has_wilsons_interval_and_a_mean_does_not():
    one, resampling = Counts(np.zeros(50), np.full(50, 2.0)), Resampling(BOOTSTRAP, 50)
    share, mean = resampling.estimate(one, ""), resampling.estimate(one, "", share=False)
    assert share.method.startswith("Wilson")
    assert (share.low, share.high) == pytest.approx((0, 0.0713), abs=1e-3)
    assert (mean.low, mean.high) == (0, 0)


def test_one_dilemma_gives_no_interval():
    made = Resampling(BOOTSTRAP, 1).estimate(Counts(np.ones(1), np.full(1, 2.0)), "")
    assert made.value == 0.5
    assert np.isnan(made.low)


def test_a_difference_of_paired_sides_is_narrower_than_of_sides_that_share_nothing():
    rng = np.random.default_rng(1)
    base = rng.random(200) < 0.5
    first = Counts(base.astype(float), np.ones(200))
    second = Counts((base ^ (rng.random(200) < 0.1)).astype(float), np.ones(200))
    shuffled = Counts(rng.permutation(second.above), np.ones(200))
    resampling = Resampling(BOOTSTRAP, 200)
    paired, unpaired = (made[0][2] for made in resampling.differences([(first, second), (first, shuffled)], ""))
    assert paired.value == pytest.approx(unpaired.value)
    assert paired.high - paired.low < 0.6 * (unpaired.high - unpaired.low)


def test_two_sides_that_never_vary_have_newcombes_interval():
    never, always = Counts(np.zeros(40), np.ones(40)), Counts(np.ones(40), np.ones(40))
    resampling = Resampling(BOOTSTRAP, 40)
    _, _, gap = resampling.differences([(never, always)], "")[0][0]
    assert gap.value == 1
    assert gap.method.startswith("Newcombe")
    assert 0.8 < gap.low < 0.95


def test_wide_counts_come_back_in_their_own_lists():
    wide = Counts(np.eye(3)[:, :2], np.ones(3))
    narrow = Counts(np.ones(3), np.full(3, 2.0))
    made = Resampling(BOOTSTRAP, 3).estimates([wide, narrow], "")
    assert [[one.value for one in part] for part in made] == [[pytest.approx(1 / 3)] * 2, [0.5]]


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(5)
    resampling = Resampling(Bootstrap(resamples=400, seed=1), 60)
    below = np.full(60, 2.0)
    chances = rng.beta(2, 3, (300, 60))  # dilemmas differ; their mean chance is 0.4
    found = resampling.estimates((Counts(rng.binomial(2, chance).astype(float), below) for chance in chances), "")
    covered = np.mean([one.low <= 0.4 <= one.high for (one,) in found])
    assert 0.91 <= covered <= 0.98
