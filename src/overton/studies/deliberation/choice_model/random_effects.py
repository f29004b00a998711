"""Normal effects of a dilemma, and the likelihood with these integrated out.

Each dilemma's integral is taken at points placed around the mean of its latent effects given the decisions and
stretched by their covariance (Naylor and Smith 1982, Appl. Stat. 31:214), which a few points around the mode give
first. Slope and curvature of the log of the integral are posterior means and covariances of those of the likelihood
given the effects (Louis 1982, J. R. Stat. Soc. B 44:226). The curvature at the maximum is the observed information,
that of the spreads included, from which the standard errors follow.

That discussions stop when all agree needs no correction: whether a round takes place depends on verdicts that are in
the likelihood already, which is a product over decisions, each given everything said before. The number of decisions
says nothing more about the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Floats
from overton.studies.deliberation.choice_model.design import Block
from overton.studies.deliberation.choice_model.likelihood import each, evaluate, modes
from overton.studies.deliberation.choice_model.newton import LikelihoodPoint, Start, Sums, added_up
from overton.studies.deliberation.choice_model.quadrature import (
    Rule,
    coarse,
    moments,
    normalised,
    placed,
    principal_roots,
)

_FLOOR = 1e-3
"""Logits. Narrower spreads cannot be distinguished from none, and would make the density of the effects degenerate."""


@dataclass(frozen=True)
class EffectSpread:
    """Effects L z of J numbers, z standard normal; L is the sum over a of factors[a] * `generators`[a] [J, J].

    Factors rather than variances, so that a spread of zero is an ordinary point on the way from one sign to the other.
    """

    generators: Floats

    def __len__(self) -> int:
        return len(self.generators)

    def loading(self, factors: Floats) -> Floats:
        """L, kept from being singular."""
        made = np.tensordot(factors, self.generators, axes=1)
        size = np.diagonal(made)
        lifted = np.where(np.abs(size) < _FLOOR, np.where(size < 0, -_FLOOR, _FLOOR), size)
        return np.asarray(made + np.diag(lifted - size))

    @property
    def sizes(self) -> NDArray[np.bool_]:
        """Which factors are on the diagonal of L."""
        return np.asarray(np.einsum("aii->a", np.abs(self.generators)) > 0)

    def factors(self, covariance: Floats) -> Floats:
        """The factors whose L L' is nearest to a covariance [J, J]."""
        root = np.linalg.cholesky(covariance + _FLOOR**2 * np.eye(len(covariance)))
        overlap = np.tensordot(self.generators, root, axes=2)
        return np.asarray(overlap / np.sum(self.generators**2, axis=(1, 2)))

    def slopes(self, factors: Floats, latent: Floats) -> Floats:
        """Slopes of the log density of the effects in the factors, at `latent` z [B, J, Q]: [B, A, Q].

        The effects u = L z are fixed: with W = L^-1 E, the slope along a generator E is z' W z - trace W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        products = np.einsum("bjq,bkq->bjkq", latent, latent).reshape(len(latent), -1, latent.shape[2])
        traces = np.trace(whitened, axis1=1, axis2=2)
        return np.asarray(whitened.reshape(len(whitened), -1) @ products - traces[:, None])

    def information(self, factors: Floats, products: Floats, count: int) -> Floats:
        """(Minus) the curvature of the log density of `count` effects in the factors, [A, A].

        `products` [J, J] sums z z' over them. Along E and F, with V = L^-1 F, each adds
        z' (V' W + V W + W V) z - trace V W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        after = np.einsum("bij,ajk->abik", whitened, whitened)
        both = np.einsum("bji,ajk->abik", whitened, whitened) + after + after.swapaxes(0, 1)
        return np.asarray(np.einsum("abik,ik->ab", both, products) - count * np.trace(after, axis1=2, axis2=3))

    def bends(self, factors: Floats) -> tuple[Floats, Floats, Floats]:
        """L L' [J, J], its slopes [A, J, J] and second slopes [A, A, J, J] in the factors."""
        root, parts = self.loading(factors), self.generators
        slopes = parts @ root.T
        second = np.einsum("aij,bkj->abik", parts, parts)
        return root @ root.T, slopes + slopes.swapaxes(1, 2), second + second.swapaxes(2, 3)


def any_covariance(width: int) -> EffectSpread:
    """Any covariance: the factors are the entries of its lower triangular root."""
    rows, columns = np.tril_indices(width)
    generators = np.zeros((len(rows), width, width))
    generators[np.arange(len(rows)), rows, columns] = 1
    return EffectSpread(generators)


def one_size(width: int) -> EffectSpread:
    """The same spread in every direction, and no correlation: one factor, the standard deviation."""
    return EffectSpread(np.eye(width)[None])


@dataclass(frozen=True)
class JointEffects:
    """The effects of a dilemma on M models, v = (v_1 ... v_M), n = M J numbers: normal with mean zero.

    Each is the dilemma's effect and the model's own taste. `covariance` [n, n], its `slopes` [A, n, n] and `bends`
    [A, A, n, n] in the factors of both, the dilemma's first; `precision` [n, n] is its inverse.
    """

    covariance: Floats
    slopes: Floats
    bends: Floats
    precision: Floats

    @classmethod
    def of(
        cls, dilemma: EffectSpread, taste: EffectSpread, factors: tuple[Floats, Floats], models: int
    ) -> JointEffects:
        """With these factors of the dilemmas' effects [A], and of the tastes [1, T] or of each model's [M, T]."""
        shared, tastes = factors
        own = np.eye(models)
        patterns = [own] if len(tastes) == 1 else [np.diag(row) for row in own]
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
    def forms(self) -> Floats:
        """C^-1 C_a C^-1 [A, n, n]: half of v' (this) v is what varies with v in the slopes of the log density."""
        return np.asarray(self.precision @ self.slopes @ self.precision)

    def slope(self, products: Floats, count: int) -> Floats:
        """Slope [A] of the log density of `count` of them in the factors; `products` [n, n] sums v v' over them."""
        return np.asarray(np.tensordot(self.forms, products - count * self.covariance, axes=2) / 2)

    def information(self, products: Floats, count: int) -> Floats:
        """(Minus) its curvature, [A, A]."""
        moved = self.precision @ self.slopes  # [A, n, n]
        level = np.tensordot(self.precision @ self.bends, np.eye(len(products)), axes=2) - np.einsum(
            "aij,bji->ab", moved, moved
        )
        bent = np.tensordot(self.precision @ self.bends @ self.precision, products, axes=2)
        twice = np.einsum("aij,bjk,ik->ab", moved, self.forms, products, optimize=True)
        return np.asarray((count * level - bent + twice + twice.T) / 2)


def marginal_likelihood(
    blocks: Sequence[Block], spread: EffectSpread, rule: Rule, coefficients: int
) -> Callable[[Floats, Start], LikelihoodPoint]:
    """The function of `coefficients` coefficients and the spread's factors, in this order, that `climb` climbs."""
    rough = coarse(len(rule[0]))

    def at(parameters: Floats, latent: Start) -> LikelihoodPoint:
        beta, factors = parameters[:coefficients], parameters[coefficients:]
        loadings = spread.loading(factors)[None]

        def part(block: Block, near: Floats) -> tuple[Sums, Floats]:
            mode, hessian = modes(block, loadings, beta, near)
            covariance = np.asarray(np.linalg.inv(hessian), np.float64)
            points, heights = placed(mode, principal_roots(covariance), rough)
            posterior, _ = normalised(heights + evaluate(block, beta, loadings, points).loglik)
            mean, covariance = moments(points, posterior, covariance)
            placement = placed(mean, principal_roots(covariance), rule)
            return _sums(block, spread, (beta, factors), *placement), mode

        return added_up(parameters, each(part, blocks, latent))

    return at


def _sums(
    block: Block, spread: EffectSpread, parameters: tuple[Floats, Floats], latent: Floats, heights: Floats
) -> Sums:
    beta, factors = parameters
    nodes = evaluate(block, beta, spread.loading(factors)[None], latent)
    posterior, loglik = normalised(heights + nodes.loglik)
    scores = np.concatenate([nodes.score(), spread.slopes(factors, latent)], axis=1)  # [B, P + A, Q]
    mean = scores @ posterior[..., None]
    centred = scores - mean
    missing = ((centred * posterior[:, None]) @ centred.swapaxes(1, 2)).sum(0)
    products = ((latent * posterior[:, None]) @ latent.swapaxes(1, 2)).sum(0)
    complete = np.zeros_like(missing)
    complete[: len(beta), : len(beta)] = nodes.information(posterior)
    complete[len(beta) :, len(beta) :] = spread.information(factors, products, block.size)
    return float(loglik.sum()), mean.sum((0, 2)), complete - missing
