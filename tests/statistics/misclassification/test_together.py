"""Whether errors in one conversation cluster."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from overton.statistics.judge_error_tests import ErrorClustering, error_clustering
from overton.statistics.misclassification import DoublyLabelled


def read(wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], group: list[int]) -> ErrorClustering:
    true = np.zeros(len(wrong), int)
    return error_clustering(DoublyLabelled(np.eye(2)[true], wrong.astype(int), np.ones(len(wrong)), np.array(group), 2))


def test_the_correlation_is_the_mean_product_of_two_rows_over_the_variance() -> None:
    # Residues are 1/2 and -1/2: of the pairs of groups 0 and 1 both agree, of group 2 they differ.
    found = read(np.array([1, 1, 0, 0, 1, 0], bool), [0, 0, 1, 1, 2, 2])
    assert found.pairs == 3
    assert found.correlation == pytest.approx((1 + 1 - 1) / 3)


def test_errors_that_cluster_are_reported() -> None:
    random = np.random.default_rng(0)
    rate = np.repeat(random.beta(0.2, 1.8, 20), 10)
    found = read(random.random(200) < rate, np.repeat(np.arange(20), 10).tolist())
    assert found.p < 0.01
    assert found.fails
    assert "cluster in groups" in str(found)


def test_independent_errors_are_called_so_nineteen_times_in_twenty() -> None:
    random = np.random.default_rng(1)
    group = np.repeat(np.arange(10), 6).tolist()
    failed = sum(read(random.random(60) < 0.2, group).fails for _ in range(60))
    assert failed <= 8  # of 60 at 5% more are seen less than once in a hundred times


def test_error_rates_that_differ_by_true_label_do_not_correlate_errors() -> None:
    # All rows of group 0 are label 1, which the judge never reads: errors come with the label, not with the group.
    true, group = np.array([1] * 10 + [0] * 30), np.repeat(np.arange(4), 10)
    found = error_clustering(DoublyLabelled(np.eye(2)[true], np.zeros(40, int), np.ones(40), group, 2))
    assert isnan(found.p)


@pytest.mark.parametrize("group", [[0, 1, 2, 3], [0, 0, 1, 1]])
def test_without_pairs_or_errors_nothing_is_reported(group: list[int]) -> None:
    wrong = np.array([1, 0, 1, 0], bool) if group[1] else np.zeros(4, bool)
    found = read(wrong, group)
    assert isnan(found.p)
    assert not found.fails
    assert "cannot show whether" in str(found)
