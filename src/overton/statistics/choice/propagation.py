"""A dilemma's effects on several models given all decisions: expectation propagation (Minka 2001, UAI 17:362).

The likelihood is a product over models, each model's part L_m a function of the J numbers v_m that move it. Together
the v_m are normal, so that the integral is one over M J numbers. A normal *site*, exp(h'v_m - v_m' P v_m / 2), replaces
each part. With one part put back in place of its site, the integral is one over J numbers, computed at points; sites
are chosen so that the mean and the covariance of v_m are then the same as with sites alone. Parts may be far from
normal, as they are if a verdict was hardly ever given; taken one at a time they are integrated as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.design import Block
from overton.statistics.choice.effects import Together
from overton.statistics.choice.likelihood import AtPoint, Nodes, evaluate, modes
from overton.statistics.choice.quadrature import Rule, normalised, principal_roots

__all__ = ["Posterior", "Seat", "Sites", "Tilted", "seats", "settled", "single", "sites_at_modes"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_SETTLED, _SWEEPS = 0.01, 2
"""In posterior standard deviations: sites are done once no mean or covariance moves further; and the most sweeps over
all of them. Sites are carried over from one step of a climb to the next, and settle while the parameters do."""


@dataclass(frozen=True)
class Seat:
    """One model's rows in some dilemmas, in single precision, and which columns of the design count in them."""

    block: Block
    columns: Indices


def seats(block: Block) -> list[Seat]:
    """Each model's. Single precision is enough for sums over some dozens of decisions, and three times as fast."""
    return [
        Seat(
            replace(
                one,
                features=single(one.features),
                counts=single(one.counts),
                trials=single(one.trials),
                basis=single(one.basis),
            ),
            columns,
        )
        for one, columns in block.groups()
    ]


def single(numbers: Array) -> Array:
    """In single precision."""
    return numbers.astype(np.float32)


@dataclass(frozen=True)
class Sites:
    """Of B dilemmas and M models: `precision` [B, M, J, J] and `shift` [B, M, J]."""

    precision: Array
    shift: Array

    @classmethod
    def unpacked(cls, packed: Array, models: int, width: int) -> Sites:
        """From one row [M (J J + J)] per dilemma."""
        at = models * width * width
        return cls(
            packed[:, :at].reshape(-1, models, width, width).copy(), packed[:, at:].reshape(-1, models, width).copy()
        )

    @property
    def packed(self) -> Array:
        """As one row per dilemma."""
        return np.concatenate([part.reshape(len(part), -1) for part in (self.precision, self.shift)], axis=1)


def sites_at_modes(block: Block, coefficients: Array, roots: tuple[Array, Array]) -> Sites:
    """Sites to start from: each part's slope and curvature where all effects together are likeliest.

    `roots` are those of the dilemmas' covariance [J, J] and of the tastes', of all models [1, J, J] or of each.
    """
    width, models = len(roots[0]), block.models
    tastes = np.broadcast_to(roots[1], (models, width, width))
    loadings = np.zeros((models, width, width * (1 + models)))
    for model in range(models):
        own = slice(width * (1 + model), width * (2 + model))
        loadings[model, :, :width], loadings[model, :, own] = roots[0], tastes[model]
    latent, _ = modes(block, loadings, coefficients, np.zeros((block.size, width * (1 + models))))
    precision, shift = np.zeros((block.size, models, width, width)), np.zeros((block.size, models, width))
    for model, (rows, columns) in enumerate(block.groups()):
        effect = latent @ loadings[model].T
        point = AtPoint.at(rows, np.eye(width)[None], coefficients[columns], effect)
        precision[:, model] = point.curvature() - np.eye(width)
        shift[:, model] = point.slope() + effect + (precision[:, model] @ effect[..., None])[..., 0]
    return Sites(precision, shift)


@dataclass
class Posterior:
    """The normal density of all effects by prior and sites: `mean` [B, n] and `covariance` [B, n, n]."""

    together: Together
    sites: Sites
    mean: Array
    covariance: Array

    @classmethod
    def of(cls, together: Together, sites: Sites) -> Posterior:
        """Of this prior and these sites."""
        size, models, width = sites.shift.shape
        precision = np.tile(together.precision, (size, 1, 1))
        for model in range(models):
            own = slice(model * width, (model + 1) * width)
            precision[:, own, own] += sites.precision[:, model]
        covariance = _inverse(precision)
        return cls(together, sites, _times(covariance, sites.shift.reshape(size, -1)), covariance)

    def own(self, model: int) -> slice:
        """A model's place among all effects."""
        width = self.sites.shift.shape[2]
        return slice(model * width, (model + 1) * width)

    def marginal(self, model: int) -> tuple[Array, Array]:
        """Mean [B, J] and covariance [B, J, J] of one model's."""
        own = self.own(model)
        return self.mean[:, own], self.covariance[:, own, own]

    def energy(self) -> float:
        """Log of the integral of prior and sites, over all dilemmas."""
        size = len(self.mean)
        inner = np.sum(self.mean * self.sites.shift.reshape(size, -1))
        volumes = np.linalg.slogdet(self.covariance)[1].sum() - size * np.linalg.slogdet(self.together.covariance)[1]
        return float(inner + volumes) / 2

    def change(self, model: int, precision: Array, shift: Array) -> None:
        """Replace a model's site, and update the rest: Woodbury's identity."""
        own = self.own(model)
        more = precision - self.sites.precision[:, model]
        push: Array = shift - self.sites.shift[:, model] - _times(more, self.mean[:, own])
        across, here = self.covariance[:, :, own], self.covariance[:, own, own]
        kept = _inverse(np.eye(here.shape[1]) + here @ more)
        self.mean = self.mean + _times(across, _times(kept.swapaxes(1, 2), push))
        self.covariance = self.covariance - across @ (more @ kept) @ across.swapaxes(1, 2)
        self.sites.precision[:, model], self.sites.shift[:, model] = precision, shift


@dataclass(frozen=True)
class Tilted:
    """One model's effect with its own part in place of its site, at Q points.

    The points are the rule's, from `mean` [B, J] along `root` [B, J, J], those of the density by sites. `nodes` have
    the part there, `posterior` [B, Q] the points' probabilities, `height` [B] is the log of the integral; `rest` is the
    density of the effect by prior and other sites, its precision [B, J, J] and shift [B, J].
    """

    mean: Array
    root: Array
    rest: tuple[Array, Array]
    nodes: Nodes
    posterior: Array
    height: Array

    @classmethod
    def of(cls, found: Posterior, model: int, seat: Seat, coefficients: Array, rule: Rule) -> Tilted:
        """Of a model, given the others' sites."""
        mean, covariance = found.marginal(model)
        root = principal_roots(covariance)
        whole = _inverse(covariance)
        precision = whole - found.sites.precision[:, model]
        shift = _times(whole, mean) - found.sites.shift[:, model]
        points, weights = rule
        effects = single(mean)[..., None] + single(root) @ single(points)
        nodes = evaluate(seat.block, single(coefficients[seat.columns]), single(np.eye(len(points)))[None], effects)
        # The rest's density at the points, as a sum of squares.
        away = shift - _times(precision, mean)
        at_mean = np.sum(mean * (shift + away), axis=1) / 2 + np.linalg.slogdet(root)[1]
        bend = root.swapaxes(1, 2) @ precision @ root - np.eye(len(points))
        heights = np.log(weights) + _times(root.swapaxes(1, 2), away) @ points
        heights -= bend.reshape(len(bend), -1) @ _squares(points) / 2
        posterior, height = normalised(heights + nodes.loglik)
        return cls(mean, root, (precision, shift), nodes, posterior, height + at_mean)

    def site(self, rule: Rule) -> tuple[Array, Array, float]:
        """Precision and shift of the site with this mean and covariance, and how far these are from the density's.

        As far as the parts are log-concave, which they are, no site reduces precision.
        """
        points = rule[0]
        moved = self.posterior @ points.T  # [B, J], in units of the root
        spread = (self.posterior @ _squares(points).T).reshape(self.root.shape) - moved[:, :, None] * moved[:, None]
        back = _inverse(self.root)
        mean = self.mean + _times(self.root, moved)
        values, axes = np.linalg.eigh(back.swapaxes(1, 2) @ _inverse(spread) @ back - self.rest[0])
        precision = (axes * np.maximum(values, 0.0)[:, None]) @ axes.swapaxes(1, 2)
        shift = _times(precision + self.rest[0], mean) - self.rest[1]
        away = max(float(np.abs(moved).max(initial=0)), float(np.abs(spread - np.eye(len(points))).max(initial=0)))
        return precision, shift, away


def _squares(points: Array) -> Array:
    """Products [J J, Q] of points [J, Q]."""
    return (points[:, None] * points).reshape(-1, points.shape[1])


def settled(seats: list[Seat], coefficients: Array, together: Together, sites: Sites, rule: Rule) -> Posterior:
    """Sites such that each model's part, put back, changes neither mean nor covariance of its effect."""
    found = Posterior.of(together, Sites(sites.precision.copy(), sites.shift.copy()))
    for _ in range(_SWEEPS):
        furthest = 0.0
        for model, seat in enumerate(seats):
            precision, shift, away = Tilted.of(found, model, seat, coefficients, rule).site(rule)
            furthest = max(furthest, away)
            found.change(model, precision, shift)
        if furthest < _SETTLED:
            break
    return Posterior.of(together, found.sites)


def _inverse(matrices: Array) -> Array:
    return np.asarray(np.linalg.inv(matrices), np.float64)


def _times(matrices: Array, vectors: Array) -> Array:
    """Products [B, I] of matrices [B, I, J] and vectors [B, J]."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])
