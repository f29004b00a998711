"""Agreement of clusterings: worked by hand, and as scikit-learn computes it."""

from __future__ import annotations

from itertools import product
from math import log

import pytest

from overton.statistics.partitions import adjusted_rand, completeness, homogeneity, omega_index, v_measure


def test_adjusted_rand_of_a_worked_example() -> None:
    # Six things, 15 pairs. Together: 3 in the first (aa, bb, cc), 4 in the second (three of 111, one of 22), 1 in both.
    # Expected by chance 3 * 4 / 15 = 0.8, at most (3 + 4) / 2 = 3.5.
    assert adjusted_rand("aabbcc", [1, 1, 1, 2, 2, 3]) == pytest.approx((1 - 0.8) / (3.5 - 0.8))


def test_v_measure_of_a_worked_example() -> None:
    # Classes aabb in clusters 1112, in nats. H(class) = ln 2, H(class | cluster) = 3/4 H(2/3, 1/3);
    # H(cluster) = H(3/4, 1/4), H(cluster | class) = 1/2 H(1/2, 1/2).
    inner = -(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3))
    of_clusters = -(3 / 4 * log(3 / 4) + 1 / 4 * log(1 / 4))
    h, c = 1 - 0.75 * inner / log(2), 1 - 0.5 * log(2) / of_clusters
    assert homogeneity("aabb", "1112") == pytest.approx(h)
    assert completeness("aabb", "1112") == pytest.approx(c)
    assert v_measure("aabb", "1112") == pytest.approx(2 * h * c / (h + c))


@pytest.mark.parametrize(("first", "second"), [("aabb", "ccdd"), ("", ""), ("a", "b"), ("aaa", "bbb"), ("abc", "def")])
def test_the_same_clusters_under_other_names_agree_fully(first: str, second: str) -> None:
    assert adjusted_rand(first, second) == 1.0
    assert v_measure(first, second) == 1.0


def test_labels_that_differ_in_number_are_refused() -> None:
    for measure in (adjusted_rand, homogeneity, v_measure):
        with pytest.raises(ValueError, match="argument 2"):
            measure("aab", "ab")


def test_omega_counts_how_often_pairs_meet() -> None:
    # Four things, six pairs. First: ab twice, all else never; second: ab once, cd once.
    # Agreed: ac ad bc bd = 4 of 6. Chance: never (5 * 4) + once (0 * 2) + twice (1 * 0), over 36.
    found = omega_index([["a", "b"], ["b", "a"]], [["a", "b"], ["c", "d"]], "abcd")
    assert found == pytest.approx((4 / 6 - 20 / 36) / (1 - 20 / 36))


def test_omega_lets_things_be_in_several_clusters_or_none() -> None:
    assert omega_index([["a", "b"], ["b", "c"]], [["c", "b"], ["a", "b"]], "abcd") == 1.0
    assert omega_index([], [], "ab") == 1.0
    assert omega_index([], [], "") == 1.0


LABELS = list(product(range(3), repeat=4))


def clusters(of: tuple[int, ...]) -> list[list[int]]:
    return [[place for place, label in enumerate(of) if label == one] for one in set(of)]


@pytest.mark.parametrize("first", LABELS[::7])
def test_without_overlap_omega_is_the_adjusted_rand_index(first: tuple[int, ...]) -> None:
    for second in LABELS:
        omega = omega_index(clusters(first), clusters(second), range(4))
        assert omega == pytest.approx(adjusted_rand(first, second))


@pytest.mark.parametrize("first", LABELS[::7])
def test_measures_are_symmetric_and_in_range(first: tuple[int, ...]) -> None:
    for second in LABELS:
        assert adjusted_rand(first, second) == pytest.approx(adjusted_rand(second, first))
        assert adjusted_rand(first, second) <= 1
        assert v_measure(first, second) == pytest.approx(v_measure(second, first))
        assert 0 <= v_measure(first, second) <= 1


def test_scikit_learn_computes_the_same() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    for first, second in product(product(range(3), repeat=5), [(0, 0, 1, 1, 2), (0, 1, 2, 3, 4), (0, 0, 0, 0, 0)]):
        assert adjusted_rand(first, second) == pytest.approx(metrics.adjusted_rand_score(first, second))
        expected = metrics.homogeneity_completeness_v_measure(first, second)
        found = homogeneity(first, second), completeness(first, second), v_measure(first, second)
        assert found == pytest.approx(expected, abs=1e-9)
