"""Means over strata of which some were asked more often: what is known of them, whatever the reason for asking."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import betaln

from overton.statistics.stopping import StratumPosterior, mean_of_strata

Floats = NDArray[np.float64]
COUNTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=12)


def known(yes: list[int], of: list[int], within: Floats | None = None) -> StratumPosterior:
    return mean_of_strata(np.array(yes, float), np.array(of, float), np.full(len(of), 1 / len(of)), within)


@settings(max_examples=60)
@given(COUNTS)
def test_it_is_a_chance_with_a_spread_and_turns_round_with_the_answers(counts: list[tuple[int, int]]) -> None:
    yes, of = [min(pair) for pair in counts], [max(pair) for pair in counts]
    one, other = known(yes, of), known([n - x for x, n in zip(yes, of, strict=True)], of)
    assert 0 <= one.mean <= 1
    assert 0 < one.variance <= 0.25
    assert one.mean == pytest.approx(1 - other.mean, abs=1e-6)
    assert one.variance == pytest.approx(other.variance, rel=1e-4)
    assert (one.parts >= 0).all()
    assert one.parts.sum() <= one.variance * (1 + 1e-9)


@settings(max_examples=40)
@given(COUNTS, st.randoms())
def test_the_order_of_strata_changes_nothing(counts: list[tuple[int, int]], shuffle: random.Random) -> None:
    yes, of = [min(pair) for pair in counts], [max(pair) for pair in counts]
    order = list(range(len(of)))
    shuffle.shuffle(order)
    one, other = known(yes, of), known([yes[k] for k in order], [of[k] for k in order])
    assert one.mean == pytest.approx(other.mean, rel=1e-9)
    assert one.variance == pytest.approx(other.variance, rel=1e-9)


def test_a_stratum_by_itself_is_near_its_own_answers() -> None:
    found = known([30], [60])
    assert found.mean == pytest.approx(0.5, abs=0.01)
    assert found.variance == pytest.approx(0.25 / 60, rel=0.1)


def test_many_alike_strata_are_as_one_that_was_asked_as_often() -> None:
    found = known([1] * 300, [2] * 300)
    assert found.mean == pytest.approx(0.5, abs=1e-6)
    assert found.variance == pytest.approx(0.25 / 600, rel=0.15)


def test_strata_that_are_all_sure_leave_little_doubt_and_never_none() -> None:
    found = known([0, 5] * 10, [5] * 20)
    assert found.mean == pytest.approx(0.5, abs=0.01)
    assert 0 < found.variance < 0.015**2


def test_a_stratum_has_the_weight_it_is_given_however_often_it_was_asked() -> None:
    yes, of = np.array([200.0, 0.0]), np.array([200.0, 200.0])
    assert mean_of_strata(yes, of, np.array([0.5, 0.5])).mean == pytest.approx(0.5, abs=0.01)
    assert mean_of_strata(yes * 2, of * [2, 1], np.array([0.5, 0.5])).mean == pytest.approx(0.5, abs=0.01)
    assert mean_of_strata(yes, of, np.array([0.9, 0.1])).mean == pytest.approx(0.9, abs=0.01)


def test_stratum_contributes_less_uncertainty_the_more_answers_it_has() -> None:
    parts = known([1, 5, 20], [2, 10, 40]).parts
    assert parts[0] > parts[1] > parts[2]


def test_without_any_answers_it_can_be_anything() -> None:
    found = known([0, 0], [0, 0])
    assert found.mean == pytest.approx(0.5)
    assert found.variance > 0.04


def test_one_stratum_has_the_posterior_that_its_mixture_gives() -> None:
    """By integration over mu: nu uniform on the logarithm, Jeffreys' mu, and a fifth of Beta(1/2, 1/2)."""
    x, n = 3.0, 4.0
    total = first = 0.0
    for nu in np.geomspace(0.1, 300.0, 14):

        def told(mu: float, more: float, nu: float = nu) -> float:
            alike = np.exp(betaln(mu * nu + x + more, (1 - mu) * nu + n - x) - betaln(mu * nu, (1 - mu) * nu))
            alone = np.exp(betaln(0.5 + x + more, 0.5 + n - x) - betaln(0.5, 0.5))
            return float((0.8 * alike + 0.2 * alone) / np.sqrt(mu * (1 - mu)))

        total += quad(told, 1e-4, 1 - 1e-4, (0.0,))[0]
        first += quad(told, 1e-4, 1 - 1e-4, (1.0,))[0]
    assert known([3], [4]).mean == pytest.approx(first / total, abs=0.01)


def numbers(values: Floats) -> StratumPosterior:
    """The posterior of strata [strata, answers each] of numbers."""
    middle = values.mean(1, keepdims=True)
    sums, count = values.sum(1), np.full(len(values), float(values.shape[1]))
    weights = np.full(len(values), 1 / len(values))
    return mean_of_strata(sums, count, weights, ((values - middle) ** 2).sum(1))


def test_numbers_that_vary_little_are_known_better_than_yes_and_no() -> None:
    rng = np.random.default_rng(1)
    values = np.clip(0.4 + rng.normal(0, 0.05, (20, 4)), 0, 1)
    found = numbers(values)
    assert found.mean == pytest.approx(float(values.mean()), abs=0.01)
    assert found.variance == pytest.approx(0.05**2 / 80, rel=0.8)


def test_numbers_that_are_yes_or_no_are_known_no_better() -> None:
    rng = np.random.default_rng(2)
    values = (rng.random((20, 4)) < 0.5).astype(float)
    yes = known(values.sum(1).astype(int).tolist(), [4] * 20)
    assert numbers(values).variance == pytest.approx(yes.variance, rel=0.6)


def test_numbers_that_never_differed_may_yet() -> None:
    assert numbers(np.full((6, 2), 0.3)).variance > 0.005**2
    assert numbers(np.zeros((6, 2))).variance > 0


def test_a_stratum_whose_numbers_happen_to_agree_is_asked_no_less_for_that() -> None:
    values = np.full((6, 3), 0.5)
    values[0] = 0.1, 0.5, 0.9
    parts = numbers(values).parts
    assert parts[0] == pytest.approx(parts[1], rel=0.05)


def test_numbers_of_uneven_strata_are_as_doubtful_as_they_make_the_mean() -> None:
    """A stratum that varies and was asked twice counts for more than five that do not and were asked often."""
    counts = np.array([2.0, 10, 10, 10, 10, 10])
    within = np.array([0.08, 0, 0, 0, 0, 0])
    found = mean_of_strata(counts / 2, counts, np.full(6, 1 / 6), within)
    assert 0.08 / 2 / 36 < found.variance < 3 * 0.08 / 2 / 36


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=1, max_size=8),
)
def test_any_numbers_have_a_mean_and_a_spread(some: list[list[float]]) -> None:
    sums, count = np.array([sum(one) for one in some]), np.array([float(len(one)) for one in some])
    within = np.array([float(np.var(one) * len(one)) for one in some])
    found = mean_of_strata(sums, count, np.full(len(some), 1 / len(some)), within)
    assert 0 <= found.mean <= 1
    assert 0 < found.variance <= 0.25
    assert np.isfinite(found.parts).all()
