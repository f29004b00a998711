"""Whether a judge's errors depend on the model or the condition."""

from __future__ import annotations

from itertools import combinations
from math import isnan

import numpy as np
import pytest
from numpy.typing import NDArray

from overton.statistics.judge_error_tests import EqualErrors, equal_errors
from overton.statistics.misclassification import DoublyLabelled

Ints = NDArray[np.int64]


def readings(wrong: NDArray[np.bool_], unit: Ints, true: Ints | None = None) -> DoublyLabelled:
    truth = np.zeros(len(wrong), int) if true is None else true
    return DoublyLabelled(np.eye(2)[truth], np.where(wrong, 1 - truth, truth), np.ones(len(wrong)), unit, 2)


def test_the_probability_is_that_of_units_exchanged_between_groups() -> None:
    # Of six units of two rows those of 'a' have 2, 2, 1 errors and those of 'b' 1, 0, 0.
    errors = [2, 2, 1, 1, 0, 0]
    wrong = np.array([one > row for one in errors for row in (0, 1)])
    unit = np.repeat(np.arange(6), 2)
    (found,) = equal_errors(readings(wrong, unit), {"model": ["a"] * 6 + ["b"] * 6})
    ways = [abs(2 * sum(errors[one] for one in some) - sum(errors)) for some in combinations(range(6), 3)]
    assert found.p == pytest.approx(np.mean([one >= 4 for one in ways]), abs=0.03)
    assert found.rates == {"a": pytest.approx(5 / 6), "b": pytest.approx(1 / 6)}
    assert found.labels == {"a": 6, "b": 6}
    assert not found.fails


def simulated(
    random: np.random.Generator, rates: tuple[float, float], together: bool
) -> tuple[DoublyLabelled, list[str]]:
    """Three hundred labelled turns of sixty conversations, every second one of the other model."""
    unit = np.sort(random.permutation(np.repeat(np.arange(60), 10))[:300])
    rate = np.array(rates)[np.arange(60) % 2]
    if together:
        rate = random.beta(rate * 2, (1 - rate) * 2)
    wrong = random.random(300) < rate[unit]
    return readings(wrong, unit, random.integers(0, 2, 300)), ["ab"[one % 2] for one in unit.tolist()]


@pytest.mark.parametrize("together", [False, True])
def test_equal_errors_are_called_so_nineteen_times_in_twenty(together: bool) -> None:
    random = np.random.default_rng(5)
    failed = sum(equal_errors(made, {"model": of})[0].fails for made, of in _many(random, (0.12, 0.12), together))
    assert failed <= 14  # of 150 at 5%, more are seen less than once in a hundred times


def test_300_labels_distinguish_errors_of_5_and_20_percent() -> None:
    random = np.random.default_rng(6)
    found = [equal_errors(made, {"model": of})[0] for made, of in _many(random, (0.05, 0.2), False)]
    assert np.mean([one.fails for one in found]) > 0.9
    assert np.mean([one.most for one in found]) > 0.15


def _many(
    random: np.random.Generator, rates: tuple[float, float], together: bool
) -> list[tuple[DoublyLabelled, list[str]]]:
    return [simulated(random, rates, together) for _ in range(150)]


def test_error_rates_that_differ_by_true_label_do_not_separate_models() -> None:
    # 'a' has true labels 0, which are read well, 'b' mostly 1, of which half are misread whoever's they are.
    random = np.random.default_rng(1)
    true = np.where(np.arange(400) < 200, random.random(400) < 0.1, random.random(400) < 0.9).astype(int)
    wrong = random.random(400) < np.where(true == 1, 0.5, 0.05)
    unit, names = np.arange(400) // 4, ["a"] * 200 + ["b"] * 200
    (found,) = equal_errors(readings(wrong, unit, true), {"model": names})
    assert found.rates["b"] > found.rates["a"] + 0.2
    assert found.p > 0.1


def test_several_tests_are_corrected_for_their_number() -> None:
    random = np.random.default_rng(3)
    made, names = simulated(random, (0.05, 0.2), False)
    other = [f"{place % 3}" for place in made.group.tolist()]
    (alone,) = equal_errors(made, {"model": names})
    both = {one.by: one for one in equal_errors(made, {"model": names, "condition": other})}
    assert both["model"].p == pytest.approx(2 * alone.p)  # Holm: the smallest of two counts twice, the other once
    assert both["condition"].p >= both["model"].p


@pytest.mark.parametrize(
    ("names", "wrong"), [(["a"] * 6, [1, 0, 0, 1, 0, 0]), (["a", "a", "a", "b", "b", "b"], [0] * 6)]
)
def test_one_group_or_no_error_decides_nothing(names: list[str], wrong: list[int]) -> None:
    (found,) = equal_errors(readings(np.array(wrong, bool), np.arange(6)), {"model": names})
    assert isnan(found.p)
    assert not found.fails
    assert "cannot show whether" in found.sentence(by_units=False)


def test_a_result_says_what_follows_for_single_labels_and_for_whole_units() -> None:
    found = EqualErrors("model", {"a": 0.05, "b": 0.2}, {"a": 150, "b": 150}, 0.0005, 0.23)
    said = found.sentence(by_units=False)
    assert "depend on the model (a: 5% of 150 labels, b: 20% of 150 labels; p = 0.001)" in said
    assert "does not correct differences between these groups" in said
    assert "overton judge sample --whole" in said
    assert "take this into account" in found.sentence(by_units=True)
    unseen = EqualErrors("model", {"a": 0.05, "b": 0.1}, {"a": 25, "b": 25}, 0.4, 0.23)
    assert "error rates could still differ by up to 23 points" in unseen.sentence(by_units=False)
