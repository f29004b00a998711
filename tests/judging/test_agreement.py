from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from overton.judging import cohen_kappa, fleiss_kappa, share


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


def test_cohens_kappa_of_the_published_diagnoses() -> None:
    estimate = cohen_kappa(*raters(DIAGNOSES))
    assert estimate.value == pytest.approx((0.89 - 0.66) / (1 - 0.66), abs=1e-9)
    assert (estimate.high - estimate.low) / (2 * 1.959964) == pytest.approx(0.0877, abs=5e-5)
    assert (estimate.n, estimate.method) == (100, "Fleiss-Cohen-Everitt")


def test_cohens_kappa_interval_is_the_formula_of_fleiss_cohen_and_everitt() -> None:
    p = np.array([[20, 5, 3], [4, 15, 6], [2, 7, 18]]) / 80
    row, column = p.sum(axis=1), p.sum(axis=0)
    observed, chance = np.trace(p), row @ column
    total = sum(p[i, i] * ((1 - chance) - (column[i] + row[i]) * (1 - observed)) ** 2 for i in range(3))
    total += (1 - observed) ** 2 * sum(
        p[i, j] * (column[i] + row[j]) ** 2 for i in range(3) for j in range(3) if i != j
    )
    total -= (observed * chance - 2 * chance + observed) ** 2
    error = (total / 80) ** 0.5 / (1 - chance) ** 2
    estimate = cohen_kappa(*raters([[20, 5, 3], [4, 15, 6], [2, 7, 18]]))
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.959964 * error, rel=1e-6)


def test_cohens_kappa_is_that_of_labels_whatever_they_are_called() -> None:
    first, second = raters(DIAGNOSES)
    assert cohen_kappa([str(i) for i in first], [str(i) for i in second]) == cohen_kappa(first, second)


def test_every_item_twice_in_one_cluster_widens_the_interval_back() -> None:
    first, second = raters(DIAGNOSES)
    once = cohen_kappa(first, second)
    naive = cohen_kappa(first * 2, second * 2)
    clustered = cohen_kappa(first * 2, second * 2, [*range(100), *range(100)])
    assert naive.high - naive.low < 0.75 * (once.high - once.low)
    assert clustered.high - clustered.low == pytest.approx((once.high - once.low) * (100 / 99) ** 0.5)


def test_fleiss_kappa_of_the_worked_example() -> None:
    items = [[category for category, count in enumerate(row) for _ in range(count)] for row in FOURTEEN]
    assert fleiss_kappa(list(zip(*items, strict=True))).value == pytest.approx(0.210, abs=5e-4)


def test_fleiss_kappa_interval_is_that_of_the_jackknife() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 300)
    ratings = [np.where(rng.random(300) < 0.7, truth, rng.integers(0, 3, 300)) for _ in range(4)]
    estimate = fleiss_kappa([list(judge) for judge in ratings])
    left_out = [fleiss_kappa([list(np.delete(judge, i)) for judge in ratings]).value for i in range(300)]
    error = (299 / 300 * ((np.array(left_out) - np.mean(left_out)) ** 2).sum()) ** 0.5
    assert (estimate.high - estimate.low) / (2 * 1.959964) == pytest.approx(error, rel=0.02)


def test_perfect_agreement_has_no_interval_and_one_category_no_kappa() -> None:
    perfect = cohen_kappa("abab", "abab")
    assert perfect.value == 1
    assert isnan(perfect.low)
    assert isnan(perfect.high)
    only = cohen_kappa("aaaa", "aaaa")
    assert isnan(only.value)
    assert only.n == 4
    assert "one category" in only.method
    assert isnan(fleiss_kappa(["aa", "aa", "aa"]).value)
    assert isnan(cohen_kappa("", "").value)


def test_judges_of_different_items_are_refused() -> None:
    with pytest.raises(ValueError, match="same items"):
        cohen_kappa("ab", "a")
    with pytest.raises(ValueError, match="two judges"):
        fleiss_kappa(["ab"])


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
