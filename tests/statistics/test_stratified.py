import numpy as np
import pytest

from overton.statistics.proportions import mantel_haenszel


def test_one_stratum_gives_the_plain_difference() -> None:
    assert mantel_haenszel([8], [10], [3], [10]).difference() == pytest.approx(0.5)


def test_strata_are_weighed_by_what_they_tell() -> None:
    # Weights 10 * 10 / 20 = 5 and 1 * 3 / 4 = 0.75; the stratum with one value of the factor says nothing.
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
