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
    """Wilcoxon's signed-rank test of one difference per unit, two-sided; zeros and NaN are left out.

    Exact for up to 50 differences, ties included (for which SciPy's result is random), otherwise by the normal
    approximation. NaN if there are no differences, 1 if all are 0.
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


@lru_cache(maxsize=1024)  # few units have few ways to be tied
def _chances_of_sums(ranks: tuple[int, ...]) -> Floats:
    """How likely each sum of ranks is, from 0 on, if every rank's sign is a fair coin."""
    chances = np.ones(1)
    for rank in ranks:
        chances = (np.r_[chances, np.zeros(rank)] + np.r_[np.zeros(rank), chances]) / 2
    return chances


def _approximately(differences: Floats) -> float:
    """By the normal distribution of the sum of ranks, whose variance ties make smaller."""
    ranks, above, tied = _ranked(np.abs(differences), differences > 0)
    many = float(len(ranks))
    variance = (many * (many + 1) * (2 * many + 1) - (tied**3 - tied).sum() / 2) / 24
    return float(2 * ndtr(-abs(ranks[above].sum() - many * (many + 1) / 4) / variance**0.5))


class _Ranked(NamedTuple):
    """Differences in order of their sizes, with the mean rank for tied ones. `above` says which are above 0, and `tied`
    how many there are of each size."""

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
