"""Limits of numbers whose judge's errors are undone: the variation of items, and the uncertainty about the errors."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Jackknife
from overton.statistics.misclassification import CorrectedSums, corrected_ratio

VALUES = np.array([0.1, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.4])
OVER = Jackknife(unit="topics").over(np.arange(8))


def undone(*moved: float) -> CorrectedSums:
    """The values, and as drawn confusions move them."""
    above = np.stack([VALUES, *(VALUES + one for one in moved)])
    return CorrectedSums(above, np.ones_like(above))


def test_with_errors_that_are_known_the_limits_are_those_over_clusters() -> None:
    found = corrected_ratio(undone(0, 0, 0), (0, 1), OVER, 100)
    usual = OVER.ratio(ClusterSums(VALUES, np.ones(8)), "", (0, 1.1))
    assert (found.value, found.low, found.high) == pytest.approx((usual.value, usual.low, usual.high))
    assert found.n == 8


def test_uncertain_errors_widen_the_interval_on_their_side() -> None:
    known = corrected_ratio(undone(0, 0), (0, 1), OVER, 100)
    found = corrected_ratio(undone(*[0.0] * 50, *[0.2] * 50), (0, 1), OVER, 100)
    assert found.low == pytest.approx(known.low)
    assert found.high - found.value == pytest.approx(np.hypot(known.high - known.value, 0.2))


def test_number_below_its_range_becomes_the_minimum_with_an_upper_limit() -> None:
    below = undone(0.01, -0.01)
    found = corrected_ratio(CorrectedSums(below.above - 0.4, below.below), (0, 1), OVER, 100)
    assert (found.value, found.low) == (0, 0)
    assert found.high > 0.05


@pytest.mark.parametrize(
    ("labels", "clusters", "moved", "why"),
    [
        (19, 8, 0.0, "too few labels"),
        (49, 8, 0.0, "too few labels"),
        (100, 4, 0.0, "too few topics"),
        (100, 8, 0.9, "errs too often"),
    ],
)
def test_missing_numbers_and_intervals_have_a_reason(labels: int, clusters: int, moved: float, why: str) -> None:
    some = undone(*[-moved] * 9, *[moved] * 9).of(np.arange(8) < clusters)
    found = corrected_ratio(some, (0, 1), OVER, labels)
    assert isnan(found.low)
    assert why in found.method
    assert isnan(found.value) == (labels < 20)


def test_ratio_without_units_gives_the_reason() -> None:
    assert "no unit has it" in corrected_ratio(undone(0).of(np.zeros(8, bool)), (0, 1), OVER, 50).method
