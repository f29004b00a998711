"""Intervals widened so that several hold at once, within the range of their numbers."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from overton.statistics import Estimate
from overton.statistics.comparison import widened

LEVEL = 1 - 0.05 / 9


def test_limits_keep_their_own_distances_times_the_ratio_of_students_quantiles() -> None:
    made = widened(Estimate(0.5, 0.4, 0.7, 12, "by hand"), LEVEL, 11)
    ratio = student.ppf((1 + LEVEL) / 2, 11) / student.ppf(0.975, 11)
    assert (made.low, made.high) == pytest.approx((0.5 - 0.1 * ratio, 0.5 + 0.2 * ratio))
    assert made.level == LEVEL


def test_no_limit_is_nearer_than_students() -> None:
    made = widened(Estimate(0.5, 0.49, 0.7, 12, "by hand", error=0.05), LEVEL, 11)
    assert made.low == pytest.approx(0.5 - 0.05 * student.ppf((1 + LEVEL) / 2, 11))


def test_a_share_of_79_percent_is_not_widened_to_more_than_all() -> None:
    """The first screen of a run with twelve threads showed 79.2% [51.6, 104.7]."""
    share = Estimate(0.792, 0.6, 0.97, 12, "by hand", error=0.08, within=(0.0, 1.0))
    made = widened(share, LEVEL, 11)
    assert (made.high, made.undetermined) == (1.0, ("high",))
    assert 0 < made.low < 0.6


def test_without_an_interval_nothing_is_widened() -> None:
    none = Estimate(0.5, nan, nan, 3, "no interval: too few issues")
    assert widened(none, LEVEL, 2) is none


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.96, 0.9999), st.integers(4, 200))
def test_limits_stay_within_the_range_and_never_get_nearer(
    one: float, two: float, three: float, level: float, freedom: int
) -> None:
    low, value, high = sorted((one, two, three))
    made = widened(Estimate(value, low, high, 9, "by hand", within=(0.0, 1.0)), level, freedom)
    assert 0 <= made.low <= low <= value <= high <= made.high <= 1
