"""Logistic regression of grouped answers with an intercept for each group and a few shared slopes.

The normal equations have a diagonal block for the intercepts, which is eliminated (Schur complement). The work
therefore grows with the number of rows, instead of the square of the number of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Floats

Indices = NDArray[np.int64]

_MOST_STEPS = 60
_LARGEST_STEP = 5.0
_CONVERGED_STEP = 1e-8
_LARGEST_LOGIT = 15.0
"""A linear predictor beyond this many logits may be on its way to infinity."""


@dataclass(frozen=True)
class LogitFit:
    """Estimates and standard errors in logits; NaN if the data do not determine them.

    `intercepts` and `intercept_errors` are [groups]; `slopes` and `slope_errors` are [columns]. `separated` is True if
    some answers were perfectly predicted, so that estimates grew without bound. `dispersion` is Pearson's chi-square
    divided by its degrees of freedom (NaN if there are none), and `n` counts the answers used.
    """

    intercepts: Floats
    intercept_errors: Floats
    slopes: Floats
    slope_errors: Floats
    separated: bool
    dispersion: float
    n: int


def fit_logit(
    successes: Floats, trials: Floats, design: Floats, groups: Indices, count: int, *, firth: bool = True
) -> LogitFit:
    """Fit logit P(success) = intercept of the row's group + design @ slopes.

    `successes` and `trials` [rows] are counts of answers with equal covariates. `design` is [rows, columns], and
    `groups` [rows] has indices from 0 to `count` - 1. With `firth`, the score is corrected for its first-order bias
    (Firth 1993, Biometrika 80:27), which matters if groups have few answers. Standard errors come from the information
    at the estimate.

    Rows that are perfectly predicted in the limit are left out (Correia, Guimaraes and Zylkin 2019). A coefficient that
    only these rows determine has no finite estimate, and is NaN. A coefficient that the design does not identify is
    NaN, too.
    """
    used = trials > 0
    problem = _Problem(successes[used], trials[used], design[used], groups[used].astype(np.int64), count)
    separated = np.zeros(len(problem.trials), bool)
    if not _solve(problem, firth=False).converged:  # the likelihood has no maximum at finite estimates
        separated = separated_rows(problem.successes, problem.trials, problem.design, problem.groups, count)
        problem = problem.take(~separated)
    keep, slopes_known, intercepts_known = _find_estimable(problem)
    solution = _solve(problem.columns(keep), firth=firth)
    slopes, slope_errors = np.full(design.shape[1], np.nan), np.full(design.shape[1], np.nan)
    slopes[keep], slope_errors[keep] = solution.slopes, solution.slope_errors
    return LogitFit(
        intercepts=np.where(intercepts_known, solution.intercepts, np.nan),
        intercept_errors=np.where(intercepts_known, solution.intercept_errors, np.nan),
        slopes=np.where(slopes_known, slopes, np.nan),
        slope_errors=np.where(slopes_known, slope_errors, np.nan),
        separated=bool(separated.any()),
        dispersion=solution.dispersion,
        n=int(problem.trials.sum()),
    )


@dataclass(frozen=True)
class _Problem:
    successes: Floats
    trials: Floats
    design: Floats
    groups: Indices
    count: int

    def take(self, rows: NDArray[np.bool_]) -> _Problem:
        return _Problem(self.successes[rows], self.trials[rows], self.design[rows], self.groups[rows], self.count)

    def columns(self, keep: Indices) -> _Problem:
        return _Problem(self.successes, self.trials, self.design[:, keep], self.groups, self.count)

    def sums(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.groups, values, minlength=self.count), np.float64)


@dataclass(frozen=True)
class _Information:
    """Fisher information in two blocks: of the intercepts (diagonal), and of the slopes after the intercepts are
    eliminated."""

    weights: Floats  # [rows]
    diagonal: Floats  # [groups]
    means: Floats  # [groups, columns], weighted means of the design
    centred: Floats  # [rows, columns]
    inverse: Floats  # [columns, columns], covariance of the slopes

    @classmethod
    def at(cls, problem: _Problem, chance: Floats) -> _Information:
        weights = problem.trials * chance * (1 - chance)
        diagonal = np.maximum(problem.sums(weights), 1e-300)
        columns = range(problem.design.shape[1])
        sums = [problem.sums(weights * problem.design[:, k]) for k in columns]
        means = np.stack(sums, axis=1) / diagonal[:, None] if sums else np.zeros((problem.count, 0))
        centred = problem.design - means[problem.groups]
        inverse = np.asarray(
            np.linalg.pinv(centred.T @ (weights[:, None] * centred), rcond=1e-12, hermitian=True), np.float64
        )
        return cls(weights, diagonal, means, centred, inverse)

    def hat(self, groups: Indices) -> Floats:
        """The rows' leverages, each summed over the row's answers."""
        spread = np.einsum("ij,jk,ik->i", self.centred, self.inverse, self.centred)
        return np.asarray(self.weights * (1 / self.diagonal[groups] + spread))

    def step(self, problem: _Problem, residual: Floats) -> tuple[Floats, Floats]:
        slopes = self.inverse @ (self.centred.T @ residual)
        return problem.sums(residual) / self.diagonal - self.means @ slopes, slopes

    def errors(self) -> tuple[Floats, Floats]:
        spread = np.einsum("ij,jk,ik->i", self.means, self.inverse, self.means)
        return np.sqrt(1 / self.diagonal + spread), np.sqrt(np.maximum(np.diag(self.inverse), 0))


@dataclass(frozen=True)
class _Solution:
    intercepts: Floats
    intercept_errors: Floats
    slopes: Floats
    slope_errors: Floats
    dispersion: float
    converged: bool


def _solve(problem: _Problem, *, firth: bool) -> _Solution:
    intercepts, slopes = np.zeros(problem.count), np.zeros(problem.design.shape[1])
    converged = not len(problem.trials)
    for _ in range(_MOST_STEPS):
        predictor = intercepts[problem.groups] + problem.design @ slopes
        chance = _logistic(predictor)
        information = _Information.at(problem, chance)
        residual = problem.successes - problem.trials * chance
        if firth:
            residual = residual + information.hat(problem.groups) * (0.5 - chance)
        up, along = information.step(problem, residual)
        moved = up[problem.groups] + problem.design @ along
        size = float(np.max(np.abs(moved), initial=0.0))
        shrink = min(1.0, _LARGEST_STEP / size) if size > 0 else 1.0
        intercepts, slopes = intercepts + shrink * up, slopes + shrink * along
        if size < _CONVERGED_STEP:
            converged = True
            break
        if not firth and np.max(np.abs(predictor), initial=0.0) > 2 * _LARGEST_LOGIT:
            break
    predictor = intercepts[problem.groups] + problem.design @ slopes
    chance = _logistic(predictor)
    converged = converged and float(np.max(np.abs(predictor), initial=0.0)) < 2 * _LARGEST_LOGIT
    errors, slope_errors = _Information.at(problem, chance).errors()
    return _Solution(intercepts, errors, slopes, slope_errors, _dispersion(problem, chance), converged)


def _find_estimable(problem: _Problem) -> tuple[Indices, NDArray[np.bool_], NDArray[np.bool_]]:
    """The indices of columns that are independent within groups, and flags of the slopes and intercepts that the rows
    determine."""
    seen = problem.sums(np.ones(len(problem.trials)))
    present = seen > 0
    columns = problem.design.shape[1]
    sums = [problem.sums(problem.design[:, k]) / np.maximum(seen, 1) for k in range(columns)]
    means = np.stack(sums, axis=1) if sums else np.zeros((problem.count, 0))
    centred = problem.design - means[problem.groups]
    gram = centred.T @ centred
    values, vectors = np.linalg.eigh(gram)
    null = vectors[:, values <= 1e-9 * max(float(values.max(initial=0.0)), 1e-12)]
    slopes_known = np.abs(null).max(axis=1, initial=0.0) < 1e-6
    intercepts_known = present & (np.abs(means @ null).max(axis=1, initial=0.0) < 1e-6)
    return np.array(independent(gram), dtype=np.int64), slopes_known, intercepts_known


def independent(gram: Floats) -> list[int]:
    """The indices of columns that are not linear combinations of earlier columns, given all inner products (Cholesky,
    in order)."""
    kept: list[int] = []
    rest = gram.copy()
    for k in range(len(gram)):
        if rest[k, k] > 1e-10 * max(gram[k, k], 1e-300):
            kept.append(k)
            rest = rest - np.outer(rest[:, k], rest[k]) / rest[k, k]
    return kept


def _dispersion(problem: _Problem, chance: Floats) -> float:
    freedom = len(problem.trials) - len(np.unique(problem.groups)) - problem.design.shape[1]
    variance = problem.trials * chance * (1 - chance)
    if freedom <= 0 or not np.all(variance > 0):
        return float("nan")
    return float(np.sum((problem.successes - problem.trials * chance) ** 2 / variance) / freedom)


def _logistic(predictor: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(predictor, -40, 40))))


def separated_rows(
    successes: Floats, trials: Floats, design: Floats, groups: NDArray[np.int64], count: int
) -> NDArray[np.bool_]:
    """Flags of the separated rows. Moving the coefficients along some direction predicts these rows ever better, and no
    other row worse.

    A linear programme (Konis 2007) finds the direction that separates the most rows, by maximising the sum of z. The
    constraints are s_i x_i.b >= z_i with 0 <= z_i <= 1 if a row's answers all agree (s_i is their sign), and x_i.b = 0
    if a row's answers differ. Arguments are as for `fit_logit`, and every row has answers.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, identity

    rows = len(trials)
    features = _feature_matrix(design, groups, count)
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


def _feature_matrix(design: Floats, groups: NDArray[np.int64], count: int) -> Any:
    from scipy.sparse import coo_array, hstack

    rows = len(groups)
    dummies = coo_array((np.ones(rows), (np.arange(rows), groups)), shape=(rows, count))
    return hstack([dummies, coo_array(design)], format="csr")
