from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import ANYTHING, SHARE
from overton.statistics.jackknife import Influence, Jackknife, StandardErrors, freedom_of, gaps, standard_errors


def spread(error: float = 1.0, skewness: float = 0.0, freedom: float = 4.0) -> StandardErrors:
    return StandardErrors(*(np.array([one]) for one in (error, skewness, freedom)))


def test_without_skewness_limits_are_students() -> None:
    low, high = gaps(spread(error=2.0, freedom=4), 0.95)
    assert (low[0], high[0]) == pytest.approx((-2 * student.ppf(0.975, 4), 2 * student.ppf(0.975, 4)))


@pytest.mark.parametrize(("values", "capped"), [([0, 0, 0, 0, 1.0], True), ([0, 0.3, 0.4, 0.6, 1.0], False)])
def test_the_limits_of_values_by_hand(values: list[float], capped: bool) -> None:
    """Nine tenths of the skewness are taken off, and no limit is further out than 1.6 times Student's.

    One of five that is 1: mean 0.2, squares about it 0.8, cubes 0.48. For the others 0.46, 0.552 and 0.05856.
    """
    made, mean = Jackknife().mean(values), sum(values) / 5
    squares, cubes = (0.8, 0.48) if capped else (0.552, 0.05856)
    error, bend = sqrt(squares / 5 / 4), 0.9 * cubes / squares**1.5 / 3
    for limit, quantile in ((made.low, 2.776445), (made.high, -2.776445)):
        t = (mean - limit) / error
        if capped and quantile < 0:
            assert t == pytest.approx(1.6 * quantile, abs=1e-5)
        else:
            assert ((1 + bend * t) ** 3 - 1) / (3 * bend) + bend / 2 == pytest.approx(quantile, abs=1e-5)
    assert made.error == pytest.approx(error)
    assert made.high - mean > mean - made.low


MILLSTONE = (-1.98, -7.84, 27.53, -16.67, 0.74, -10.8, -1.36, -11.79, -8.58, -1.23)
"""Published MillStone counts, grok-3 minus gpt-4o, points of open-mindedness by issue."""


def test_one_outlying_item_does_not_throw_a_limit_far_away() -> None:
    values, highs = np.array(MILLSTONE), []
    for outlying in (17.3, 20.7, 24.1, 27.5):
        values[2] = outlying
        made = Jackknife().mean(values)
        half = student.ppf(0.975, 9) * values.std(ddof=1) / sqrt(10)
        assert made.value - 1.6 * half - 1e-9 <= made.low
        assert made.high <= made.value + 1.6 * half + 1e-9
        highs.append(made.high)
    # Each step moves the mean by 0.34 and Student's limit by 1; uncapped the limit went 5.4, 8.5, 15.2, 32.7.
    assert np.all(np.diff(highs) < 3.5)


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=5, max_size=40), st.floats(0.5, 0.999))
def test_no_limit_is_further_than_1_6_times_students(values: list[float], level: float) -> None:
    made = Jackknife(level=level).mean(values)
    if made.error is not None:
        half = 1.6 * student.ppf((1 + level) / 2, len(values) - 1) * made.error
        assert max(made.value - made.low, made.high - made.value) <= half * (1 + 1e-6) + 1e-9


def test_degrees_of_freedom_are_one_less_than_clusters_of_equal_weight_and_fewer_where_some_outweigh_the_others() -> (
    None
):
    below = np.array([[1.0, 1.0, 1.0], [1.0, 9.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    # (1 + 81 + 1 + 1)^2 / (1 + 81^2 + 1 + 1) = 1.075: at least one is left
    assert freedom_of(below) == pytest.approx([3, 1, 2])


def test_standard_error_and_skewness_are_those_of_the_influence_values() -> None:
    parts = np.array([[0.1], [-0.3], [0.05], [0.15]])
    found = standard_errors(Influence(parts, np.array([4.0]), np.array([3.0])))
    assert found.error[0] == pytest.approx(sqrt((parts**2).sum() * 4 / 3))
    assert found.skewness[0] == pytest.approx((parts**3).sum() / (parts**2).sum() ** 1.5)


def coverage(values: np.ndarray, truth: float, within: tuple[float, float] = ANYTHING) -> tuple[float, float]:
    """Of data sets in columns: how many of a hundred have an interval, and how many of these hold the truth."""
    items = len(values)
    made = Jackknife().over(items).ratios([ClusterSums(values, np.ones(items))], "nothing", within)[0]
    given = [one for one in made if one.low == one.low]
    return len(given) / len(made), float(np.mean([one.low <= truth <= one.high for one in given] or [0]))


@pytest.mark.parametrize("items", [5, 12, 50])
def test_intervals_of_even_values_cover_the_truth_93_to_97_times_in_a_hundred_from_five_items_on(items: int) -> None:
    rng = np.random.default_rng(items)
    for values, truth in ((rng.normal(size=(items, 4000)), 0.0), (rng.random((items, 4000)), 0.5)):
        given, covered = coverage(values, truth)
        assert given == 1
        assert 0.93 <= covered <= 0.975


@pytest.mark.parametrize(("items", "least"), [(5, 0.9), (12, 0.93), (50, 0.93)])
def test_intervals_of_skewed_values_do_from_twelve_on(items: int, least: float) -> None:
    values = np.random.default_rng(items).exponential(size=(items, 20_000))
    assert least <= coverage(values, 1.0)[1] <= 0.97


@pytest.mark.parametrize("items", [5, 12, 50])
def test_intervals_of_shares_that_are_0_or_1_do_nine_times_in_ten_or_more(items: int) -> None:
    rng = np.random.default_rng(items)
    for truth in (0.1, 0.3, 0.5):
        given, covered = coverage((rng.random((items, 4000)) < truth).astype(float), truth, SHARE)
        assert given == 1
        assert covered >= 0.9


@pytest.mark.parametrize("items", [2, 3, 4])
def test_fewer_than_five_items_have_no_interval_but_a_reason(items: int) -> None:
    rng = np.random.default_rng(items)
    for one in (Jackknife().mean(rng.normal(size=items)), Jackknife().mean([1.0] * items, SHARE)):
        assert (np.isnan(one.low), np.isnan(one.high), one.error) == (True, True, None)
        assert one.method == f"no interval: too few issues ({items}; five are needed)"


VALUES = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=5, max_size=40)


@settings(deadline=None)
@given(VALUES, st.floats(0.5, 0.99), st.floats(0.001, 0.009))
def test_limits_are_finite_contain_the_number_and_widen(values: list[float], level: float, more: float) -> None:
    one, wider = (Jackknife(level=part).mean(values) for part in (level, level + more))
    if one.low == one.low:
        assert wider.low <= one.low <= one.value <= one.high <= wider.high
        assert np.isfinite([wider.low, wider.high]).all()
    else:
        assert one.method.startswith("no interval: ")


@settings(deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_clusters_changes_nothing(values: list[float], chance: object) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = Jackknife().mean(values), Jackknife().mean(shuffled)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-6, nan_ok=True)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=5, max_size=40))
def test_limits_of_shares_are_shares(values: list[float]) -> None:
    made = Jackknife().mean(values, SHARE)
    assert not made.low < 0
    assert not made.high > 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("error", "skewness"), [(0.1, 0.0), (0.0, 0.0), (0.0, 0.5)])
def test_levels_that_round_to_one_warn_of_nothing(error: float, skewness: float) -> None:
    limits = gaps(StandardErrors(np.array([error]), np.array([skewness]), np.array([1.0])), 1.0)
    assert all(np.isnan(limit).all() for limit in limits)
