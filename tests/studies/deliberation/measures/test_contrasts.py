import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

from overton.statistics.resampling import Counts, Jackknife
from overton.studies.deliberation.measures.contrasts import (
    Pair,
    compared,
    corrected,
    mann_whitney,
    mcnemar,
    proportions,
)


def ones(count):
    return np.ones((count, 1))


def test_the_proportions_test_is_the_chi_squared_test_without_correction():
    expected = chi2_contingency([[30, 70], [45, 55]], correction=False).pvalue
    assert proportions(np.array([30.0]), 100, np.array([45.0]), 100)[0] == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (20.0, 20.0)])
def test_shares_that_cannot_differ_have_p_1(first, second):
    assert proportions(np.array([first]), 20, np.array([second]), 20)[0] == 1


def test_mcnemar_is_the_exact_binomial_test_of_what_differs():
    first, second = np.array([1] * 9 + [0] * 2 + [1] * 20), np.array([0] * 9 + [1] * 2 + [1] * 20)
    p = mcnemar(first[:, None], ones(31), second[:, None], ones(31))
    assert p[0] == pytest.approx(binomtest(2, 11).pvalue)


def test_a_dilemma_discussed_often_counts_once_for_the_side_with_the_higher_share():
    p = mcnemar(np.array([[1.0], [0.0]]), np.array([[4.0], [2.0]]), np.array([[1.0], [2.0]]), np.array([[2.0], [2.0]]))
    assert p[0] == pytest.approx(binomtest(0, 2).pvalue)


def test_dilemmas_of_one_side_only_tell_mcnemar_nothing():
    p = mcnemar(np.ones((2, 1)), np.array([[1.0], [0.0]]), np.zeros((2, 1)), np.array([[0.0], [1.0]]))
    assert np.isnan(p[0])


def test_the_rank_test_says_nothing_of_nothing():
    assert np.isnan(mann_whitney(np.array([]), np.array([1.0])))


def test_contrasts_are_corrected_for_those_that_were_made():
    empty, full = Counts(np.zeros(8), np.zeros(8)), Counts(np.r_[np.ones(7), 0.0], np.ones(8))
    none = Counts(np.zeros(8), np.ones(8))
    pairs = [Pair(name, ("a", "b"), *sides) for name, sides in (("x", (none, full)), ("y", (empty, full)))]
    (_, first), (key, second) = corrected(compared(Jackknife(resamples=50).over(8), pairs))
    assert key == "y"
    assert first.paired.of == 1
    assert first.paired.adjusted == pytest.approx(binomtest(0, 7).pvalue)
    assert np.isnan(second.paired.p)
    assert np.isnan(second.difference.value)
