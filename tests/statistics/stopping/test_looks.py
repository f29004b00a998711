from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from overton.statistics.proportions import quantile
from overton.statistics.stopping import GROWTH, divide_level, exact_limits, looks, most_looks, repeated_reach


@given(first=st.integers(1, 20), most=st.integers(1, 400))
def test_counts_grow_geometrically_to_the_most(first: int, most: int) -> None:
    found = looks(first, most)
    assert found[0] == min(first, most)
    assert found[-1] == most
    assert all(later > earlier for earlier, later in itertools.pairwise(found))
    assert all(later >= min(most, earlier * GROWTH) for earlier, later in itertools.pairwise(found))


@given(first=st.integers(1, 50), most=st.integers(1, 5000), growth=st.floats(1.1, 3))
def test_no_more_looks_than_are_counted(first: int, most: int, growth: float) -> None:
    calls, looked = float(first), 1
    while calls < most:
        calls, looked = min(most, calls * growth), looked + 1
    assert looked <= most_looks(first, most, growth) + 1e-9


@pytest.mark.parametrize(("count", "n", "low", "high"), [(0, 10, 0.0, 0.3085), (5, 10, 0.1871, 0.8129)])
def test_exact_limits_are_those_of_clopper_and_pearson(count: int, n: int, low: float, high: float) -> None:
    assert exact_limits(count, n, 0.95) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_nothing_is_known_without_answers() -> None:
    assert exact_limits(0, 0, 0.95) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("level", "count", "published"),
    [
        *((0.95, count, at) for count, at in ((1, 1.960), (2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413), (7, 2.485))),
        *((0.95, count, at) for count, at in ((10, 2.555), (15, 2.626), (20, 2.672))),
        *((0.90, count, at) for count, at in ((1, 1.645), (5, 2.122), (10, 2.270))),
        *((0.99, count, at) for count, at in ((2, 2.772), (5, 2.986))),
    ],
)
def test_after_equal_steps_the_constant_is_pococks(level: float, count: int, published: float) -> None:
    """Jennison and Turnbull 2000, table 2.1."""
    assert repeated_reach(level, tuple(float(k) for k in range(1, count + 1))) == pytest.approx(published, abs=1e-3)


def test_the_constant_lies_between_one_look_and_a_divided_level() -> None:
    growing = tuple(1.35**k for k in range(7))
    assert repeated_reach(0.95, growing) == pytest.approx(2.490, abs=1e-3)
    assert quantile(0.95) < repeated_reach(0.95, growing) < quantile(divide_level(0.95, 7))
    assert repeated_reach(0.95, tuple(2 * one for one in growing)) == pytest.approx(
        repeated_reach(0.95, growing), abs=1e-5
    )


def test_fewer_looks_with_larger_steps_to_the_same_end_need_less() -> None:
    reach = [
        repeated_reach(0.95, tuple(growth**k for k in range(most_looks(1, 11, growth)))) for growth in (1.35, 1.5, 2.0)
    ]
    assert reach == sorted(reach, reverse=True)


def test_repeated_limits_cover_at_every_look_together_as_often_as_promised() -> None:
    rng, information = np.random.default_rng(0), np.array([1.35**k for k in range(7)])
    steps = rng.standard_normal((40_000, 7)) * np.sqrt(np.diff(information, prepend=0.0))
    within = np.abs(steps.cumsum(1)) <= repeated_reach(0.95, tuple(information.tolist())) * np.sqrt(information)
    assert within.all(1).mean() == pytest.approx(0.95, abs=0.004)


@pytest.mark.parametrize("information", [(), (0.0, 1.0), (2.0, 1.0), (-1.0,)])
def test_looks_without_growing_information_have_no_constant(information: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="no constant"):
        repeated_reach(0.95, information)


@pytest.mark.parametrize("chance", [0.02, 0.1, 0.3, 0.5])
def test_limits_of_a_share_are_valid_wherever_a_run_stops_since_they_are_narrow(chance: float) -> None:
    """Probabilities of all courses are added up, without sampling."""
    counts, width = looks(12, 180), 0.1
    level = divide_level(0.95, len(counts))
    going: dict[int, float] = {0: 1.0}
    held, before = 0.0, 0
    for n in counts:
        further = binom.pmf(np.arange(n - before + 1), n - before, chance)
        reached: dict[int, float] = {}
        for x, p in going.items():
            for more, q in enumerate(further):
                reached[x + more] = reached.get(x + more, 0.0) + p * q
        going, before = {}, n
        for x, p in reached.items():
            low, high = exact_limits(x, n, level)
            if (high - low) / 2 <= width or n == counts[-1]:
                held += p * bool(low <= chance <= high)
            else:
                going[x] = p
    assert held >= 0.95
