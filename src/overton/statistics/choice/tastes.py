"""The likelihood with the dilemmas' effects and each model's own taste for a dilemma integrated out.

A model that likes a verdict on a dilemma gives it again and again, in one discussion after another: that looks like
inertia, which is keeping the verdict just given.

The integral is that of expectation propagation (`propagation`): its log Phi is stationary in the sites s, so that its
slope in the parameters is that with the sites fixed, and its curvature is Phi_pp - Phi_ps Phi_ss^-1 Phi_sp (`moving`).
Both are means and covariances: of the normal density of all effects, and of one model's effect with its own decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.climbing import Point, Start, Sums, added_up
from overton.statistics.choice.design import Block
from overton.statistics.choice.effects import Spread, Together
from overton.statistics.choice.likelihood import each
from overton.statistics.choice.moving import Moving
from overton.statistics.choice.propagation import Posterior, Seat, Sites, Tilted, seats, settled, single, sites_at_modes
from overton.statistics.choice.quadrature import Rule

__all__ = ["Spreads", "taste_likelihood"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spreads:
    """Of the dilemmas' effects, and of the models' tastes; `of_tastes` is 1 if models share theirs, or one for each."""

    dilemma: Spread
    taste: Spread
    of_tastes: int

    @property
    def factors(self) -> int:
        """How many there are: the dilemmas' first, then those of the tastes."""
        return len(self.dilemma) + self.of_tastes * len(self.taste)


def taste_likelihood(
    blocks: Sequence[Block], spreads: Spreads, rule: Rule, coefficients: int
) -> Callable[[Array, Start], Point]:
    """The function of coefficients, the dilemmas' factors and the tastes' that `climb` climbs; it starts from sites.

    Empty sites are searched from scratch. The blocks' rows are ordered by model, as by `blocks(..., models=...)`.
    """
    ends = [coefficients, coefficients + len(spreads.dilemma)]
    by_block = {id(block): seats(block) for block in blocks}

    def at(parameters: Array, latent: Start) -> Point:
        beta, shared, flat = np.split(parameters, ends)
        own = flat.reshape(spreads.of_tastes, -1)
        roots = spreads.dilemma.loading(shared), np.array([spreads.taste.loading(one) for one in own])
        together = Together.of(spreads.dilemma, spreads.taste, (shared, own), blocks[0].models)

        def part(block: Block, near: Array) -> tuple[Sums, Array]:
            known = near.shape[1] > 0
            sites = Sites.unpacked(near, block.models, len(rule[0])) if known else sites_at_modes(block, beta, roots)
            found = settled(by_block[id(block)], beta, together, sites, rule)
            return _sums(found, by_block[id(block)], beta, rule), found.sites.packed

        return added_up(parameters, each(part, blocks, latent))

    return at


def _sums(found: Posterior, seats: list[Seat], beta: Array, rule: Rule) -> Sums:
    """With the sites fixed; then what the curvature loses because they move."""
    count, first = len(found.mean), len(beta)
    places = first + len(found.together.slopes)
    loglik, slope, information = found.energy(), np.zeros(places), np.zeros((places, places))
    products = (found.covariance + found.mean[:, :, None] * found.mean[:, None]).sum(0)
    slope[first:] = found.together.slope(products, count)
    moving = Moving.of(found, rule)
    information[first:, first:] = found.together.information(products, count) - moving.variance(found)
    inner = np.zeros((*moving.shape, moving.shape[2]))
    prior, decisions = np.zeros((*moving.shape, places)), np.zeros((*moving.shape, places))
    prior[..., first:] = moving.prior(found)
    for model, seat in enumerate(seats):
        tilted = Tilted.of(found, model, seat, beta, rule)
        loglik += float(tilted.height.sum()) - _log_volume(found, model)
        chances = single(tilted.posterior)
        score = tilted.nodes.score()
        mean = score @ chances[..., None]
        weighted = (score - mean) * chances[:, None]
        variance = (weighted @ score.swapaxes(1, 2)).sum(0, dtype=float)
        slope[seat.columns] += mean.sum((0, 2), dtype=float)
        information[np.ix_(seat.columns, seat.columns)] += tilted.nodes.information(chances) - variance
        inner[:, model], decisions[:, model][..., seat.columns] = moving.decisions(tilted, weighted)
    return loglik, slope, information + moving.lost(inner, prior, decisions)


def _log_volume(found: Posterior, model: int) -> float:
    """Log of the integral of exp(h'v - v'Pv / 2) for prior and sites of one model's effect, summed.

    Without the power of 2 pi, which the points' weights leave out too.
    """
    mean, covariance = found.marginal(model)
    inner = np.sum(mean * np.linalg.solve(covariance, mean[..., None])[..., 0])
    return float(inner + np.linalg.slogdet(covariance)[1].sum()) / 2
