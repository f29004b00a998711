import numpy as np
import pytest

from overton.api.inspect_tasks import standard_error
from overton.statistics import Estimate
from overton.statistics.resampling import limits


@pytest.mark.parametrize("clusters", [5, 12, 100])
def test_the_standard_error_of_a_mean_is_that_of_its_clusters(clusters):
    rng = np.random.default_rng(1)
    values = rng.normal(size=clusters)
    draws = np.array([rng.choice(values, clusters).mean() for _ in range(20_000)])
    mean = values.mean()
    (low,), (high,) = limits((draws - mean)[:, None].astype(np.float32), np.array([float(clusters)]), 0.95)
    found = standard_error(Estimate(mean, mean + low, mean + high, clusters, "bootstrap over items"), clusters)
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(clusters), rel=0.25 if clusters == 5 else 0.1)


def test_too_few_clusters_have_none():
    assert np.isnan(standard_error(Estimate(0.5, 0.2, 0.8, 2, "bootstrap over items"), 4))
