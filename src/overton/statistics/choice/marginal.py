"""The likelihood with the dilemmas' effects integrated out.

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

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.climbing import Point, Start, Sums, added_up
from overton.statistics.choice.design import Block
from overton.statistics.choice.effects import Spread
from overton.statistics.choice.likelihood import each, evaluate, modes
from overton.statistics.choice.quadrature import Rule, coarse, moments, normalised, placed, principal_roots

__all__ = ["marginal_likelihood"]

Array = NDArray[np.float64]


def marginal_likelihood(
    blocks: Sequence[Block], spread: Spread, rule: Rule, coefficients: int
) -> Callable[[Array, Start], Point]:
    """The function of `coefficients` coefficients and the spread's factors, in this order, that `climb` climbs."""
    rough = coarse(len(rule[0]))

    def at(parameters: Array, latent: Start) -> Point:
        beta, factors = parameters[:coefficients], parameters[coefficients:]
        loadings = spread.loading(factors)[None]

        def part(block: Block, near: Array) -> tuple[Sums, Array]:
            mode, hessian = modes(block, loadings, beta, near)
            covariance = np.asarray(np.linalg.inv(hessian), np.float64)
            points, heights = placed(mode, principal_roots(covariance), rough)
            posterior, _ = normalised(heights + evaluate(block, beta, loadings, points).loglik)
            mean, covariance = moments(points, posterior, covariance)
            placement = placed(mean, principal_roots(covariance), rule)
            return _sums(block, spread, (beta, factors), *placement), mode

        return added_up(parameters, each(part, blocks, latent))

    return at


def _sums(block: Block, spread: Spread, parameters: tuple[Array, Array], latent: Array, heights: Array) -> Sums:
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
