"""The likelihood of the decisions on each dilemma, at several values of the dilemma's hidden effects at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.blocks import Block

__all__ = ["Nodes", "evaluate"]

Array = NDArray[np.float64]

_LEAST = 1e-150
"""Of a row's sum. Where it is that small the decision was as good as impossible, and its square is still a number."""


@dataclass(frozen=True)
class Nodes:
    """The likelihood at Q nodes of each dilemma: `loglik` [B, Q], and what the chances behind it are made of.

    That of a verdict in a row is the product of `plain` [B, R, K], what it would be worth without latent effects,
    `tilts` [B, G, K, Q], what the effects make of it, and the row's `scale` [B, R, Q]. Kept as factors, since an array
    of all chances would be K times as large, and sums over rows and over nodes are products of matrices.
    """

    block: Block
    plain: Array
    tilts: Array
    scale: Array
    loglik: Array

    def chances(self) -> Array:
        """Of every verdict in every row, [B, R, K, Q]."""
        by_group = _grouped(self.plain, self.block)[..., None] * self.tilts[:, :, None]
        return np.asarray(by_group.reshape(*self.plain.shape, -1) * self.scale[:, :, None])

    def score(self) -> Array:
        """Slope of the log-likelihood in the coefficients, [B, P, Q]. For blocks of one group."""
        features = self.block.features
        size, rows, verdicts, width = features.shape
        met = (features * (self.plain * self.block.trials[..., None])[..., None]).reshape(size, rows, verdicts * width)
        by_verdict = (met.swapaxes(1, 2) @ self.scale).reshape(size, verdicts, width, self.loglik.shape[1])
        expected = np.einsum("bkq,bkpq->bpq", self.tilts[:, 0], by_verdict)
        given = features.reshape(size, rows * verdicts, width).swapaxes(1, 2) @ self.block.counts.reshape(size, -1, 1)
        return np.asarray(given - expected)

    def information(self, weights: Array) -> Array:
        """(Minus) the curvature in the coefficients, nodes weighted by `weights` [B, Q], everything summed: [P, P].

        For blocks of one group.
        """
        tilts = self.tilts[:, 0]
        size, rows, verdicts = self.plain.shape
        weighted = tilts * weights[:, None]
        pairs = (weighted[:, :, None] * tilts[:, None]).reshape(size, verdicts**2, -1)
        products = (self.scale**2 @ pairs.swapaxes(1, 2)).reshape(size, rows, verdicts, verdicts)
        curvature = -products * self.plain[..., None] * self.plain[:, :, None]
        places = np.arange(verdicts)
        curvature[:, :, places, places] += self.plain * (self.scale @ weighted.swapaxes(1, 2))
        curvature *= self.block.trials[..., None, None]
        features = self.block.features
        every = (size * rows * verdicts, features.shape[3])
        return np.asarray(features.reshape(every).T @ (curvature @ features).reshape(every))


def evaluate(block: Block, coefficients: Array, loadings: Array, latent: Array) -> Nodes:
    """The likelihood at Q values of each dilemma's latent effects, `latent` [B, n, Q], through `loadings` [G, J, n]."""
    logits = np.where(block.allowed, block.features @ coefficients, -np.inf)
    logits -= logits.max(2, keepdims=True)
    shift = (block.basis @ loadings) @ latent[:, None]  # [B, G, K, Q]
    shift -= shift.max(2, keepdims=True)
    plain, tilts = np.exp(logits), np.exp(shift)
    total = np.maximum((_grouped(plain, block) @ tilts).reshape(*block.trials.shape, -1), _LEAST)
    counted = _grouped(block.counts, block).sum(2)  # [B, G, K]
    seen = np.sum(block.counts * np.where(block.counts > 0, logits, 0.0), axis=(1, 2))
    loglik = seen[:, None] + np.sum(counted[..., None] * shift, axis=(1, 2))
    loglik -= (block.trials[:, None] @ np.log(total))[:, 0]
    return Nodes(block, plain, tilts, 1 / total, loglik)


def _grouped(by_row: Array, block: Block) -> Array:
    """[B, R, ...] to [B, G, R / G, ...]."""
    return by_row.reshape(block.size, block.models, -1, *by_row.shape[2:])
