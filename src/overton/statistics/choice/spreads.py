"""A normal distribution of effects, with a covariance that is estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spread", "any_covariance", "one_size"]

Array = NDArray[np.float64]

_FLOOR = 1e-3
"""Logits. Narrower spreads are not told from none, and would make the density of the effects degenerate."""


@dataclass(frozen=True)
class Spread:
    """Effects L z of J numbers, z standard normal; L is the sum over a of factors[a] * `generators`[a] [J, J].

    Factors rather than variances, so that a spread of zero is an ordinary point on the way from one sign to the other.
    """

    generators: Array

    def __len__(self) -> int:
        return len(self.generators)

    def loading(self, factors: Array) -> Array:
        """L, kept from being singular."""
        made = np.tensordot(factors, self.generators, axes=1)
        size = np.diagonal(made)
        lifted = np.where(np.abs(size) < _FLOOR, np.where(size < 0, -_FLOOR, _FLOOR), size)
        return np.asarray(made + np.diag(lifted - size))

    @property
    def sizes(self) -> NDArray[np.bool_]:
        """Which factors are on the diagonal of L."""
        return np.asarray(np.einsum("aii->a", np.abs(self.generators)) > 0)

    def factors(self, covariance: Array) -> Array:
        """The factors whose L L' is nearest to a covariance [J, J]."""
        root = np.linalg.cholesky(covariance + _FLOOR**2 * np.eye(len(covariance)))
        overlap = np.tensordot(self.generators, root, axes=2)
        return np.asarray(overlap / np.sum(self.generators**2, axis=(1, 2)))

    def slopes(self, factors: Array, latent: Array) -> Array:
        """Slopes of the log density of the effects in the factors, at `latent` z [B, J, Q]: [B, A, Q].

        The effects u = L z are held: with W = L^-1 E, the slope along a generator E is z' W z - trace W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        products = np.einsum("bjq,bkq->bjkq", latent, latent).reshape(len(latent), -1, latent.shape[2])
        traces = np.trace(whitened, axis1=1, axis2=2)
        return np.asarray(whitened.reshape(len(whitened), -1) @ products - traces[:, None])

    def information(self, factors: Array, products: Array, count: int) -> Array:
        """(Minus) the curvature of the log density of `count` effects in the factors, [A, A].

        `products` [J, J] sums z z' over them. Along E and F, with V = L^-1 F, each adds
        z' (V' W + V W + W V) z - trace V W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        after = np.einsum("bij,ajk->abik", whitened, whitened)
        both = np.einsum("bji,ajk->abik", whitened, whitened) + after + after.swapaxes(0, 1)
        return np.asarray(np.einsum("abik,ik->ab", both, products) - count * np.trace(after, axis1=2, axis2=3))


def any_covariance(width: int) -> Spread:
    """Any covariance: the factors are the entries of its lower triangular root."""
    rows, columns = np.tril_indices(width)
    generators = np.zeros((len(rows), width, width))
    generators[np.arange(len(rows)), rows, columns] = 1
    return Spread(generators)


def one_size(width: int) -> Spread:
    """The same spread in every direction, and no correlation: one factor, the standard deviation."""
    return Spread(np.eye(width)[None])
