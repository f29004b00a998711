"""A test of paired differences, and what to make of many tests at once."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

__all__ = ["holm", "signed_rank"]

_EXACT = 50


def signed_rank(differences: NDArray[np.float64]) -> float:
    """Wilcoxon's signed-rank test of one difference a unit, two-sided; zeros and NaN are left out.

    Exact for up to 50 differences, ties included (which SciPy leaves to chance), else by the normal approximation. NaN
    where there are no differences, 1 where all are 0.
    """
    known = differences[np.isfinite(differences)]
    kept = known[known != 0]
    if not known.size or not kept.size:
        return 1.0 if known.size else nan
    if kept.size > _EXACT:
        return float(wilcoxon(kept).pvalue)
    doubled = np.rint(2 * rankdata(np.abs(np.round(kept, 12)))).astype(int)
    chances = np.ones(1)
    for rank in doubled:  # each rank's sign is a fair coin
        chances = (np.r_[chances, np.zeros(rank)] + np.r_[np.zeros(rank), chances]) / 2
    smaller = min(doubled[kept > 0].sum(), doubled[kept < 0].sum())
    return float(min(1.0, 2 * chances[: smaller + 1].sum()))


def holm(p: Iterable[float]) -> list[float]:
    """P values adjusted for all that are not NaN (Holm 1979, Scand. J. Stat. 6:65)."""
    given = np.array(list(p), float)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * np.arange(len(order), 0, -1)
    given[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(value) for value in given]
