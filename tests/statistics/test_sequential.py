from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from overton.statistics.sequential import GROWTH, divided, exact_limits, looks, most_looks


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


@pytest.mark.parametrize("chance", [0.02, 0.1, 0.3, 0.5])
def test_limits_of_a_share_are_valid_wherever_a_run_stops_since_they_are_narrow(chance: float) -> None:
    """The chances of all courses are added up: none is drawn."""
    counts, width = looks(12, 180), 0.1
    level = divided(0.95, len(counts))
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
