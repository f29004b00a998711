"""Differences of two numbers over the same items, verdicts, joint levels and places, against numbers made by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from msgspec import structs
from scipy.stats import t as student

from overton.statistics import Estimate
from overton.statistics.comparison import (
    Gap,
    drawn_sizes,
    equivalence_level,
    gap,
    items_needed,
    items_to_pass,
    joint_differences,
    max_t_holds,
    number,
    possible_ranks,
    verdict_of,
    withhold_interval,
)
from overton.statistics.estimate import ratio
from overton.statistics.jackknife import Jackknife

BASE = np.array([0.2, 0.4, 0.6, 0.8, 0.5, 0.3])
SHIFT = np.array([0.1, -0.1, 0.2, 0.0, 0.1, 0.0])
JACKKNIFE = Jackknife(unit="issues")


def means(values: np.ndarray) -> np.ndarray:
    return np.column_stack([values, np.ones(len(values))])


def difference(base: np.ndarray, candidate: np.ndarray, jackknife: Jackknife = JACKKNIFE) -> Gap:
    over = jackknife.over(len(base))
    both = [number(means(one), ratio, over, (0.0, 1.0)) for one in (base, candidate)]
    return gap(both[1].minus(both[0]), jackknife, len(base), within_model=True)


def test_difference_of_means_is_the_mean_of_the_paired_differences() -> None:
    found = difference(BASE, BASE + SHIFT).own
    assert found.value == pytest.approx(0.05)  # (0.1 - 0.1 + 0.2 + 0 + 0.1 + 0) / 6
    assert found.error == pytest.approx(SHIFT.std(ddof=1) / sqrt(6))


def test_interval_is_the_wider_of_the_rule_and_of_students_own() -> None:
    shift = np.array([0.0, 0.0, 0.0, 0.02, 0.3, 0.1])
    found = difference(BASE, BASE + shift)
    for own, level in ((found.own, 0.95), (found.equivalence, 0.9)):
        rule = Jackknife(level, unit="issues").mean(shift)
        half = student.ppf((1 + level) / 2, 5) * shift.std(ddof=1) / sqrt(6)
        assert own.low == pytest.approx(shift.mean() - half)  # the rule's is higher: the values are skewed to the right
        assert own.low < rule.low
        assert own.high == pytest.approx(rule.high)


@pytest.mark.parametrize("shift", [SHIFT, np.array([0.0, 0.0, 0.0, 0.02, 0.3, 0.1])])
def test_two_models_have_students_interval_however_skewed_their_differences_are(shift: np.ndarray) -> None:
    over = JACKKNIFE.over(6)
    both = [number(means(one), ratio, over, (0.0, 1.0)) for one in (BASE, BASE + shift)]
    found = gap(both[1].minus(both[0]), JACKKNIFE, 6)
    for own, level in ((found.own, 0.95), (found.equivalence, 0.9)):
        half = student.ppf((1 + level) / 2, 5) * shift.std(ddof=1) / sqrt(6)
        assert (own.low, own.high) == pytest.approx((shift.mean() - half, shift.mean() + half))
        assert own.method == "Student's t over issues"


def test_difference_of_published_models_has_students_limits() -> None:
    """MillStone's counts, grok-3 minus gpt-4o by issue, of which one stands out: by hand [-11.9, 5.5]."""
    values = np.array([-1.98, -7.84, 27.53, -16.67, 0.74, -10.8, -1.36, -11.79, -8.58, -1.23])
    one = number(means(values), ratio, JACKKNIFE.over(10), (-100.0, 100.0))
    own = gap(one, JACKKNIFE, 10).own
    assert (own.low, own.high) == pytest.approx((-11.9, 5.5), abs=0.05)
    wider = gap(one, JACKKNIFE, 10, within_model=True).own
    assert wider.low == own.low
    assert own.high < wider.high <= own.value + 1.6 * (own.high - own.value) + 1e-9


def test_a_limit_at_the_end_of_the_range_of_a_difference_is_undetermined() -> None:
    found = difference(np.zeros(5), np.array([1.0, 1.0, 1.0, 1.0, 0.0])).own
    assert (found.high, found.undetermined) == (1.0, ("high",))
    assert difference(BASE, BASE + SHIFT).own.undetermined == ()


def test_an_interval_reaches_as_far_as_chance_is_known_to() -> None:
    over = JACKKNIFE.over(6)
    base, candidate = (number(means(one), ratio, over, (0.0, 1.0)) for one in (BASE, BASE + SHIFT))
    plain = difference(BASE, BASE + SHIFT).own
    assert plain.error is not None
    far, near = (np.linspace(0, most, 401) for most in (6.0, 1.0))  # 95% are below 5.7 and 0.95
    found, same = (
        gap(candidate.minus(replace(base, sizes=one)), JACKKNIFE, 6, within_model=True).own for one in (far, near)
    )
    assert found.low == pytest.approx(0.05 - 5.7 * plain.error)
    assert found.high == pytest.approx(0.05 + 5.7 * plain.error)
    assert (found.value, found.error) == (plain.value, plain.error)
    assert same == plain


def test_t_by_chance_is_students_where_chance_is_normal_and_larger_where_few_items_flip() -> None:
    rng = np.random.default_rng(0)
    even = np.full(30, 1 / 30)
    normal = drawn_sizes(rng.standard_normal((1000, 30)), even)
    assert np.quantile(normal, 0.95) == pytest.approx(student.ppf(0.975, 29), rel=0.05)
    rare = np.where(rng.random((1000, 30)) < 0.04, 1.0, 0.0) - 0.04  # three draws in ten flip no item at all
    assert np.quantile(drawn_sizes(rare + rng.normal(0, 0.001, rare.shape), even), 0.95) > 5


def test_t_by_chance_weighs_items_as_the_number_does() -> None:
    noise = np.random.default_rng(0).standard_normal((1000, 20))
    weight = np.array([*[0.45] * 2, *[0.1 / 18] * 18])
    heavy = drawn_sizes(noise, weight)
    assert np.quantile(heavy, 0.95) > student.ppf(0.975, 19) * 1.2  # two items decide


def test_even_differences_have_students_interval() -> None:
    shift = np.array([-0.2, -0.1, 0.1, 0.2, 0.0]) + 0.05
    found = difference(np.full(5, 0.5), 0.5 + shift).own
    half = student.ppf(0.975, 4) * shift.std(ddof=1) / sqrt(5)
    assert (found.low, found.high) == pytest.approx((0.05 - half, 0.05 + half), abs=1e-9)


def test_base_and_candidate_swapped_turn_the_interval_around() -> None:
    one, other = difference(BASE, BASE + SHIFT).own, difference(BASE + SHIFT, BASE).own
    assert (other.value, other.low, other.high) == pytest.approx((-one.value, -one.high, -one.low))


def test_four_items_give_a_reason_and_no_interval() -> None:
    found = difference(BASE[:4], BASE[:4] + SHIFT[:4]).own
    assert np.isnan(found.low)
    assert found.method == "no interval: too few issues (4; five are needed)"
    assert verdict_of([difference(BASE[:4], BASE[:4] + 0.2)], 0.05) == "undecided"


def test_a_function_of_sums_that_is_a_ratio_agrees_with_the_ratio() -> None:
    over = JACKKNIFE.over(6)
    plain = number(means(BASE), ratio, over)
    general = number(means(BASE), lambda sums: sums[..., 0] / sums[..., 1], over)
    assert general.value == pytest.approx(plain.value)
    assert general.influence.parts == pytest.approx(plain.influence.parts)


def estimate(value: float, low: float, high: float, error: float | None = None) -> Estimate:
    return Estimate(value, low, high, 20, "by hand", 0.95, error)


@pytest.mark.parametrize(
    ("own", "inner", "verdict"),
    [
        ((1, 0.5, 1.5), (0.6, 1.4), "equivalent"),  # clear, and smaller than the margin: equivalence comes first
        ((3, 1, 5), (1.5, 4.5), "higher"),
        ((-3, -5, -1), (-4.5, -1.5), "lower"),
        ((1, -1, 3), (-0.5, 2.5), "undecided"),
        ((1, nan, nan), (nan, nan), "undecided"),
    ],
)
def test_verdict_follows_from_the_two_intervals(
    own: tuple[float, float, float], inner: tuple[float, float], verdict: str
) -> None:
    assert verdict_of([Gap(estimate(*own), estimate(own[0], *inner))], 2) == verdict


def test_a_verdict_needs_the_joint_interval_as_well() -> None:
    alone = Gap(estimate(3, 0.5, 5.5), estimate(3, 1, 5))
    joint = Gap(estimate(3, -0.5, 6.5), estimate(3, 0.2, 6))
    assert verdict_of([alone], 2) == "higher"
    assert verdict_of([alone, joint], 2) == "undecided"


def test_equivalence_takes_two_one_sided_tests() -> None:
    assert equivalence_level(0.95) == 0.9


def three(seed: int = 0, items: int = 40) -> list[tuple[object, list[int]]]:
    values = np.random.default_rng(seed).normal(size=(3, items))
    over = JACKKNIFE.over(items)
    numbers = [number(means(one), ratio, over) for one in values]
    return [(numbers[j].minus(numbers[i]), [*range(items)]) for i, j in ((0, 1), (0, 2), (1, 2))]


def test_joint_level_lies_between_one_alone_and_bonferroni() -> None:
    level = joint_differences(three(), 0.95, 0)  # type: ignore[arg-type]
    assert 0.95 < level < 1 - 0.05 / 3


def test_joint_level_of_equal_groups_is_tukeys() -> None:
    """All differences of three means: the studentised range of 3, here with the errors' many degrees of freedom."""
    level = joint_differences(three(items=400), 0.95, 0)  # type: ignore[arg-type]
    assert student.ppf((1 + level) / 2, 399) == pytest.approx(3.32 / sqrt(2), abs=0.05)


@pytest.mark.parametrize(("items", "max_t"), [(5, False), (29, False), (30, True), (40, True)])
def test_fewer_than_thirty_items_have_bonferronis_joint_level(items: int, max_t: bool) -> None:
    pairs = three(items=items)
    level = joint_differences(pairs, 0.95, 0)  # type: ignore[arg-type]
    assert max_t_holds(pairs) == max_t  # type: ignore[arg-type]
    assert (level < 1 - 0.05 / 3) if max_t else (level == 1 - 0.05 / 3)


def test_items_that_few_outweigh_count_as_few() -> None:
    """Forty items, of which four have nearly all of the weight: three degrees of freedom, not thirty-nine."""
    values, weight = np.random.default_rng(0).normal(size=(3, 40)), np.array([100.0] * 4 + [1.0] * 36)
    numbers = [number(np.column_stack([one * weight, weight]), ratio, JACKKNIFE.over(40)) for one in values]
    pairs = [(numbers[j].minus(numbers[i]), [*range(40)]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert not max_t_holds(pairs)


@pytest.mark.parametrize(("models", "items"), [(10, 5), (6, 10)])
def test_intervals_of_all_pairs_of_equal_models_cover_jointly(models: int, items: int) -> None:
    """With max-t over five items, all 45 differences of ten equal models were covered in 72% of data sets."""
    rng, times, held = np.random.default_rng(models), 100, 0
    pairs, over = [*combinations(range(models), 2)], JACKKNIFE.over(items)
    for _ in range(times):
        numbers = [number(means(one), ratio, over) for one in rng.standard_normal((models, items))]
        differences = [numbers[b].minus(numbers[a]) for a, b in pairs]
        level = joint_differences([(one, [*range(items)]) for one in differences], 0.95, 0)
        found = (gap(one, JACKKNIFE, items, (level, level)).own for one in differences)
        held += all(one.low <= 0 <= one.high for one in found)
    assert held / times > 0.94 - 2 * sqrt(0.06 * 0.94 / times)


def test_joint_level_of_one_is_its_own() -> None:
    assert joint_differences(three()[:1], 0.95, 0) == 0.95  # type: ignore[arg-type]


def test_items_that_decide_grow_with_the_square_of_the_error() -> None:
    one = items_needed(Gap(estimate(2, -1, 5, 1.5), estimate(2, -0.5, 4.5)), 2, 20)
    twice = items_needed(Gap(estimate(2, -4, 8, 3.0), estimate(2, -3, 7)), 2, 20)
    assert one is not None
    assert twice is not None
    assert one.verdict == "higher"
    assert one.items == int(np.ceil(20 * ((1.959964 + 0.841621) * 1.5 / 2) ** 2))
    assert twice.items == pytest.approx(4 * one.items, abs=4)


@pytest.mark.parametrize(
    ("lowest", "highest", "error", "items"),
    [
        (-1.0, inf, 1.5, 40),  # inside by 3: 20 (1.5 (1.959964 + 0.841621) / 3)^2 = 39.2
        (-inf, 3.0, 1.5, 354),  # inside by 1: 353.2
        (-inf, 1.0, 1.5, 354),  # outside by 1
        (-0.5, 4.5, 1.5, 76),  # inside by 2.5 on both sides: 20 (1.5 (1.959964 + 1.281552) / 2.5)^2 = 75.7
        (-3.0, 7.0, 1.5, 21),  # 18.9, and at least one more
        (-inf, 2.0, 1.5, None),  # at the margin no number decides
        (-inf, 3.0, None, None),
    ],
)
def test_items_to_pass_follow_from_the_distance_to_the_margin(
    lowest: float, highest: float, error: float | None, items: int | None
) -> None:
    found = Gap(estimate(2, -1, 5, error), estimate(2, -0.5, 4.5))
    assert items_to_pass(found, lowest, highest, 20) == items


def test_items_needed_returns_none_without_a_standard_error() -> None:
    assert items_needed(Gap(estimate(0, -1, 1), estimate(0, -1, 1)), 2, 20) is None


def test_places_count_who_is_surely_above_and_below() -> None:
    gaps = {("a", "b"): estimate(-3, -5, -1), ("a", "c"): estimate(-4, -6, -2), ("b", "c"): estimate(-1, -3, 1)}
    found = possible_ranks(["a", "b", "c"], gaps)
    assert found == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}


def test_without_intervals_everyone_could_have_any_place() -> None:
    found = possible_ranks(["a", "b"], {("a", "b"): estimate(1, nan, nan)})
    assert found == {"a": (1, 2), "b": (1, 2)}


def test_items_with_empty_parts_do_not_move_numbers() -> None:
    over, few = JACKKNIFE.over(8), JACKKNIFE.over(6)
    parts = means(BASE)
    wide = np.insert(parts, [2, 5], 0.0, axis=0)
    for of in (ratio, lambda sums: sums[..., 0] ** 2 / sums[..., 1] ** 2):
        one, other = number(wide, of, over), number(parts, of, few)
        assert one.influence.parts[[2, 6], 0].tolist() == [0, 0]
        shown = [structs.astuple(estimate)[:7] for estimate in (one.estimate(over), other.estimate(few))]
        assert shown[0] == pytest.approx(shown[1])


def test_a_difference_over_all_items_is_that_of_both_full_numbers_and_shared_items_cancel_out() -> None:
    over = JACKKNIFE.over(8)
    first = number(np.insert(means(BASE), [6, 6], 0.0, axis=0), ratio, over)
    second = number(np.insert(means(BASE + SHIFT), [0, 0], 0.0, axis=0), ratio, over)
    found = second.minus(first)
    assert found.value == pytest.approx((BASE + SHIFT).mean() - BASE.mean())
    # Each item is left out of the number that has it, and of both if both do, by the definition of the jackknife.
    without = []
    for item in range(8):
        own = [np.delete(BASE, item) if item < 6 else BASE]
        own.append(np.delete(BASE + SHIFT, item - 2) if item >= 2 else BASE + SHIFT)
        without.append(own[1].mean() - own[0].mean())
    moved = (found.value - np.array(without)) * 5 / 6
    assert found.influence.parts[:, 0] == pytest.approx(moved)


def test_a_number_that_does_not_exist_has_no_value_but_one_without_an_interval_has() -> None:
    one = Estimate(0.3, 0.1, 0.5, 9, "Student's t", 0.95)
    assert isnan(withhold_interval(one, "not computed: no view is voiced").value)
    assert withhold_interval(one, "no interval: too few").value == 0.3
    assert isnan(withhold_interval(one, "no interval: too few").low)
