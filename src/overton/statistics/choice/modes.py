"""The likelihood at one value of each dilemma's latent effects, its curvatures, and where that value is likeliest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.blocks import Block
from overton.statistics.choice.nodes import evaluate

__all__ = ["AtPoint", "modes"]

Array = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 30
_CLOSE = 1e-6
"""Newton's decrement, twice what a further step would add to a dilemma's objective."""


@dataclass(frozen=True)
class AtPoint:
    """One block's likelihood and the prior of its latent effects, at some coefficients and latent effects [B, n].

    `chances` [B, R, K]; curvatures are given with their sign changed.
    """

    block: Block
    loadings: Array
    latent: Array
    chances: Array
    loglik: Array

    @classmethod
    def at(cls, block: Block, loadings: Array, coefficients: Array, latent: Array) -> AtPoint:
        """The likelihood at `latent` [B, n], which count through `loadings` [G, J, n]."""
        nodes = evaluate(block, coefficients, loadings, latent[..., None])
        return cls(block, loadings, latent, nodes.chances()[..., 0], nodes.loglik[:, 0])

    @cached_property
    def expected(self) -> Array:
        """Expected counts, [B, R, K]."""
        return self.chances * self.block.trials[..., None]

    @cached_property
    def means(self) -> Array:
        """What each direction of the basis is on average over a row's verdicts, [B, R, J]."""
        return np.asarray(self.chances @ self.block.basis)

    def values(self) -> Array:
        """What is maximised, for each dilemma."""
        return np.asarray(self.loglik - (self.latent**2).sum(1) / 2)

    def score(self) -> Array:
        """Slope in the coefficients, summed over dilemmas: [P]."""
        width = self.block.features.shape[3]
        return np.asarray((self.block.counts - self.expected).ravel() @ self.block.features.reshape(-1, width))

    def information(self) -> Array:
        """Curvature in the coefficients, summed over dilemmas: [P, P]."""
        features = _flat(self.block.features)
        means = (self.chances[:, :, None] @ self.block.features)[:, :, 0]  # [B, R, P]
        squares = features.swapaxes(1, 2) @ (features * self.expected.reshape(self.block.size, -1, 1))
        return np.asarray((squares - means.swapaxes(1, 2) @ (means * self.block.trials[..., None])).sum(0))

    def slope(self) -> Array:
        """In the latent effects, [B, n]."""
        residual = self._by_group(self.block.counts - self.expected).sum(2) @ self.block.basis  # [B, G, J]
        return np.asarray(np.tensordot(residual, self.loadings, axes=2) - self.latent)

    def curvature(self) -> Array:
        """In the latent effects, [B, n, n]."""
        basis, means = self.block.basis, self._by_group(self.means)  # [B, G, R / G, J]
        products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
        squares = self._by_group(self.expected).sum(2) @ products
        weighted = means * self._by_group(self.block.trials[..., None])
        information = squares.reshape(*squares.shape[:2], *basis.shape[1:] * 2) - means.swapaxes(2, 3) @ weighted
        both = self.loadings.swapaxes(1, 2) @ information @ self.loadings
        return np.asarray(both.sum(1) + np.eye(self.latent.shape[1]))

    def cross(self) -> Array:
        """Across coefficients and latent effects, [B, P, n]."""
        bent = self.expected[..., None] * (self.block.basis - self.means[:, :, None])  # [B, R, K, J]
        size, rows, verdicts, width = bent.shape
        groups = self.block.models
        loaded = bent.reshape(size, groups, rows // groups * verdicts, width) @ self.loadings
        by_row = loaded.reshape(size, rows * verdicts, self.latent.shape[1])
        return np.asarray(_flat(self.block.features).swapaxes(1, 2) @ by_row)

    def _by_group(self, by_row: Array) -> Array:
        """[B, R, ...] to [B, G, R / G, ...]."""
        groups = self.block.models
        return by_row.reshape(self.block.size, groups, by_row.shape[1] // groups, *by_row.shape[2:])


def modes(block: Block, loadings: Array, coefficients: Array, latent: Array) -> tuple[Array, Array]:
    """Where each dilemma's latent effects are likeliest given the coefficients, and (minus) the curvature there.

    From `latent` [B, n]; returns [B, n] and [B, n, n]. Concave, so Newton's steps get there, halved where needed.
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


def _flat(by_row: Array) -> Array:
    size, rows, verdicts, last = by_row.shape
    return by_row.reshape(size, rows * verdicts, last)
