"""Simulated chances of verdicts, compared with those of comparisons, and with Student's t where they meet."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from overton.statistics import power
from overton.statistics.comparison import Gap, Number, gap, number
from overton.statistics.estimate import ANYTHING, ratio
from overton.statistics.jackknife import Jackknife, standard_errors, student_gap
from overton.statistics.power import NORMAL, ItemInfluences, item_influences

LEVEL = 0.95


def mean(values: np.ndarray) -> Number:
    """The mean over items of [items] values, as a number."""
    return number(np.column_stack([values, np.ones(len(values))]), ratio, Jackknife().over(len(values)), ANYTHING)


def compared(first: np.ndarray, second: np.ndarray) -> Gap:
    return gap(mean(second).minus(mean(first)), Jackknife(), len(first))


def test_the_limits_are_those_of_comparisons() -> None:
    values = np.random.default_rng(1).exponential(size=(9, 12))
    for one in values:
        own = compared(np.zeros(12), one).own
        (half,) = student_gap(standard_errors(mean(one).influence), LEVEL)
        assert (own.low, own.high) == pytest.approx((one.mean() - half, one.mean() + half))


@pytest.mark.parametrize("items", [8, 12, 30])
def test_chances_are_right_where_half_of_the_items_are_alike(items: int) -> None:
    rng, times = np.random.default_rng(items), 300
    error = 1 / sqrt(items)
    size = 3.0 * error
    alike = rng.random((times, items)) < 0.5
    base = rng.standard_normal((times, items))
    candidate = np.where(alike, base, rng.standard_normal((times, items))) + size
    gaps = [compared(*pair) for pair in zip(base, candidate, strict=True)]
    told = np.mean([one.own.low > 0 for one in gaps])
    same = np.mean([one.equivalence.low > -2 * size and one.equivalence.high < 2 * size for one in gaps])
    by_one = ItemInfluences(base.ravel()[:900], alike=0.5)
    by_pairs = ItemInfluences(item_influences(mean((candidate - base).ravel()[:900])))
    for pulls in (by_one, by_pairs):
        assert pulls.power(size, error, items, LEVEL) == pytest.approx(told, abs=0.07)
        assert pulls.equivalent(size, 2 * size, error, items, LEVEL) == pytest.approx(same, abs=0.07)
    few_pull = ItemInfluences(np.array([0.0] * 9 + [1.0]))
    assert NORMAL.power(size, error, 8, LEVEL) > few_pull.power(size, error, 8, LEVEL) + 0.05


def test_chance_in_trials_makes_items_even() -> None:
    uneven = ItemInfluences(np.array([0.0] * 9 + [1.0]))
    even = uneven.with_chance(1.0)
    size = 1.0
    assert uneven.power(size, 1 / sqrt(10), 10, LEVEL) < even.power(size, 1 / sqrt(10), 10, LEVEL)
    assert even.power(size, 1 / sqrt(10), 10, LEVEL) == pytest.approx(
        NORMAL.power(size, 1 / sqrt(10), 10, LEVEL), abs=0.03
    )


def test_power_for_many_items_meets_that_for_few_where_the_two_meet() -> None:
    few, many = power.SIMULATED, power.SIMULATED + 1
    for size in (1.5, 2.5, 3.5):
        told = [NORMAL.power(size / sqrt(n), 1 / sqrt(n), n, LEVEL) for n in (few, many)]
        same = [NORMAL.equivalent(0, size / sqrt(n), 1 / sqrt(n), n, LEVEL) for n in (few, many)]
        assert told[0] == pytest.approx(told[1], abs=0.03)
        assert same[0] == pytest.approx(same[1], abs=0.03)


def test_power_is_repeatable_and_certain_without_variance() -> None:
    seen = np.array([0.1, 0.5, 0.2, 0.9, 0.3])
    assert ItemInfluences(seen).power(0.5, 0.2, 20, LEVEL) == ItemInfluences(seen).power(0.5, 0.2, 20, LEVEL)
    assert NORMAL.power(0.1, 0.0, 20, LEVEL) == 1.0
    assert NORMAL.equivalent(0.1, 0.05, 0.0, 20, LEVEL) == 0.0


def test_power_is_low_if_all_simulated_items_are_alike() -> None:
    assert ItemInfluences(np.array([0.0] * 9_999 + [1.0])).power(1.0, 0.5, 5, LEVEL) < 0.05
