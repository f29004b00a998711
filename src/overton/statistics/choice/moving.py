"""How the sites of expectation propagation move with the parameters, and what the curvature loses by it.

The log of the integral, Phi, is stationary in the sites and in the density around each site. Its second slopes in both
are [[C - V, -V], [-V, T - V]], where C are the covariances of all models' statistics in the density of prior and sites,
V its blocks on the diagonal, one per model, and T the same with the model's own decisions in place of its site. With
the mixed slopes Y in the parameters, the curvature is that with the sites fixed, less Y' [...]^-1 Y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.propagation import Posterior, Tilted, single
from overton.statistics.choice.quadrature import Rule

__all__ = ["Moving"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Moving:
    """The statistics that sites fix are w and w' E w / 2, of a model's effect w in its own standard deviations.

    `forms` [F, J, J] are the symmetric matrices E, orthogonal and of length 1, so that V is diagonal: `variances`
    [S], S = J + F. `values` [S, Q] are the statistics at the rule's points, `squares` [S S, Q] their products. `reach`
    [B, M, J, n] are covariances of a model's w and all effects v, `across` [B, M, S, M, S] is C - V.
    """

    forms: Array
    variances: Array
    values: Array
    squares: Array
    reach: Array
    across: Array

    @classmethod
    def of(cls, found: Posterior, rule: Rule) -> Moving:
        """In this density, with points by this rule."""
        points = rule[0]
        width, (size, models) = len(points), found.sites.shift.shape[:2]
        forms = _forms(width)
        variances = np.repeat([1.0, 0.5], [width, len(forms)])
        values = np.concatenate([points, np.einsum("aij,iq,jq->aq", forms, points, points) / 2])
        squares = (values[:, None] * values).reshape(-1, points.shape[1])
        own = np.stack([found.marginal(model)[1] for model in range(models)], axis=1)
        spread, axes = np.linalg.eigh(own)  # as `principal_roots` has them
        whiten = axes.swapaxes(2, 3) / np.sqrt(spread)[..., None]
        reach = whiten @ found.covariance.reshape(size, models, width, -1)
        across = np.zeros((size, models, len(variances), models, len(variances)))
        for one in range(models):
            for other in range(one):
                shared = reach[:, one, :, found.own(other)] @ whiten[:, other].swapaxes(1, 2)
                across[:, one, :width, other, :width] = shared
                across[:, one, width:, other, width:] = _of_forms(forms, shared)
                across[:, other, :, one] = across[:, one, :, other].swapaxes(1, 2)
        return cls(forms, variances, values, squares, reach, across)

    @property
    def shape(self) -> tuple[int, ...]:
        """Dilemmas, models and statistics."""
        return self.across.shape[:3]

    def prior(self, found: Posterior) -> Array:
        """Mixed slopes in the factors of the prior, [B, M, S, A]: covariances with its log density's slopes."""
        forms = found.together.forms  # [A, n, n]
        pulled = np.tensordot(found.mean, forms, axes=([1], [2]))  # [B, A, n]
        linear = self.reach @ pulled[:, None].swapaxes(2, 3)  # [B, M, J, A]
        around = self.reach[:, :, None] @ forms @ self.reach[:, :, None].swapaxes(3, 4)  # [B, M, A, J, J]
        square = np.tensordot(around, self.forms, axes=([3, 4], [1, 2])).swapaxes(2, 3) / 2
        return np.concatenate([linear, square], axis=2)

    @staticmethod
    def variance(found: Posterior) -> Array:
        """Covariances [A, A] of the slopes of the prior's log density, summed over dilemmas."""
        forms = found.together.forms
        pulled = np.tensordot(found.mean, forms, axes=([1], [2]))  # [B, A, n]
        spread = found.covariance[:, None] @ forms  # [B, A, n, n]
        flat, turned = (part.swapaxes(0, 1).reshape(len(forms), -1) for part in (spread, spread.swapaxes(2, 3)))
        linear = (pulled @ found.covariance).swapaxes(0, 1).reshape(len(forms), -1)
        return np.asarray(flat @ turned.T / 2 + linear @ pulled.swapaxes(0, 1).reshape(len(forms), -1).T)

    def decisions(self, tilted: Tilted, weighted: Array) -> tuple[Array, Array]:
        """T - V of a model [B, S, S], and its mixed slopes in coefficients [B, S, P].

        `weighted` [B, P, Q] are slopes of its decisions' log-likelihood, less their mean, times the points' chances.
        """
        means = tilted.posterior @ self.values.T
        products = (tilted.posterior @ self.squares.T).reshape(len(means), *[len(self.values)] * 2)
        inner = products - means[:, :, None] * means[:, None] - np.diag(self.variances)
        return inner, (weighted @ single(self.values.T)).swapaxes(1, 2)

    def lost(self, inner: Array, prior: Array, decisions: Array) -> Array:
        """Y' [...]^-1 Y, summed over dilemmas.

        `inner` [B, M, S, S] is T - V, `prior` and `decisions` [B, M, S, P] are Y. As V is diagonal, the density around
        the sites is solved for once the sites are eliminated.
        """
        size, models, many = self.shape
        whole = (size, models * many, models * many)
        scaled = self.across / self.variances  # [B, M, S, M, S]
        moved = scaled.transpose(0, 3, 1, 2, 4).reshape(size, models, -1, many) @ inner
        left = moved.swapaxes(1, 2).reshape(whole) - np.diag(np.tile(self.variances, models))
        flat = prior.reshape(size, models * many, -1), decisions.reshape(size, models * many, -1)
        around = np.linalg.solve(left, flat[0] + scaled.reshape(whole) @ flat[1])
        sites = (inner @ around.reshape(prior.shape) - decisions) / self.variances[:, None]
        return np.asarray(
            np.tensordot(flat[0], sites.reshape(flat[0].shape), axes=([0, 1], [0, 1]))
            + np.tensordot(flat[1], around, axes=([0, 1], [0, 1]))
        )


def _forms(width: int) -> Array:
    """Orthogonal symmetric matrices of length 1 that span all of this width."""
    rows, columns = np.tril_indices(width)
    forms, place = np.zeros((len(rows), width, width)), np.arange(len(rows))
    forms[place, rows, columns] = forms[place, columns, rows] = np.where(rows == columns, 1.0, np.sqrt(0.5))
    return forms


def _of_forms(forms: Array, shared: Array) -> Array:
    """Covariances [B, F, F] of w' E w / 2 and x' E x / 2 where those of w and x are `shared` [B, J, J]."""
    turned = shared[:, None] @ forms @ shared[:, None].swapaxes(2, 3)
    return np.asarray(np.tensordot(turned, forms, axes=([2, 3], [1, 2])).swapaxes(1, 2) / 2)
