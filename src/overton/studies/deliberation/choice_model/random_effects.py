"""Normal effects of a dilemma, and the likelihood after integrating these effects out.

For each dilemma, the integral is evaluated at points around the posterior mean of the latent effects. The posterior
covariance scales the points (Naylor and Smith 1982, Appl. Stat. 31:214). This mean and covariance are first computed
from a few points around the mode. The gradient and Hessian of the log of the integral follow from posterior means and
covariances of the gradient and Hessian at given effects (Louis 1982, J. R. Stat. Soc. B 44:226). The negative Hessian
at the maximum is the observed information on the coefficients and the effects' standard deviations. The standard errors
follow from this information.

Discussions that stop when all agree need no correction. The likelihood is a product over decisions, each given all
earlier messages. Whether a round takes place depends only on verdicts that are already in this product. So the number
of decisions has no further information about the parameters.
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
"""Logits. A narrower spread cannot be distinguished from zero, and would make the density of the effects degenerate."""


@dataclass(frozen=True)
class EffectSpread:
    """The spread of effects L z, where z are J standard normal numbers. L is the sum over a of factors[a] *
    `generators`[a] [J, J].

    The parameters are `factors`, not variances. Each may have either sign, so a standard deviation of zero lies inside
    the parameters' range.
    """

    generators: Floats

    def __len__(self) -> int:
        return len(self.generators)

    def loading(self, factors: Floats) -> Floats:
        """L, with the diagonal kept away from zero so that L is not singular."""
        made = np.tensordot(factors, self.generators, axes=1)
        size = np.diagonal(made)
        lifted = np.where(np.abs(size) < _FLOOR, np.where(size < 0, -_FLOOR, _FLOOR), size)
        return np.asarray(made + np.diag(lifted - size))

    @property
    def sizes(self) -> NDArray[np.bool_]:
        """Whether each parameter is on the diagonal of L [A]."""
        return np.asarray(np.einsum("aii->a", np.abs(self.generators)) > 0)

    def factors(self, covariance: Floats) -> Floats:
        """The parameters whose L L' is nearest to a covariance [J, J]."""
        root = np.linalg.cholesky(covariance + _FLOOR**2 * np.eye(len(covariance)))
        overlap = np.tensordot(self.generators, root, axes=2)
        return np.asarray(overlap / np.sum(self.generators**2, axis=(1, 2)))

    def slopes(self, factors: Floats, latent: Floats) -> Floats:
        """Gradient of the effects' log density with respect to `factors`, at `latent` z [B, J, Q]: [B, A, Q].

        The effects u = L z are held fixed. With W = L^-1 E, the slope along a generator E is z' W z - trace W.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        products = np.einsum("bjq,bkq->bjkq", latent, latent).reshape(len(latent), -1, latent.shape[2])
        traces = np.trace(whitened, axis1=1, axis2=2)
        return np.asarray(whitened.reshape(len(whitened), -1) @ products - traces[:, None])

    def information(self, factors: Floats, products: Floats, count: int) -> Floats:
        """Negative Hessian of the log density of `count` effects with respect to `factors`, [A, A].

        `products` [J, J] is the sum of z z' over the effects. For generators E and F, let W = L^-1 E and V = L^-1 F.
        Each effect then adds z' (V' W + V W + W V) z - trace V W to the entry of E and F.
        """
        whitened = np.linalg.solve(self.loading(factors), self.generators)
        after = np.einsum("bij,ajk->abik", whitened, whitened)
        both = np.einsum("bji,ajk->abik", whitened, whitened) + after + after.swapaxes(0, 1)
        return np.asarray(np.einsum("abik,ik->ab", both, products) - count * np.trace(after, axis1=2, axis2=3))

    def bends(self, factors: Floats) -> tuple[Floats, Floats, Floats]:
        """L L' [J, J], and its first [A, J, J] and second derivatives [A, A, J, J] with respect to `factors`."""
        root, parts = self.loading(factors), self.generators
        slopes = parts @ root.T
        second = np.einsum("aij,bkj->abik", parts, parts)
        return root @ root.T, slopes + slopes.swapaxes(1, 2), second + second.swapaxes(2, 3)


def any_covariance(width: int) -> EffectSpread:
    """A spread with any covariance. Its parameters are the entries of the covariance's lower Cholesky factor."""
    rows, columns = np.tril_indices(width)
    generators = np.zeros((len(rows), width, width))
    generators[np.arange(len(rows)), rows, columns] = 1
    return EffectSpread(generators)


def one_size(width: int) -> EffectSpread:
    """A spread with the same standard deviation in every direction and no correlation.

    The standard deviation is the only parameter.
    """
    return EffectSpread(np.eye(width)[None])


@dataclass(frozen=True)
class JointEffects:
    """The effects of a dilemma on M models, v = (v_1 ... v_M): n = M J numbers, jointly normal with mean zero.

    Each effect is the sum of the dilemma's effect and the model's own taste. `covariance` [n, n] is the covariance of
    all effects v, and `precision` [n, n] its inverse. `slopes` [A, n, n] and `bends` [A, A, n, n] are the covariance's
    first and second derivatives with respect to the A parameters. The parameters of the dilemma's spread come first.
    """

    covariance: Floats
    slopes: Floats
    bends: Floats
    precision: Floats

    @classmethod
    def of(
        cls, dilemma: EffectSpread, taste: EffectSpread, factors: tuple[Floats, Floats], models: int
    ) -> JointEffects:
        """The joint effects for given parameters of the spreads. `factors` has the parameters for the dilemma's
        effects, and the parameters for the common tastes [1, T] or for each model's tastes [M, T]."""
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
        """F = C^-1 C_a C^-1 [A, n, n], where C is the covariance and C_a its slope.

        The part of the log density's gradient that varies with v is v' F v / 2.
        """
        return np.asarray(self.precision @ self.slopes @ self.precision)

    def slope(self, products: Floats, count: int) -> Floats:
        """Gradient [A] of the log density of `count` effects with respect to the parameters of the two spreads.

        `products` [n, n] is the sum of v v' over the effects.
        """
        return np.asarray(np.tensordot(self.forms, products - count * self.covariance, axes=2) / 2)

    def information(self, products: Floats, count: int) -> Floats:
        """Negative Hessian [A, A] of the same log density."""
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
    """The function that `climb` maximises.

    The first `coefficients` parameters are the coefficients. The parameters of the spread follow.
    """
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
