"""Tests of paired values, and adjustment for many tests at once."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

_MOST_EXACT = 50


def signed_rank(differences: NDArray[np.float64]) -> float:
    """Wilcoxon's signed-rank test of one difference per unit, two-sided; zeros and NaN are left out.

    Exact for up to 50 differences, ties included (for which SciPy's result is random), otherwise by the normal
    approximation. NaN if there are no differences, 1 if all are 0.
    """
    known = differences[np.isfinite(differences)]
    kept = known[known != 0]
    if not known.size or not kept.size:
        return 1.0 if known.size else nan
    if kept.size > _MOST_EXACT:
        return float(wilcoxon(kept).pvalue)
    doubled = np.rint(2 * rankdata(np.abs(np.round(kept, 12)))).astype(int)
    chances = np.ones(1)
    for rank in doubled:  # each rank's sign is a fair coin
        chances = (np.r_[chances, np.zeros(rank)] + np.r_[np.zeros(rank), chances]) / 2
    smaller = min(doubled[kept > 0].sum(), doubled[kept < 0].sum())
    return float(min(1.0, 2 * chances[: smaller + 1].sum()))


_AT_ONCE = 2**20


def permuted_within(values: NDArray[np.float64], draws: int, seed: int) -> float:
    """Permutation test that k columns do not differ, values [rows, k] being exchangeable within each row.

    The statistic is the variance of the columns' means; it is compared with that of `draws` tables whose rows are
    shuffled, the table itself counting as one of them. Rows with a NaN are left out; NaN if none is left.
    """
    known = values[np.isfinite(values).all(1)]
    if not len(known):
        return nan
    rng = np.random.default_rng((seed, *known.shape))
    known = known - known.mean(1, keepdims=True)  # what a row has in all columns is no difference
    observed, reached, left = _variance_of_column_means(known), 0, draws
    while left:
        some = min(left, max(1, _AT_ONCE // known.size))
        order = rng.random((some, *known.shape)).argsort(2)
        shuffled = np.take_along_axis(np.broadcast_to(known, order.shape), order, 2)
        reached += int((_variance_of_column_means(shuffled) >= observed * (1 - _TIED)).sum())
        left -= some
    return (1 + reached) / (1 + draws)


_TIED = 1e-9


def _variance_of_column_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance over columns of their means, of tables [..., rows, k]."""
    return np.asarray(values.mean(-2).var(-1))


def holm(p: Iterable[float]) -> list[float]:
    """P values adjusted for all that are not NaN (Holm 1979, Scand. J. Stat. 6:65)."""
    given = np.array(list(p), float)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * np.arange(len(order), 0, -1)
    given[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(value) for value in given]
