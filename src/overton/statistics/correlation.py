"""Pearson correlation of values that come in clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import AnyFloats, Floats
from overton.statistics.estimate import DIFFERENCE, Estimate, not_computed
from overton.statistics.jackknife import FISHER, Jackknife

_NO_CORRELATION = "fewer than three pairs, or one side does not vary"


def clustered_pearson(
    x: Floats, y: Floats, clusters: Sequence[int] | NDArray[np.int64], jackknife: Jackknife
) -> Estimate:
    """The correlation of pairs (x, y), with an interval by leaving out whole clusters. `n` counts pairs.

    Pairs with a NaN are left out. Fisher's own interval is not used, because it treats the pairs of one cluster as
    independent.
    """
    use = np.isfinite(x) & np.isfinite(y)
    x, y = x[use], y[use]
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return not_computed(_NO_CORRELATION, level=jackknife.level, n=int(x.size))
    _, codes = np.unique(np.asarray(clusters)[use], return_inverse=True)
    x, y = x - x.mean(), y - y.mean()
    parts = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    return jackknife.over(codes).statistic(parts, _pearson, _NO_CORRELATION, within=DIFFERENCE, scale=FISHER)


def _pearson(sums: AnyFloats) -> AnyFloats:
    n, x, y, xx, yy, xy = sums[:, 0].T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip((n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y)), -1, 1))
