from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.judging import cohen_kappa, fleiss_kappa, share
from overton.judging.agreement import krippendorff_alpha
from overton.statistics import Estimate
from overton.statistics.jackknife import StandardErrors, gaps
from overton.statistics.proportions import wilson_limits


def raters(table: list[list[int]]) -> tuple[list[int], list[int]]:
    """Two judges' ratings from their table of counts."""
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in cells], [j for _, j in cells]


# Fleiss, Levin and Paik (2003), table 18.1: 100 subjects, psychotic, neurotic, organic; kappa 0.68, its standard error
# for intervals by Fleiss, Cohen and Everitt 0.087.
DIAGNOSES = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]

# Ten items, fourteen judges, five categories: Fleiss' kappa 0.210 (a widely printed worked example).
FOURTEEN = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


# Krippendorff (2011), section C: four observers, twelve units, some values missing. Nominal alpha is 0.743.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [[one[unit] for one in OBSERVERS if one[unit] is not None] for unit in range(12)]

WILSON = 1.959964**2 / (10 + 1.959964**2)
"""Wilson's upper limit of a share of 0 in ten."""


def test_cohens_kappa_of_the_published_diagnoses() -> None:
    estimate = cohen_kappa(*raters(DIAGNOSES))
    assert estimate.value == pytest.approx((0.89 - 0.66) / (1 - 0.66), abs=1e-9)
    assert estimate.error == pytest.approx(0.0877, rel=0.04)  # leaving out each subject gives 0.0904
    assert estimate.n == 100


def test_cohens_kappa_has_about_the_standard_error_of_fleiss_cohen_and_everitt() -> None:
    p = np.array([[20, 5, 3], [4, 15, 6], [2, 7, 18]]) / 80
    row, column = p.sum(axis=1), p.sum(axis=0)
    observed, chance = np.trace(p), row @ column
    total = sum(p[i, i] * ((1 - chance) - (column[i] + row[i]) * (1 - observed)) ** 2 for i in range(3))
    total += (1 - observed) ** 2 * sum(
        p[i, j] * (column[i] + row[j]) ** 2 for i in range(3) for j in range(3) if i != j
    )
    total -= (observed * chance - 2 * chance + observed) ** 2
    error = (total / 80) ** 0.5 / (1 - chance) ** 2
    assert cohen_kappa(*raters([[20, 5, 3], [4, 15, 6], [2, 7, 18]])).error == pytest.approx(error, rel=0.02)


def test_cohens_kappa_does_not_depend_on_the_names_of_labels() -> None:
    first, second = raters(DIAGNOSES)
    assert cohen_kappa([str(i) for i in first], [str(i) for i in second]) == cohen_kappa(first, second)


def test_every_item_twice_in_one_cluster_has_the_interval_of_every_item_once() -> None:
    first, second = raters(DIAGNOSES)
    once = cohen_kappa(first, second)
    naive = cohen_kappa(first * 2, second * 2)
    clustered = cohen_kappa(first * 2, second * 2, [*range(100), *range(100)])
    assert naive.high - naive.low < 0.75 * (once.high - once.low)
    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high))


def test_a_weight_of_two_counts_as_two_rows() -> None:
    first, second = raters(DIAGNOSES)
    weighted = cohen_kappa(first, second, weights=[2 if label == 2 else 1 for label in second])
    twice = [label for label, other in zip(first, second, strict=True) for _ in range(2 if other == 2 else 1)]
    other = [label for label in second for _ in range(2 if label == 2 else 1)]
    assert weighted.value == pytest.approx(cohen_kappa(twice, other).value)
    assert weighted.n == 100


def test_a_label_in_equal_parts_counts_as_half_a_row_of_each() -> None:
    split: list[Any] = [{"a": 0.5, "b": 0.5}, "a", {"b": 1.0}, "b"]
    assert cohen_kappa(split, "aabb").value == pytest.approx(1 - 0.125 / 0.5)
    assert cohen_kappa("ababb", "aaabb", weights=[0.5, 0.5, 1, 1, 1]).value == pytest.approx(1 - 0.125 / 0.5)


def test_alpha_is_that_of_the_published_example_with_missing_labels() -> None:
    found = krippendorff_alpha(UNITS)
    assert found.value == pytest.approx(0.743, abs=5e-4)
    assert found.n == 11  # the twelfth unit has one label, and does not count
    assert found.low < 0.743 < found.high <= 1


def test_alpha_by_hand() -> None:
    # Two units agree on 'a', one on 'b', one differs: n = 8, coincidences o = 4 + 2, n(a) = 5, n(b) = 3.
    found = krippendorff_alpha([["a", "a"], ["a", "a"], ["b", "b"], ["a", "b"]])
    assert found.value == pytest.approx(1 - 7 * (8 - 6) / (64 - 25 - 9))


labels = st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=12)


@given(units=labels, names=st.permutations("abc"))
def test_alpha_does_not_depend_on_names_of_labels_or_order_of_coders(units: list[list[str]], names: list[str]) -> None:
    called = dict(zip("abc", names, strict=True))
    before, after = (
        krippendorff_alpha(units),
        krippendorff_alpha([[called[one] for one in reversed(unit)] for unit in units]),
    )
    assert [before.n, before.method] == [after.n, after.method]
    for one, other in ((before.value, after.value), (before.low, after.low), (before.high, after.high)):
        assert one == pytest.approx(other, abs=1e-8, nan_ok=True)


@given(units=st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=12))
def test_where_nothing_is_missing_it_is_alpha_of_complete_labels(units: list[tuple[str, ...]]) -> None:
    kappa = fleiss_kappa(list(zip(*units, strict=True))).value  # of which it is a function then (Krippendorff 2004)
    expected = 1 - (1 - kappa) * (1 - 1 / (3 * len(units)))
    assert krippendorff_alpha(units).value == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_fleiss_kappa_of_the_worked_example() -> None:
    items = [[category for category, count in enumerate(row) for _ in range(count)] for row in FOURTEEN]
    assert fleiss_kappa(list(zip(*items, strict=True))).value == pytest.approx(0.210, abs=5e-4)


Pairs = Sequence[tuple[str, str]]


def kappa_of(pairs: Pairs, clusters: Sequence[int] | None = None) -> Estimate:
    return cohen_kappa([first for first, _ in pairs], [second for _, second in pairs], clusters)


def fleiss_of(pairs: Pairs, clusters: Sequence[int] | None = None) -> Estimate:
    return fleiss_kappa(list(zip(*pairs, strict=True)), clusters)


every_coefficient = pytest.mark.parametrize("of", [kappa_of, krippendorff_alpha, fleiss_of])
Coefficient = Callable[..., Estimate]


@every_coefficient
@pytest.mark.parametrize("seed", range(4))
def test_each_limit_is_the_further_of_the_jackknifes_and_wilsons(of: Coefficient, seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.choice(3, 48, p=[0.6, 0.3, 0.1])
    first, second = (np.where(random.random(48) < 0.8, truth, random.integers(0, 3, 48)).tolist() for _ in range(2))
    pairs, clusters = list(zip(first, second, strict=True)), [row // 4 for row in range(48)]
    found = of(pairs, clusters)

    without = [of([pairs[row] for row in range(48) if row // 4 != left_out]).value for left_out in range(12)]
    away = np.mean(without) - np.array(without)
    error, skewness = (11 / 12 * (away**2).sum()) ** 0.5, (away**3).sum() / (away**2).sum() ** 1.5
    low, high = gaps(StandardErrors(*np.array([[error], [skewness], [11]])), 0.95)

    differ = np.array([a != b for a, b in pairs], float).reshape(12, 4).mean(1)
    share, spread = differ.mean(), differ.std(ddof=1) / 12**0.5
    least, most = wilson_limits(share, share * (1 - share) / spread**2)
    chance = share / (1 - found.value)

    assert found.low == pytest.approx(min(found.value + low.item(), 1 - most / chance))
    assert found.high == pytest.approx(min(max(found.value + high.item(), 1 - least / chance), 1))


@every_coefficient
def test_raters_who_never_differ_have_wilsons_limits(of: Coefficient) -> None:
    even, rare = of([("a", "a"), ("b", "b")] * 5), of([("a", "a")] * 8 + [("b", "b")] * 2)
    correction = 20 / 19 if of is krippendorff_alpha else 1
    assert (even.value, even.high, rare.value, rare.high) == (1, 1, 1, 1)
    assert even.low == pytest.approx(1 - WILSON / (0.5 * correction), abs=1e-6)
    assert rare.low == pytest.approx(1 - WILSON / (0.32 * correction), abs=1e-6)
    assert even.method == "Wilson, over units"


def test_a_label_in_one_cluster_only_leaves_wilsons_limits() -> None:
    found = cohen_kappa("a" * 9 + "b", "a" * 10)
    least, most = wilson_limits(0.1, 9)
    assert found.value == pytest.approx(0)
    assert (found.low, found.high) == pytest.approx((max(-1, 1 - most / 0.1), 1 - least / 0.1))


@every_coefficient
def test_fewer_than_five_clusters_have_no_interval(of: Coefficient) -> None:
    pairs, clusters = [("a", "a"), ("b", "b"), ("a", "b")] * 5, [row % 5 for row in range(15)]
    assert not isnan(of(pairs, clusters).low)
    found = of(pairs, [min(cluster, 3) for cluster in clusters])
    assert isnan(found.low)
    assert isnan(found.high)
    assert "too few groups" in found.method


@every_coefficient
def test_limits_are_in_the_range_of_agreement(of: Coefficient) -> None:
    found = of([("a", "b"), ("b", "a")] * 2 + [("a", "a")])
    assert found.low == -1 < found.value
    assert "low" in found.undetermined


@pytest.mark.parametrize(
    ("found", "n", "why"),
    [
        (cohen_kappa("", ""), 0, "no item"),
        (cohen_kappa("aaaa", "aaaa"), 4, "only one label occurs"),
        (fleiss_kappa(["aa", "aa", "aa"]), 2, "only one label occurs"),
        (krippendorff_alpha([["a"], [], ["b"]]), 0, "no unit has two labels"),
        (krippendorff_alpha([["a", "a"], ["a", "a"]]), 2, "only one label occurs"),
    ],
)
def test_too_little_gives_a_reason_instead(found: Estimate, n: int, why: str) -> None:
    assert isnan(found.value)
    assert found.n == n
    assert why in found.method


def test_weights_leave_no_rounding_error_of_a_label_that_is_left_out() -> None:
    weights = [0.1, 0.7, 0.3, 1 / 3, 0.9, 1 / 7]
    found = cohen_kappa("aaaaab", "aaaaab", weights=weights)
    assert found.value == 1
    assert -1 <= found.low < 1


def test_judges_of_different_items_are_refused() -> None:
    with pytest.raises(ValueError, match="same items"):
        cohen_kappa("ab", "a")
    with pytest.raises(ValueError, match="two judges"):
        fleiss_kappa(["ab"])
    with pytest.raises(ValueError, match="one cluster per"):
        cohen_kappa("ab", "ab", [1])
    with pytest.raises(ValueError, match="one cluster per unit"):
        krippendorff_alpha([["a", "b"]], [])


def test_a_share_has_wilsons_interval() -> None:
    estimate = share([True] * 8 + [False] * 2)
    assert estimate.value == pytest.approx(0.8)
    assert (estimate.low, estimate.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert isnan(share([]).value)


def test_a_share_of_flags_equal_within_clusters_counts_clusters() -> None:
    flags = [flag for flag in [True] * 8 + [False] * 2 for _ in range(6)]
    clusters = [index for index in range(10) for _ in range(6)]
    clustered, naive, few = share(flags, clusters), share(flags), share([True] * 8 + [False] * 2)
    assert naive.high - naive.low < 0.6 * (few.high - few.low)
    assert clustered.high - clustered.low == pytest.approx(few.high - few.low, rel=0.06)
    assert clustered.n == 60


def test_a_share_of_equal_flags_is_as_uncertain_as_its_clusters_are_few() -> None:
    assert share([True] * 60, [index // 6 for index in range(60)]).low == pytest.approx(share([True] * 10).low)
    assert share([True] * 60).low > 0.9
