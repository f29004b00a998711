import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Jackknife
from overton.studies.deliberation.contrasts import (
    Contrast,
    Where,
    compare,
    mann_whitney,
    mcnemar,
    proportions,
)
from overton.studies.frame import EstimateRow
from overton.studies.study_measures import TableRow


def ones(count):
    return np.ones((count, 1))


def test_the_proportions_test_is_the_chi_squared_test_without_correction():
    expected = chi2_contingency([[30, 70], [45, 55]], correction=False).pvalue
    assert proportions(np.array([30.0]), 100, np.array([45.0]), 100)[0] == pytest.approx(expected)


FIGURE_6 = {
    "Claude against GPT": (282, 325, 0.036502382469764325),
    "GPT against Claude": (31, 193, 1.5438586341258666e-30),
    "Claude against Gemini": (333, 446, 2.1994842200110781e-07),
    "Gemini against Claude": (341, 394, 0.013966901791219115),
    "GPT against Gemini": (6, 115, 1.5615543555810363e-24),
    "Gemini against GPT": (412, 435, 0.2979470298236383),
}
"""Of 1,000 deliberations, those with a change under either prompt, and the p value that the authors' notebook printed.

The first count is section 4.1's rate, where Claude's and Gemini's are swapped: no second count gives these p values
with 341 for Claude or 333 for Gemini."""


@pytest.mark.parametrize(("first", "second", "p"), FIGURE_6.values(), ids=FIGURE_6)
def test_the_p_values_behind_figure_6_are_found_again(first, second, p):
    found = proportions(np.array([float(first)]), 1000, np.array([float(second)]), 1000)[0]
    assert found == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("swapped", "p"), [(341, 2.1994842200110781e-07), (333, 0.013966901791219115)])
def test_with_the_texts_rates_swapped_back_no_count_gives_the_printed_p_value(swapped, p):
    every = np.arange(swapped + 1, 1001.0)
    found = proportions(np.full(len(every), float(swapped)), 1000, every, 1000)
    assert np.min(np.abs(found / p - 1)) > 1e-3


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (20.0, 20.0)])
def test_shares_that_cannot_differ_have_p_1(first, second):
    assert proportions(np.array([first]), 20, np.array([second]), 20)[0] == 1


def test_mcnemar_is_the_exact_binomial_test_of_discordant_pairs():
    first, second = np.array([1] * 9 + [0] * 2 + [1] * 20), np.array([0] * 9 + [1] * 2 + [1] * 20)
    p = mcnemar(first[:, None], ones(31), second[:, None], ones(31))
    assert p[0] == pytest.approx(binomtest(2, 11).pvalue)


def test_a_dilemma_discussed_often_counts_once_for_the_side_with_the_higher_share():
    p = mcnemar(np.array([[1.0], [0.0]]), np.array([[4.0], [2.0]]), np.array([[1.0], [2.0]]), np.array([[2.0], [2.0]]))
    assert p[0] == pytest.approx(binomtest(0, 2).pvalue)


def test_dilemmas_of_one_side_only_tell_mcnemar_nothing():
    p = mcnemar(np.ones((2, 1)), np.array([[1.0], [0.0]]), np.zeros((2, 1)), np.array([[0.0], [1.0]]))
    assert np.isnan(p[0])


def test_the_rank_test_gives_no_result_without_data():
    assert np.isnan(mann_whitney(np.array([]), np.array([1.0])))


def test_contrasts_are_corrected_for_those_that_were_made():
    empty, full = ClusterSums(np.zeros(8), np.zeros(8)), ClusterSums(np.r_[np.ones(7), 0.0], np.ones(8))
    none = ClusterSums(np.zeros(8), np.ones(8))
    contrasts = [
        Contrast([Where("changed", name, against="a")], *sides)
        for name, sides in (("x", (none, full)), ("y", (empty, full)))
    ]
    made = list(compare(Jackknife(resamples=50).over(8), contrasts))
    first, second = (row for row in made if isinstance(row, EstimateRow))
    paired = [row.cells for row in made if isinstance(row, TableRow) and row.cells["kind"] == "paired"]
    assert (first.model, first.against, first.clusters) == ("x", "a", 8)
    assert first.p == paired[0]["adjusted"] == pytest.approx(binomtest(0, 7).pvalue)
    assert [(cells["model"], cells["of"]) for cells in paired] == [("x", 1), ("y", 1)]
    assert paired[1]["p"] is None
    assert second.p is None
    assert np.isnan(second.number.value)


def test_separate_questions_are_not_corrected():
    none, full = (ClusterSums(value, np.ones(8)) for value in (np.zeros(8), np.r_[np.ones(7), 0.0]))
    places = [Where("similarity", None, "pooled", name, "a") for name in "xy"]
    contrasts = [Contrast([place], none, full) for place in places]
    made = compare(Jackknife(resamples=50).over(8), contrasts, corrected=False)
    tests = [row.cells for row in made if isinstance(row, TableRow)]
    assert [cells["of"] for cells in tests] == [1] * 4
    assert all(cells["adjusted"] == cells["p"] for cells in tests)
