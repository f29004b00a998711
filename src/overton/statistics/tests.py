"""Tests of paired values, and adjustment for many tests at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from overton.statistics.arrays import Floats

_MOST_EXACT = 50


def signed_rank(differences: NDArray[np.float64]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test of one difference per unit. Zeros and NaN are left out.

    The p-value is exact for up to 50 differences, even with ties (SciPy's result for ties is random). For more
    differences it comes from the normal approximation. It is NaN if there are no differences, and 1 if all differences
    are 0.
    """
    known = differences[np.isfinite(differences)]
    kept = known[known != 0]
    if not known.size or not kept.size:
        return 1.0 if known.size else nan
    return _approximately(kept) if kept.size > _MOST_EXACT else _exactly(kept)


def _exactly(differences: Floats) -> float:
    ranked = _ranked(np.abs(np.round(differences, 12)), differences > 0)
    doubled = np.rint(2 * ranked.ranks).astype(int)
    smaller = min(doubled[ranked.above].sum(), doubled[~ranked.above].sum())
    return float(min(1.0, 2 * _chances_of_sums(tuple(doubled.tolist()))[: smaller + 1].sum()))


@lru_cache(maxsize=1024)  # with few units, the same ties recur
def _chances_of_sums(ranks: tuple[int, ...]) -> Floats:
    """The probability of each sum of ranks, from 0 on, if every rank is included with probability 1/2."""
    chances = np.ones(1)
    for rank in ranks:
        chances = (np.r_[chances, np.zeros(rank)] + np.r_[np.zeros(rank), chances]) / 2
    return chances


def _approximately(differences: Floats) -> float:
    """The p-value by the normal approximation for the sum of ranks. Ties reduce the sum's variance."""
    ranks, above, tied = _ranked(np.abs(differences), differences > 0)
    many = float(len(ranks))
    variance = (many * (many + 1) * (2 * many + 1) - (tied**3 - tied).sum() / 2) / 24
    return float(2 * ndtr(-abs(ranks[above].sum() - many * (many + 1) / 4) / variance**0.5))


class _Ranked(NamedTuple):
    """Ranks of differences, in order of absolute value. Tied differences have their mean rank. `above` marks the
    differences above 0. `tied` is the number of differences with each absolute value."""

    ranks: Floats
    above: NDArray[np.bool_]
    tied: Floats


def _ranked(sizes: Floats, above: NDArray[np.bool_]) -> _Ranked:
    order = np.argsort(sizes)
    ordered = sizes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    tied = np.diff(np.r_[starts, len(ordered)])
    return _Ranked(np.repeat(starts + (tied + 1) / 2, tied), above[order], tied.astype(float))


_AT_ONCE = 2**20


def permuted_within(values: NDArray[np.float64], draws: int, seed: int) -> float:
    """The p-value of a permutation test of whether k columns differ. The test exchanges `values` [rows, k] within each
    row.

    The statistic is the variance of the columns' means. It is compared with its values in `draws` shuffled tables and
    in the table itself. Rows with a NaN are left out. The result is NaN if no row is left.
    """
    known = values[np.isfinite(values).all(1)]
    if not len(known):
        return nan
    rng = np.random.default_rng((seed, *known.shape))
    known = known - known.mean(1, keepdims=True)  # row means say nothing about differences between columns
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
    """The variance of the column means of each table [..., rows, k]."""
    return np.asarray(values.mean(-2).var(-1))


def holm(p: Iterable[float]) -> list[float]:
    """P-values adjusted for the number of tests (Holm 1979, Scand. J. Stat. 6:65). NaN stays NaN and does not count as
    a test."""
    given = np.array(list(p), float)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * np.arange(len(order), 0, -1)
    given[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(value) for value in given]
