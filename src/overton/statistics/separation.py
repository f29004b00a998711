"""Answers that a logistic model predicts perfectly in the limit, so that it has no finite estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack, identity

__all__ = ["separated_rows"]

Array = NDArray[np.float64]


def separated_rows(
    successes: Array, trials: Array, design: Array, groups: NDArray[np.int64], count: int
) -> NDArray[np.bool_]:
    """Which rows are separated: some direction predicts them ever better and speaks against no other row.

    A linear programme (Konis 2007) finds the direction that separates the most rows: s_i x_i.b >= z_i with
    0 <= z_i <= 1 where a row's answers all agree (s_i is their sign), x_i.b = 0 where they do not, maximising the sum
    of z. Arguments as for `fit_logit`, every row with answers.
    """
    rows = len(trials)
    features = _features(design, groups, count)
    same = (successes == 0) | (successes == trials)
    if not same.any():
        return np.zeros(rows, bool)
    signs = np.where(successes == 0, -1.0, 1.0)[same]
    pure = features[np.flatnonzero(same)].multiply(signs[:, None])
    size = int(same.sum())
    above = hstack([-pure, identity(size)], format="csr")
    mixed = features[np.flatnonzero(~same)]
    level = hstack([mixed, coo_array((mixed.shape[0], size))], format="csr") if mixed.shape[0] else None
    width = features.shape[1]
    found = linprog(
        np.concatenate([np.zeros(width), -np.ones(size)]),
        A_ub=above,
        b_ub=np.zeros(size),
        A_eq=level,
        b_eq=None if level is None else np.zeros(mixed.shape[0]),
        bounds=[(None, None)] * width + [(0.0, 1.0)] * size,
        method="highs",
    )
    if found.x is None:
        raise ArithmeticError(f"the search for separated answers failed: {found.message}")
    separated = np.zeros(rows, bool)
    separated[same] = found.x[width:] > 0.5
    return separated


def _features(design: Array, groups: NDArray[np.int64], count: int) -> Any:
    rows = len(groups)
    dummies = coo_array((np.ones(rows), (np.arange(rows), groups)), shape=(rows, count))
    return hstack([dummies, coo_array(design)], format="csr")
