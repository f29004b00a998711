"""The likelihood of the decisions on each dilemma, at several values of the dilemma's hidden effects at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.blocks import Block

__all__ = ["Nodes", "evaluate"]

Array = NDArray[np.float64]


def evaluate(block: Block, coefficients: Array, loadings: Array, latent: Array) -> Nodes:
    """The likelihood at Q values of each dilemma's latent effects, `latent` [B, n, Q], through `loadings` [G, J, n]."""
    logits = np.where(block.allowed, block.features @ coefficients, -np.inf)
    logits -= logits.max(2, keepdims=True)
    shift = (block.basis @ loadings) @ latent[:, None]  # [B, G, K, Q]
    shift -= shift.max(2, keepdims=True)
    chances = np.exp(logits)[..., None] * _by_row(np.exp(shift), block)
    total = np.maximum(chances.sum(2), 1e-300)
    chances *= (1 / total)[:, :, None]
    counted = block.counts.reshape(block.size, block.models, -1, block.counts.shape[2]).sum(2)  # [B, G, K]
    seen = np.sum(block.counts * np.where(block.counts > 0, logits, 0.0), axis=(1, 2))
    loglik = seen[:, None] + np.sum(counted[..., None] * shift, axis=(1, 2))
    loglik -= (block.trials[:, None] @ np.log(total))[:, 0]
    return Nodes(block, chances, loglik)


@dataclass(frozen=True)
class Nodes:
    """The likelihood at Q nodes of each dilemma: `loglik` [B, Q], and the `chances` [B, R, K, Q] behind it."""

    block: Block
    chances: Array
    loglik: Array

    @cached_property
    def _expected(self) -> Array:
        """Expected counts of verdicts in each row, [B, R, K, Q]."""
        return self.chances * self.block.trials[:, :, None, None]

    def score(self) -> Array:
        """Slope of the log-likelihood in the coefficients, [B, P, Q]."""
        rows = _flat(self.block.features).swapaxes(1, 2)
        return np.asarray(rows @ self.block.counts.reshape(self.block.size, -1, 1) - rows @ _flat(self._expected))

    def information(self, weights: Array) -> Array:
        """(Minus) the curvature in the coefficients, nodes weighted by `weights` [B, Q], everything summed: [P, P]."""
        weighted = self._expected * weights[:, None, None, :]
        curvature = -(weighted @ self.chances.swapaxes(2, 3))
        places = np.arange(curvature.shape[2])
        curvature[:, :, places, places] += weighted.sum(3)
        features = _flat(self.block.features)
        return np.asarray((features.swapaxes(1, 2) @ _flat(curvature @ self.block.features)).sum(0))


def _flat(by_row: Array) -> Array:
    size, rows, verdicts, last = by_row.shape
    return by_row.reshape(size, rows * verdicts, last)


def _by_row(by_group: Array, block: Block) -> Array:
    """A group's values for each of its rows; left alone where there is one group, to be broadcast."""
    if block.models == 1:
        return by_group
    return np.repeat(by_group, block.counts.shape[1] // block.models, axis=1)
