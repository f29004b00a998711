"""Normal effects of a dilemma: how widely they are spread, and how those of several models are related."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spread", "Together", "any_covariance", "one_size"]

Array = NDArray[np.float64]

_FLOOR = 1e-3
"""Logits. Narrower spreads cannot be distinguished from none, and would make the density of the effects degenerate."""


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

        The effects u = L z are fixed: with W = L^-1 E, the slope along a generator E is z' W z - trace W.
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

    def bends(self, factors: Array) -> tuple[Array, Array, Array]:
        """L L' [J, J], its slopes [A, J, J] and second slopes [A, A, J, J] in the factors."""
        root, parts = self.loading(factors), self.generators
        slopes = parts @ root.T
        second = np.einsum("aij,bkj->abik", parts, parts)
        return root @ root.T, slopes + slopes.swapaxes(1, 2), second + second.swapaxes(2, 3)


def any_covariance(width: int) -> Spread:
    """Any covariance: the factors are the entries of its lower triangular root."""
    rows, columns = np.tril_indices(width)
    generators = np.zeros((len(rows), width, width))
    generators[np.arange(len(rows)), rows, columns] = 1
    return Spread(generators)


def one_size(width: int) -> Spread:
    """The same spread in every direction, and no correlation: one factor, the standard deviation."""
    return Spread(np.eye(width)[None])


@dataclass(frozen=True)
class Together:
    """The effects of a dilemma on M models, v = (v_1 ... v_M), n = M J numbers: normal with mean zero.

    Each is the dilemma's effect and the model's own taste. `covariance` [n, n], its `slopes` [A, n, n] and `bends`
    [A, A, n, n] in the factors of both, the dilemma's first; `precision` [n, n] is its inverse.
    """

    covariance: Array
    slopes: Array
    bends: Array
    precision: Array

    @classmethod
    def of(cls, dilemma: Spread, taste: Spread, factors: tuple[Array, Array], models: int) -> Together:
        """With these factors of the dilemmas' effects [A], and of the tastes [1, T] or of each model's [M, T]."""
        shared, tastes = factors
        own = np.eye(models)
        patterns = [own] if len(tastes) == 1 else [np.diag(one) for one in own]
        kinds = [(np.ones((models, models)), dilemma, shared)]
        kinds += [(pattern, taste, given) for pattern, given in zip(patterns, tastes, strict=True)]
        count, width = len(shared) + tastes.size, models * dilemma.generators.shape[1]
        covariance, start = np.zeros((width, width)), 0
        slopes, bends = np.zeros((count, width, width)), np.zeros((count, count, width, width))
        for pattern, spread, given in kinds:
            mine = slice(start, start + len(spread))
            whole, first, second = (np.kron(pattern, part) for part in spread.bends(given))
            covariance += whole
            slopes[mine], bends[mine, mine] = first, second
            start += len(spread)
        return cls(covariance, slopes, bends, np.asarray(np.linalg.inv(covariance), np.float64))

    @property
    def forms(self) -> Array:
        """C^-1 C_a C^-1 [A, n, n]: half of v' (this) v is what varies with v in the slopes of the log density."""
        return np.asarray(self.precision @ self.slopes @ self.precision)

    def slope(self, products: Array, count: int) -> Array:
        """Slope [A] of the log density of `count` of them in the factors; `products` [n, n] sums v v' over them."""
        return np.asarray(np.tensordot(self.forms, products - count * self.covariance, axes=2) / 2)

    def information(self, products: Array, count: int) -> Array:
        """(Minus) its curvature, [A, A]."""
        moved = self.precision @ self.slopes  # [A, n, n]
        level = np.tensordot(self.precision @ self.bends, np.eye(len(products)), axes=2) - np.einsum(
            "aij,bji->ab", moved, moved
        )
        bent = np.tensordot(self.precision @ self.bends @ self.precision, products, axes=2)
        twice = np.einsum("aij,bjk,ik->ab", moved, self.forms, products, optimize=True)
        return np.asarray((count * level - bent + twice + twice.T) / 2)
