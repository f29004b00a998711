import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from overton.statistics.proportions import difference_limits, exact_fall, mantel_haenszel, proportion, wilson_limits


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 10), (10, 10), (45, 90), (1, 1)])
def test_wilson_limits_are_scipys(count: int, n: int) -> None:
    expected = binomtest(count, n).proportion_ci(0.9, method="wilson")
    assert proportion(count, n, 0.9) == pytest.approx((count / n, expected.low, expected.high))


@given(st.floats(0, 1), st.floats(0.5, 1e6))
def test_wilson_limits_contain_the_share_within_0_and_1(share: float, n: float) -> None:
    low, high = wilson_limits(share, n)
    assert 0 <= low <= share <= high <= 1


def test_no_answers_have_no_limits() -> None:
    assert all(np.isnan(proportion(0, 0)))


def test_newcombes_example() -> None:
    # Newcombe (1998), table II, method 10: 56/70 - 48/80.
    low, high = difference_limits(56 / 70, 70, 48 / 80, 80)
    assert (float(low), float(high)) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_one_stratum_gives_the_plain_difference() -> None:
    assert mantel_haenszel([8], [10], [3], [10]).difference() == pytest.approx(0.5)


def test_strata_are_weighted_by_their_information() -> None:
    # Weights 10 * 10 / 20 = 5 and 1 * 3 / 4 = 0.75; the stratum with one value of the factor counts 0.
    found = mantel_haenszel([8, 1, 4], [10, 1, 4], [3, 0, 0], [10, 3, 0])
    assert found.difference() == pytest.approx((5 * 0.5 + 0.75 * 1) / 5.75)


def test_no_stratum_with_both_values_gives_nan() -> None:
    assert np.isnan(mantel_haenszel([8], [10], [0], [0]).difference())


def test_the_error_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(0)
    n1, n0 = rng.integers(1, 4, 200), rng.integers(1, 4, 200)
    base = rng.uniform(0.2, 0.6, 200)
    runs = [mantel_haenszel(rng.binomial(n1, base + 0.2), n1, rng.binomial(n0, base), n0) for _ in range(300)]
    differences = [float(run.difference()) for run in runs]
    assert np.mean(differences) == pytest.approx(0.2, abs=0.01)
    assert np.mean([float(run.error()) for run in runs]) == pytest.approx(np.std(differences), rel=0.12)


def test_an_exact_fall_is_fishers_one_sided_p_value() -> None:
    # Fisher's tea: three of four cups right. (4 * 4 + 1) / 70.
    assert exact_fall(3, 4, 1, 4) == pytest.approx(17 / 70)
    assert exact_fall(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert exact_fall(0, 4, 4, 4) == 1


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_an_exact_fall_agrees_with_scipy(of: int, of_after: int, data: st.DataObject) -> None:
    before, after = data.draw(st.integers(0, of)), data.draw(st.integers(0, of_after))
    table = [[before, of - before], [after, of_after - after]]
    expected = fisher_exact(table, alternative="greater").pvalue
    assert exact_fall(before, of, after, of_after) == pytest.approx(expected, abs=1e-12)
