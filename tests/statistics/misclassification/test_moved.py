"""Differences of corrected numbers over the same clusters."""

from __future__ import annotations

import numpy as np
import pytest

from overton.statistics.estimate import DIFFERENCE, SHARE
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.misclassification import CorrectedSums, corrected_ratio, moved_by

OVER: Resampling = Jackknife(unit="topics").over(np.arange(30))


def measure(seed: int, moved: np.ndarray[tuple[int], np.dtype[np.float64]]) -> CorrectedSums:
    """Thirty topics' values, which each drawn confusion moves by so much."""
    value = np.random.default_rng(seed).random(30)
    above = np.concatenate([value[None], value + moved[:, None]])
    return CorrectedSums(above, np.ones_like(above))


ERRORS = np.random.default_rng(0).normal(0, 0.05, 100)


def test_influence_of_rows_gives_the_interval_of_the_number() -> None:
    one = measure(1, ERRORS)
    estimate = corrected_ratio(one, SHARE, OVER, 200)
    again = moved_by(one, OVER).estimate(0.95, SHARE, "")
    assert (again.value, again.low, again.high) == (estimate.value, estimate.low, estimate.high)


def test_errors_of_one_judge_move_both_sides_alike_and_those_of_two_do_not() -> None:
    sides = [moved_by(measure(seed, ERRORS), OVER) for seed in (1, 2)]
    alike, apart = (sides[0].minus(sides[1], alike=one) for one in (True, False))
    assert alike.value == apart.value == pytest.approx(sides[0].value - sides[1].value)
    assert alike.errors == pytest.approx(np.zeros(100))
    assert apart.errors.std() == pytest.approx(ERRORS.std() * 2**0.5, rel=0.2)
    assert alike.gaps(0.95).both[1] < apart.gaps(0.95).both[1]


def test_topics_that_move_both_sides_alike_move_no_difference() -> None:
    one, other = moved_by(measure(1, ERRORS), OVER), moved_by(measure(1, 0 * ERRORS), OVER)
    gap = one.minus(other, alike=True).estimate(0.95, DIFFERENCE, "")
    assert gap.value == 0
    assert gap.high - gap.low == pytest.approx(np.ptp(np.quantile(ERRORS, [0.025, 0.975])), rel=0.01)
