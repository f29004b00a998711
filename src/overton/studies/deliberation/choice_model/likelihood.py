"""The likelihood given the dilemmas' latent effects: at several values of the effects, and at their mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import cpu_count
from typing import Any, TypeVar

import numpy as np

from overton.statistics.arrays import Floats
from overton.studies.deliberation.choice_model.design import Block

_LEAST = 0.45
"""An exponent: the smallest factor of an effect is the smallest positive number that can be stored, raised to this
power. Squares of sums therefore do not become zero. A verdict that is this much less likely than another is practically
impossible."""


@dataclass(frozen=True)
class Nodes:
    """The likelihood at Q nodes of each dilemma: `loglik` [B, Q], and the factors of the probabilities.

    The probability of a verdict in a row is `plain` times `tilts`, divided by the row's `total` [B, R, Q]. `plain` [B,
    R, K] is the factor without latent effects, and `tilts` [B, G, K, Q] the factor of the effects. The two factors are
    stored separately, because an array of all probabilities would be K times as large. Also, sums over rows and nodes
    are then products of matrices.
    """

    block: Block
    plain: Floats
    tilts: Floats
    total: Floats
    loglik: Floats

    @cached_property
    def scale(self) -> Floats:
        """The factor that makes the probabilities of a row sum to 1, [B, R, Q]."""
        return np.asarray(1 / self.total)

    def chances(self) -> Floats:
        """The probability of every verdict in every row, [B, R, K, Q]."""
        by_group = _grouped(self.plain, self.block)[..., None] * self.tilts[:, :, None]
        return np.asarray(by_group.reshape(*self.plain.shape, -1) * self.scale[:, :, None])

    def score(self) -> Floats:
        """The gradient of the log-likelihood in the coefficients, [B, P, Q], for blocks of one group."""
        features = self.block.features
        size, rows, verdicts, width = features.shape
        met = (features * (self.plain * self.block.trials[..., None])[..., None]).reshape(size, rows, verdicts * width)
        by_verdict = (met.swapaxes(1, 2) @ self.scale).reshape(size, verdicts, width, self.loglik.shape[1])
        expected = np.einsum("bkq,bkpq->bpq", self.tilts[:, 0], by_verdict)
        given = features.reshape(size, rows * verdicts, width).swapaxes(1, 2) @ self.block.counts.reshape(size, -1, 1)
        return np.asarray(given - expected)

    def information(self, weights: Floats) -> Floats:
        """The negative Hessian in the coefficients [P, P] for blocks of one group.

        It is summed over dilemmas and nodes, with `weights` [B, Q] of the nodes.
        """
        tilts = self.tilts[:, 0]
        size, rows, verdicts = self.plain.shape
        weighted = tilts * weights[:, None]
        first, second = np.tril_indices(verdicts)
        products = self.scale**2 @ (weighted[:, first] * tilts[:, second]).swapaxes(1, 2)  # [B, R, pairs]
        curvature = np.empty((size, rows, verdicts, verdicts), products.dtype)
        curvature[:, :, first, second] = curvature[:, :, second, first] = (
            -products * self.plain[:, :, first] * self.plain[:, :, second]
        )
        places = np.arange(verdicts)
        curvature[:, :, places, places] += self.plain * (self.scale @ weighted.swapaxes(1, 2))
        curvature *= self.block.trials[..., None, None]
        features = self.block.features
        every = (size * rows * verdicts, features.shape[3])
        return np.asarray(features.reshape(every).T @ (curvature @ features).reshape(every))


def evaluate(block: Block, coefficients: Floats, loadings: Floats, latent: Floats) -> Nodes:
    """The likelihood at Q values of each dilemma's latent effects, `latent` [B, n, Q], through `loadings` [G, J, n]."""
    logits = np.where(block.allowed, block.features @ coefficients, -np.inf)
    logits -= logits.max(2, keepdims=True)
    shift = (block.basis @ loadings) @ latent[:, None]  # [B, G, K, Q]
    shift -= shift.max(2, keepdims=True)
    plain, tilts = np.exp(logits), np.exp(np.maximum(shift, np.log(np.finfo(shift.dtype).tiny) * _LEAST))
    total = (_grouped(plain, block) @ tilts).reshape(*block.trials.shape, -1)
    counted = _grouped(block.counts, block).sum(2)  # [B, G, K]
    seen = np.sum(block.counts * np.where(block.counts > 0, logits, 0.0), axis=(1, 2))
    loglik = seen[:, None] + np.sum(counted[..., None] * shift, axis=(1, 2))
    loglik -= (block.trials[:, None] @ np.log(total))[:, 0]
    return Nodes(block, plain, tilts, total, loglik)


def _grouped(by_row: Floats, block: Block) -> Floats:
    """Reshape [B, R, ...] to [B, G, R / G, ...]."""
    return by_row.reshape(block.size, block.models, by_row.shape[1] // block.models, *by_row.shape[2:])


_STEPS = 100
_HALVINGS = 30
_CLOSE = 1e-6
"""The Newton decrement at which a search stops. It is twice the gain of a further step in a dilemma's objective."""


@dataclass(frozen=True)
class AtPoint:
    """One block's likelihood, and the prior of its latent effects, at given coefficients and latent effects [B, n].

    `chances` [B, R, K] are the verdicts' probabilities. Curvatures are negative Hessians.
    """

    block: Block
    loadings: Floats
    latent: Floats
    chances: Floats
    loglik: Floats

    @classmethod
    def at(cls, block: Block, loadings: Floats, coefficients: Floats, latent: Floats) -> AtPoint:
        """The likelihood at `latent` [B, n], which affect the logits through `loadings` [G, J, n]."""
        nodes = evaluate(block, coefficients, loadings, latent[..., None])
        return cls(block, loadings, latent, nodes.chances()[..., 0], nodes.loglik[:, 0])

    @cached_property
    def expected(self) -> Floats:
        """Expected counts, [B, R, K]."""
        return self.chances * self.block.trials[..., None]

    @cached_property
    def means(self) -> Floats:
        """The average of each direction of the basis over a row's verdicts, [B, R, J]."""
        return np.asarray(self.chances @ self.block.basis)

    def values(self) -> Floats:
        """The objective to maximise, for each dilemma."""
        return np.asarray(self.loglik - (self.latent**2).sum(1) / 2)

    def score(self) -> Floats:
        """Slope in the coefficients, summed over dilemmas: [P]."""
        width = self.block.features.shape[3]
        return np.asarray((self.block.counts - self.expected).ravel() @ self.block.features.reshape(-1, width))

    def information(self) -> Floats:
        """Curvature in the coefficients, summed over dilemmas: [P, P]."""
        features = _flat(self.block.features)
        means = (self.chances[:, :, None] @ self.block.features)[:, :, 0]  # [B, R, P]
        squares = features.swapaxes(1, 2) @ (features * self.expected.reshape(self.block.size, -1, 1))
        return np.asarray((squares - means.swapaxes(1, 2) @ (means * self.block.trials[..., None])).sum(0))

    def slope(self) -> Floats:
        """Slope in the latent effects, [B, n]."""
        residual = _grouped(self.block.counts - self.expected, self.block).sum(2) @ self.block.basis  # [B, G, J]
        return np.asarray(np.tensordot(residual, self.loadings, axes=2) - self.latent)

    def curvature(self) -> Floats:
        """Curvature in the latent effects, [B, n, n]."""
        basis, means = self.block.basis, _grouped(self.means, self.block)  # [B, G, R / G, J]
        products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
        squares = _grouped(self.expected, self.block).sum(2) @ products
        weighted = means * _grouped(self.block.trials[..., None], self.block)
        information = squares.reshape(*squares.shape[:2], *basis.shape[1:] * 2) - means.swapaxes(2, 3) @ weighted
        both = self.loadings.swapaxes(1, 2) @ information @ self.loadings
        return np.asarray(both.sum(1) + np.eye(self.latent.shape[1]))

    def cross(self) -> Floats:
        """Mixed curvature in coefficients and latent effects, [B, P, n]."""
        bent = self.expected[..., None] * (self.block.basis - self.means[:, :, None])  # [B, R, K, J]
        size, rows, verdicts, width = bent.shape
        groups = self.block.models
        loaded = bent.reshape(size, groups, rows // groups * verdicts, width) @ self.loadings
        by_row = loaded.reshape(size, rows * verdicts, self.latent.shape[1])
        return np.asarray(_flat(self.block.features).swapaxes(1, 2) @ by_row)


def modes(block: Block, loadings: Floats, coefficients: Floats, latent: Floats) -> tuple[Floats, Floats]:
    """The mode of each dilemma's latent effects given the coefficients, and the negative Hessian at the mode.

    The search starts from `latent` [B, n] and returns the modes [B, n] and the negative Hessians [B, n, n]. The
    log-density is concave, so Newton's steps, halved where needed, reach the mode.
    """
    point = AtPoint.at(block, loadings, coefficients, latent)
    for _ in range(_STEPS):
        slope, hessian = point.slope(), point.curvature()
        step = np.linalg.solve(hessian, slope[..., None])[..., 0]
        if not np.any(np.sum(slope * step, axis=1) > _CLOSE):
            break
        values = point.values()
        scale = np.ones(block.size)
        for _ in range(_HALVINGS):
            reached = AtPoint.at(block, loadings, coefficients, point.latent + scale[:, None] * step)
            worse = reached.values() < values - 1e-9 * (1 + np.abs(values))
            if not worse.any():
                break
            scale = np.where(worse, scale / 2, scale)
        point = reached
    return point.latent, hessian


def _flat(by_row: Floats) -> Floats:
    size, rows, verdicts, last = by_row.shape
    return by_row.reshape(size, rows * verdicts, last)


_LARGEST_STEP = 5.0


@dataclass(frozen=True)
class JointFit:
    """The maximum of the objective: `coefficients` [P], and the latent effects [B, n] of each block in `latent`.

    `covariance` [P, P] is the coefficients' part of the inverse of the whole negative Hessian. `spread` has an array
    [B, n, n] for each block: for each dilemma, the inverse of the latent effects' part of the negative Hessian.
    `loglik` excludes the penalties.
    """

    coefficients: Floats
    covariance: Floats
    latent: list[Floats]
    spread: list[Floats]
    loglik: float
    converged: bool


@dataclass(frozen=True)
class _System:
    """Newton's equations of one block: slopes and curvatures.

    `inverse` is the inverse of the curvature in latent effects.
    """

    slope: Floats  # [P], of the coefficients
    information: Floats  # [P, P]
    latent_slope: Floats  # [B, n]
    inverse: Floats  # [B, n, n]
    cross: Floats  # [B, P, n]

    @classmethod
    def at(cls, point: AtPoint) -> _System:
        return cls(
            slope=point.score(),
            information=point.information(),
            latent_slope=point.slope(),
            inverse=np.asarray(np.linalg.inv(point.curvature()), np.float64),
            cross=point.cross(),
        )

    @property
    def reduced(self) -> tuple[Floats, Floats]:
        """Gradient and information of the coefficients after the latent effects are eliminated."""
        folded = self.cross @ self.inverse
        slope = self.slope - (folded @ self.latent_slope[..., None])[..., 0].sum(0)
        return slope, self.information - (folded @ self.cross.swapaxes(1, 2)).sum(0)

    def moves(self, step: Floats) -> Floats:
        """The latent effects' part of a step, [B, n]."""
        left = self.latent_slope - (self.cross.swapaxes(1, 2) @ step)
        return np.asarray((self.inverse @ left[..., None])[..., 0])


def fit_jointly(
    blocks: Sequence[Block],
    loadings: Floats,
    ridge: float,
    start: Floats,
    *,
    latent: Sequence[Floats] = (),
    precision: float = 1e-5,
) -> JointFit:
    """Maximise log-likelihood - ridge/2 |coefficients|^2 - 1/2 |latent|^2, from `start` [P].

    The logits of group g's rows gain `loadings`[g] [J, n] times the latent effects, in the block's basis. The penalty
    of a latent effect z is z^2 / 2 on the scale before the loadings: with a loading s, the effect u = s z has the
    penalty u^2 / (2 s^2). The search ends once Newton's decrement, twice the gain of the next step, is below
    `precision`. This step is still taken.
    """

    def at(coefficients: Floats, latent: Sequence[Floats]) -> tuple[list[AtPoint], float]:
        points = each(lambda block, z: AtPoint.at(block, loadings, coefficients, z), blocks, latent)
        value = sum(float(p.values().sum()) for p in points) - ridge / 2 * float(coefficients @ coefficients)
        return points, value

    if not latent:
        zeros = [np.zeros((block.size, loadings.shape[2])) for block in blocks]
        latent = each(lambda block, z: modes(block, loadings, start, z)[0], blocks, zeros)
    coefficients, converged = start, False
    points, value = at(start, latent)
    for _ in range(_STEPS):
        systems = each(lambda point, _: _System.at(point), points, blocks)
        step, moves, covariance, gain = _newton(systems, ridge, coefficients)
        converged = gain < precision
        scale = min(1.0, _LARGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        for _ in range(1 if converged else _HALVINGS):
            moved = [point.latent + scale * move for point, move in zip(points, moves, strict=True)]
            reached, higher = at(coefficients + scale * step, moved)
            if higher > value or converged:
                break
            scale /= 2
        else:
            break  # rounding errors hide any further gain
        coefficients, points, value = coefficients + scale * step, reached, higher
        if converged:
            break
    return JointFit(
        coefficients=coefficients,
        covariance=covariance,
        latent=[point.latent for point in points],
        spread=[system.inverse for system in systems],
        loglik=sum(float(point.loglik.sum()) for point in points),
        converged=converged,
    )


def _newton(
    systems: Sequence[_System], ridge: float, coefficients: Floats
) -> tuple[Floats, list[Floats], Floats, float]:
    """The steps of coefficients and of latent effects, the coefficients' covariance, and Newton's decrement."""
    reduced = [system.reduced for system in systems]
    information = sum((part for _, part in reduced), ridge * np.eye(len(coefficients)))
    covariance = np.asarray(np.linalg.pinv(information, hermitian=True), np.float64)
    step = covariance @ sum((part for part, _ in reduced), -ridge * coefficients)
    moves = [system.moves(step) for system in systems]
    slope = sum((system.slope for system in systems), -ridge * coefficients)
    gain = slope @ step + sum(np.sum(s.latent_slope * move) for s, move in zip(systems, moves, strict=True))
    return step, moves, covariance, float(gain)


T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

_LIMITS = find_spec("threadpoolctl") is not None
"""Whether the threads of the linear algebra library can be limited.

Without a limit, parallel blocks would each start several such threads, which wait for each other and are slower than
one thread. So blocks run in parallel only if threads can be limited.
"""


def each(work: Callable[[A, B], T], first: Sequence[A], second: Sequence[B]) -> list[T]:
    """Call `work` on the members of two sequences of equal length, and return the results in their order."""
    cores = min(cpu_count(), len(first)) if _LIMITS else 1
    if cores < 2:
        return [work(a, b) for a, b in zip(first, second, strict=True)]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, first, second))


def one_thread_each() -> AbstractContextManager[Any]:
    """Inside the `with` statement, linear algebra uses one thread per caller, because the matrices here are small."""
    if not _LIMITS:
        return nullcontext()
    limits: AbstractContextManager[Any] = import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
    return limits
