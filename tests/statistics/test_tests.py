import numpy as np
import pytest
from scipy.stats import wilcoxon

from overton.statistics.tests import holm, signed_rank


def test_the_signed_rank_test_is_scipys_without_ties_and_exact_with_them():
    distinct = np.random.default_rng(2).normal(0.4, 1, 20)
    assert signed_rank(distinct) == pytest.approx(wilcoxon(distinct, method="exact").pvalue)
    assert signed_rank(np.array([1.0, 1.0, 1.0, -1.0, 0.0])) == pytest.approx(2 * (1 + 4) / 2**4)
    many = np.random.default_rng(2).normal(0.1, 1, 300)
    assert signed_rank(many) == pytest.approx(wilcoxon(many).pvalue)


def test_signed_rank_is_nan_without_values_and_1_without_differences():
    assert np.isnan(signed_rank(np.array([np.nan])))
    assert signed_rank(np.zeros(5)) == 1


def test_holms_correction_by_hand():
    assert holm([0.01, 0.04, 0.03, float("nan")]) == pytest.approx([0.03, 0.06, 0.06, float("nan")], nan_ok=True)
