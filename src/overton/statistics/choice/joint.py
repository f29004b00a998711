"""Coefficients and every dilemma's latent effects maximised together: an arrow-shaped Newton system.

The Hessian has one small block a dilemma, bordered by the coefficients that all dilemmas share. The blocks are
eliminated (Schur complement), so that work grows with the number of dilemmas and nothing of their number squared is
ever built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.blocks import Block
from overton.statistics.choice.cores import each
from overton.statistics.choice.modes import AtPoint, modes

__all__ = ["JointFit", "fit_jointly"]

Array = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 30
_LARGEST_STEP = 5.0


@dataclass(frozen=True)
class JointFit:
    """`coefficients` [P] and `latent`, a [B, n] for each block, where the objective is largest.

    `covariance` [P, P] is the coefficients' part of the inverse of (minus) the whole Hessian, `spread` for each block
    [B, n, n] the inverse of the dilemma's own part; `loglik` excludes the penalties.
    """

    coefficients: Array
    covariance: Array
    latent: list[Array]
    spread: list[Array]
    loglik: float
    converged: bool


@dataclass(frozen=True)
class _System:
    """Newton's equations of one block: slopes and curvatures, with the dilemmas' own block inverted."""

    slope: Array  # [P], of the coefficients
    information: Array  # [P, P]
    latent_slope: Array  # [B, n]
    inverse: Array  # [B, n, n]
    cross: Array  # [B, P, n]

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
    def reduced(self) -> tuple[Array, Array]:
        """Slope and information of the coefficients once the latent effects are eliminated."""
        folded = self.cross @ self.inverse
        slope = self.slope - (folded @ self.latent_slope[..., None])[..., 0].sum(0)
        return slope, self.information - (folded @ self.cross.swapaxes(1, 2)).sum(0)

    def moves(self, step: Array) -> Array:
        """The latent effects' part of a step, [B, n]."""
        left = self.latent_slope - (self.cross.swapaxes(1, 2) @ step)
        return np.asarray((self.inverse @ left[..., None])[..., 0])


def fit_jointly(
    blocks: Sequence[Block],
    loadings: Array,
    ridge: float,
    start: Array,
    *,
    latent: Sequence[Array] = (),
    precision: float = 1e-5,
) -> JointFit:
    """Maximise log-likelihood - ridge/2 |coefficients|^2 - 1/2 |latent|^2, from `start` [P].

    The rows of group g gain `loadings`[g] [J, n] times the latent effects, in the block's basis. A latent effect's
    penalty is 1/2 z^2 on the scale before the loadings: a loading s means a penalty of 1/(2 s^2) on the effect itself.
    Done when Newton's decrement, twice what its step adds, is below `precision`; that step is taken.
    """

    def at(coefficients: Array, latent: Sequence[Array]) -> tuple[list[AtPoint], float]:
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
            break  # nothing higher can be found at this precision
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


def _newton(systems: Sequence[_System], ridge: float, coefficients: Array) -> tuple[Array, list[Array], Array, float]:
    """The step, of coefficients and latent effects, the coefficients' covariance, and Newton's decrement."""
    reduced = [system.reduced for system in systems]
    information = sum((part for _, part in reduced), ridge * np.eye(len(coefficients)))
    covariance = np.asarray(np.linalg.pinv(information, hermitian=True), np.float64)
    step = covariance @ sum((part for part, _ in reduced), -ridge * coefficients)
    moves = [system.moves(step) for system in systems]
    slope = sum((system.slope for system in systems), -ridge * coefficients)
    gain = slope @ step + sum(np.sum(s.latent_slope * move) for s, move in zip(systems, moves, strict=True))
    return step, moves, covariance, float(gain)
