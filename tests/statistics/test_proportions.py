import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from overton.statistics.proportions import difference_limits, proportion, wilson_limits


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 10), (10, 10), (45, 90), (1, 1)])
def test_wilson_limits_are_scipys(count: int, n: int) -> None:
    expected = binomtest(count, n).proportion_ci(0.9, method="wilson")
    assert proportion(count, n, 0.9) == pytest.approx((count / n, expected.low, expected.high))


@given(st.floats(0, 1), st.floats(0.5, 1e6))
def test_wilson_limits_hold_the_share_within_0_and_1(share: float, n: float) -> None:
    low, high = wilson_limits(share, n)
    assert 0 <= low <= share <= high <= 1


def test_no_answers_have_no_limits() -> None:
    assert all(np.isnan(proportion(0, 0)))


def test_newcombes_example() -> None:
    # Newcombe (1998), table II, method 10: 56/70 - 48/80.
    low, high = difference_limits(56 / 70, 70, 48 / 80, 80)
    assert (float(low), float(high)) == pytest.approx((0.0524, 0.3339), abs=5e-5)
