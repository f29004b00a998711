"""How many items and trials show a difference: formulas compared with simulations, and with themselves."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from overton.statistics.comparison import gap, number
from overton.statistics.estimate import ratio
from overton.statistics.jackknife import Jackknife
from overton.statistics.power import (
    NORMAL,
    ItemVariance,
    apart,
    between,
    by_chance,
    fewest_items,
    scatter,
    smallest_detectable,
    trials_needed,
)

ITEMS, TRIALS = 400, 4


def means(values: np.ndarray) -> object:
    """The mean over items of [items] values as a number."""
    return number(np.column_stack([values, np.ones(len(values))]), ratio, Jackknife().over(len(values)))


def test_items_and_chance_in_trials_are_distinguished() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0, 2, (ITEMS, 1)) + rng.normal(0, 3, (ITEMS, TRIALS))
    whole = scatter(means(values.mean(1)))
    chance = by_chance(means(values[:, ::2].mean(1)), means(values[:, 1::2].mean(1)), (2, 2))
    found = ItemVariance.found(whole, chance, TRIALS)
    assert sqrt(found.items) == pytest.approx(2, rel=0.15)
    assert sqrt(found.trials) == pytest.approx(3, rel=0.15)
    assert found.error(100, 1) == pytest.approx(sqrt(13 / 100), rel=0.15)


@pytest.mark.parametrize("items", [12, 24, 60])
def test_chances_are_those_of_comparisons(items: int) -> None:
    rng, jackknife = np.random.default_rng(items), Jackknife()
    size = 2.8 / sqrt(items)
    gaps = [gap(means(rng.normal(size, 1, items)), jackknife, items) for _ in range(300)]
    told = np.mean([one.own.low > 0 for one in gaps])
    same = np.mean([one.equivalence.low > -2 * size and one.equivalence.high < 2 * size for one in gaps])
    error = 1 / sqrt(items)
    assert NORMAL.power(size, error, items, 0.95) == pytest.approx(told, abs=0.07)
    assert NORMAL.equivalent(size, 2 * size, error, items, 0.95) == pytest.approx(same, abs=0.07)


def test_the_fewest_items_are_enough_and_one_less_is_not() -> None:
    def chance(items: int) -> float:
        return NORMAL.power(0.3, 1 / sqrt(items), items, 0.95)

    items = fewest_items(chance, 0.8)
    assert items is not None
    assert chance(items) >= 0.8 > chance(items - 1)
    assert smallest_detectable(1 / sqrt(items), items, 0.95, 0.8) == pytest.approx(0.3, rel=0.02)


def test_fewest_items_returns_none_if_power_never_suffices() -> None:
    assert fewest_items(lambda items: 0.5, 0.8) is None


def test_models_that_go_together_need_fewer_items() -> None:
    one = ItemVariance(4.0, 9.0)
    assert apart(one, 0.0) == ItemVariance(8.0, 18.0)
    assert apart(one, 0.75) == ItemVariance(2.0, 18.0)


def test_more_trials_help_only_with_chance() -> None:
    assert trials_needed(1.0, 0.75, 2, 0.8) == 4
    assert trials_needed(1.0, 0.25, 2, 0.8) is None
    assert trials_needed(1.0, 0.0, 2, 0.8) is None


def test_a_larger_pilot_leaves_less_open() -> None:
    few, many = between(100, 6), between(100, 60)
    assert few[0] < many[0] < 100 < many[1] < few[1]
