"""Verdicts that the model comes to exclude altogether, so that some coefficients grow without bound.

With plain covariates the likelihood of a multinomial logit has a finite maximum unless some direction of the
coefficients favours every verdict that was given over others, or leaves them level (Albert and Anderson 1984,
Biometrika 71:1). Normal effects of dilemmas do not change that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

__all__ = ["excluded_verdicts", "told_apart"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def excluded_verdicts(features: Array, allowed: Flags, totals: Array) -> Flags:
    """Which verdicts of which patterns [U, K] are excluded in the limit.

    `features` [U, K, P], `allowed` [U, K], `totals` [U, K] how often each was given. A linear programme (Konis 2007)
    finds the direction that excludes most: over each given verdict every other one falls back by z, 0 <= z <= 1, two
    given ones keep level, and the sum of all z is as large as can be.
    """
    given: Flags = np.asarray((totals > 0) & allowed, np.bool_)
    met = np.flatnonzero(given.any(1))
    first = given.argmax(1)
    base = np.take_along_axis(features, first[:, None, None], axis=1)
    gaps = base - features  # [U, K, P]
    others = np.argwhere(allowed & ~given & np.any(given, axis=1, keepdims=True))
    level = np.argwhere(given & (np.arange(given.shape[1]) != first[:, None]))
    excluded = np.zeros_like(given)
    if not len(others) or not len(met):
        return excluded
    behind, place = np.unique(gaps[tuple(others.T)], axis=0, return_inverse=True)
    same = np.unique(gaps[tuple(level.T)], axis=0)
    solved = _widest(behind, same)
    excluded[tuple(others.T)] = solved[place.ravel()]
    return excluded


def _widest(behind: Array, same: Array) -> Flags:
    """Which rows of `behind` can be made positive at once, none of them negative and all of `same` zero."""
    rows, width = behind.shape
    slack = csr_array((len(same), rows))
    found: Any = linprog(
        np.concatenate([np.zeros(width), -np.ones(rows)]),
        A_ub=hstack([csr_array(-behind), identity(rows)], format="csr"),
        b_ub=np.zeros(rows),
        A_eq=vstack([hstack([csr_array(same), slack])], format="csr") if len(same) else None,
        b_eq=np.zeros(len(same)) if len(same) else None,
        bounds=[(None, None)] * width + [(0.0, 1.0)] * rows,
        method="highs",
    )
    if found.x is None:
        raise ArithmeticError(f"the search for excluded verdicts failed: {found.message}")
    return np.asarray(found.x[width:] > 0.5)


def told_apart(features: Array, allowed: Flags, totals: Array) -> tuple[list[int], Flags]:
    """Columns to keep so that none is a combination of the others, and which coefficients [P] the patterns determine.

    Only differences between the allowed verdicts of a pattern that led to a decision tell anything.
    """
    used = totals.sum(1) > 0
    share = allowed / allowed.sum(1, keepdims=True)
    centred = (features - np.einsum("uk,ukp->up", share, features)[:, None]) * allowed[..., None]
    rows = centred[used].reshape(-1, features.shape[2])
    gram = rows.T @ rows
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    null = vectors[:, values <= 1e-10 * max(float(values.max(initial=0.0)), 1.0)]
    known = (np.abs(null).max(axis=1, initial=0.0) < 1e-6) & (np.diag(gram) > 0)
    return _independent(gram), known


def _independent(gram: Array) -> list[int]:
    """The first columns that are not combinations of earlier ones, from their inner products (Cholesky, in order)."""
    kept: list[int] = []
    rest = gram.copy()
    for k in range(len(gram)):
        if rest[k, k] > 1e-10 * max(gram[k, k], 1e-300):
            kept.append(k)
            rest = rest - np.outer(rest[:, k], rest[k]) / rest[k, k]
    return kept
