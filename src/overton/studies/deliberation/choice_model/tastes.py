"""The likelihood with the dilemmas' effects and each model's own taste integrated out by expectation propagation.

The likelihood is a product over models. Each model's part L_m is a function of the J numbers v_m that affect it. The
v_m are jointly normal, so the integral has M J dimensions. Each part is replaced by a normal *site*, exp(h'v_m - v_m' P
v_m / 2). If one exact part takes the place of its site, the integral has only J dimensions and can be computed by
quadrature. Sites are chosen so that putting the exact part in place of its site changes neither the mean nor the
covariance of v_m. A part may be far from normal, for example if a verdict was hardly ever given. This does no harm,
because each part is integrated in its exact form, while sites represent the other parts.

Phi, the log of the integral, is stationary in the sites and in the density around each site. Let H = [[C - V, -V],
[-V, T - V]] be the second derivatives of Phi in the sites and in this density. C is the covariance of all models'
statistics in the density of prior and sites. V are the diagonal blocks of C, one per model. T is V computed with
each model's own decisions in place of its site. Y are the mixed derivatives in the parameters and the sites. The
Hessian of Phi is the Hessian with fixed sites minus Y' H^-1 Y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from overton.statistics.arrays import Floats, Ints
from overton.studies.deliberation.choice_model.design import Block
from overton.studies.deliberation.choice_model.likelihood import AtPoint, Nodes, each, evaluate, modes
from overton.studies.deliberation.choice_model.newton import LikelihoodPoint, Start, Sums, added_up
from overton.studies.deliberation.choice_model.quadrature import Rule, normalised, principal_roots
from overton.studies.deliberation.choice_model.random_effects import EffectSpread, JointEffects

_SETTLED, _SWEEPS = 0.01, 2
"""Sites have converged if no mean or covariance moves by more than the first number, in posterior standard deviations.

The second number is the maximum number of sweeps over all sites. Each step of a climb continues with the sites of the
step before, so sites converge together with the parameters.
"""


@dataclass(frozen=True)
class ModelRows:
    """One model's rows in some dilemmas, in single precision, and the columns of the design that matter for these
    rows."""

    block: Block
    columns: Ints


def rows_by_model(block: Block) -> list[ModelRows]:
    """Each model's rows. Single precision suffices for sums over a few dozen decisions, and is three times as fast."""
    return [
        ModelRows(
            replace(
                group,
                features=single(group.features),
                counts=single(group.counts),
                trials=single(group.trials),
                basis=single(group.basis),
            ),
            columns,
        )
        for group, columns in block.groups()
    ]


def single(numbers: Floats) -> Floats:
    """Convert numbers to single precision."""
    return numbers.astype(np.float32)


@dataclass(frozen=True)
class Sites:
    """Sites of B dilemmas and M models: `precision` [B, M, J, J] and `shift` [B, M, J]."""

    precision: Floats
    shift: Floats

    @classmethod
    def unpacked(cls, packed: Floats, models: int, width: int) -> Sites:
        """Unpack sites from one row [M (J J + J)] per dilemma."""
        at = models * width * width
        return cls(
            packed[:, :at].reshape(-1, models, width, width).copy(), packed[:, at:].reshape(-1, models, width).copy()
        )

    @property
    def packed(self) -> Floats:
        """The sites as one row [M (J J + J)] per dilemma."""
        return np.concatenate([part.reshape(len(part), -1) for part in (self.precision, self.shift)], axis=1)


def sites_at_modes(block: Block, coefficients: Floats, roots: tuple[Floats, Floats]) -> Sites:
    """Starting values of sites: each part's gradient and Hessian at the joint mode of all effects.

    `roots` are a root of the dilemmas' covariance [J, J], and a root of the tastes' covariance. The second root is
    [1, J, J] if models share it, otherwise [M, J, J].
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
    """The normal density of all effects given prior and sites: `mean` [B, n] and `covariance` [B, n, n]."""

    together: JointEffects
    sites: Sites
    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, together: JointEffects, sites: Sites) -> Posterior:
        """The density for this prior and these sites."""
        size, models, width = sites.shift.shape
        precision = np.tile(together.precision, (size, 1, 1))
        for model in range(models):
            own = slice(model * width, (model + 1) * width)
            precision[:, own, own] += sites.precision[:, model]
        covariance = _inverse(precision)
        return cls(together, sites, _times(covariance, sites.shift.reshape(size, -1)), covariance)

    def own(self, model: int) -> slice:
        """A model's indices among all effects."""
        width = self.sites.shift.shape[2]
        return slice(model * width, (model + 1) * width)

    def marginal(self, model: int) -> tuple[Floats, Floats]:
        """Mean [B, J] and covariance [B, J, J] of one model's effect."""
        own = self.own(model)
        return self.mean[:, own], self.covariance[:, own, own]

    def energy(self) -> float:
        """The log of the integral of prior and sites, over all dilemmas."""
        size = len(self.mean)
        inner = np.sum(self.mean * self.sites.shift.reshape(size, -1))
        volumes = np.linalg.slogdet(self.covariance)[1].sum() - size * np.linalg.slogdet(self.together.covariance)[1]
        return float(inner + volumes) / 2

    def change(self, model: int, precision: Floats, shift: Floats) -> None:
        """Replace a model's site, and update mean and covariance by Woodbury's identity."""
        own = self.own(model)
        more = precision - self.sites.precision[:, model]
        push: Floats = shift - self.sites.shift[:, model] - _times(more, self.mean[:, own])
        across, here = self.covariance[:, :, own], self.covariance[:, own, own]
        kept = _inverse(np.eye(here.shape[1]) + here @ more)
        self.mean = self.mean + _times(across, _times(kept.swapaxes(1, 2), push))
        self.covariance = self.covariance - across @ (more @ kept) @ across.swapaxes(1, 2)
        self.sites.precision[:, model], self.sites.shift[:, model] = precision, shift


@dataclass(frozen=True)
class Tilted:
    """One model's effect at Q points, with the model's exact part in place of its site.

    The points are those of the rule, placed with the `mean` [B, J] and `root` [B, J, J] of the density that uses sites
    only. `nodes` are the exact part at these points, `posterior` [B, Q] the points' probabilities, and `height` [B] the
    log of the integral. `rest` is the density of the effect given the prior and the other models' sites: its precision
    [B, J, J] and shift [B, J].
    """

    mean: Floats
    root: Floats
    rest: tuple[Floats, Floats]
    nodes: Nodes
    posterior: Floats
    height: Floats

    @classmethod
    def of(cls, found: Posterior, model: int, seat: ModelRows, coefficients: Floats, rule: Rule) -> Tilted:
        """The effect of one model, given the other models' sites."""
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

    def site(self, rule: Rule) -> tuple[Floats, Floats, float]:
        """Precision and shift of the site that gives the effect the mean and covariance found at the points. The third
        result is the distance that mean and covariance move. The parts are log-concave, so no site reduces precision.
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


def _squares(points: Floats) -> Floats:
    """Products [J J, Q] of points [J, Q]."""
    return (points[:, None] * points).reshape(-1, points.shape[1])


def settled(
    seats: list[ModelRows], coefficients: Floats, together: JointEffects, sites: Sites, rule: Rule
) -> Posterior:
    """Adjust the sites until each model's exact part can replace the model's site without changing the mean and
    covariance of the model's effect. Return the density with the sites after at most `_SWEEPS` sweeps."""
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


def _inverse(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrices), np.float64)


def _times(matrices: Floats, vectors: Floats) -> Floats:
    """Products [B, I] of matrices [B, I, J] and vectors [B, J]."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])


@dataclass(frozen=True)
class Moving:
    """The statistics that sites match are w and w' E w / 2, where w is a model's standardised effect, and E is one of
    `forms`.

    `forms` [F, J, J] are the symmetric matrices E, orthogonal and of length 1. The covariance V of a model's statistics
    is therefore diagonal. `variances` [S] is its diagonal, S = J + F. `values` [S, Q] are the statistics at the rule's
    points, and `squares` [S S, Q] their products. `reach` [B, M, J, n] are covariances between a model's w and all
    effects v. `across` [B, M, S, M, S] are the statistics' covariances between different models.
    """

    forms: Floats
    variances: Floats
    values: Floats
    squares: Floats
    reach: Floats
    across: Floats

    @classmethod
    def of(cls, found: Posterior, rule: Rule) -> Moving:
        """The statistics in the density `found`, at this rule's points."""
        points = rule[0]
        width, (size, models) = len(points), found.sites.shift.shape[:2]
        forms = _forms(width)
        variances = np.repeat([1.0, 0.5], [width, len(forms)])
        values = np.concatenate([points, np.einsum("aij,iq,jq->aq", forms, points, points) / 2])
        squares = (values[:, None] * values).reshape(-1, points.shape[1])
        own = np.stack([found.marginal(model)[1] for model in range(models)], axis=1)
        spread, axes = np.linalg.eigh(own)  # the same axes as in `principal_roots`
        whiten = axes.swapaxes(2, 3) / np.sqrt(spread)[..., None]
        reach = whiten @ found.covariance.reshape(size, models, width, -1)
        across = np.zeros((size, models, len(variances), models, len(variances)))
        for later in range(models):
            for earlier in range(later):
                shared = reach[:, later, :, found.own(earlier)] @ whiten[:, earlier].swapaxes(1, 2)
                across[:, later, :width, earlier, :width] = shared
                across[:, later, width:, earlier, width:] = _of_forms(forms, shared)
                across[:, earlier, :, later] = across[:, later, :, earlier].swapaxes(1, 2)
        return cls(forms, variances, values, squares, reach, across)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of dilemmas, models and statistics."""
        return self.across.shape[:3]

    def prior(self, found: Posterior) -> Floats:
        """Mixed derivatives with respect to the prior's parameters, [B, M, S, A]: covariances of the statistics with
        the gradient of the prior's log density."""
        forms = found.together.forms  # [A, n, n]
        pulled = np.tensordot(found.mean, forms, axes=([1], [2]))  # [B, A, n]
        linear = self.reach @ pulled[:, None].swapaxes(2, 3)  # [B, M, J, A]
        around = self.reach[:, :, None] @ forms @ self.reach[:, :, None].swapaxes(3, 4)  # [B, M, A, J, J]
        square = np.tensordot(around, self.forms, axes=([3, 4], [1, 2])).swapaxes(2, 3) / 2
        return np.concatenate([linear, square], axis=2)

    @staticmethod
    def variance(found: Posterior) -> Floats:
        """Covariances [A, A] of the gradient of the prior's log density, summed over dilemmas."""
        forms = found.together.forms
        pulled = np.tensordot(found.mean, forms, axes=([1], [2]))  # [B, A, n]
        spread = found.covariance[:, None] @ forms  # [B, A, n, n]
        flat, turned = (part.swapaxes(0, 1).reshape(len(forms), -1) for part in (spread, spread.swapaxes(2, 3)))
        linear = (pulled @ found.covariance).swapaxes(0, 1).reshape(len(forms), -1)
        return np.asarray(flat @ turned.T / 2 + linear @ pulled.swapaxes(0, 1).reshape(len(forms), -1).T)

    def decisions(self, tilted: Tilted, weighted: Floats) -> tuple[Floats, Floats]:
        """T - V of a model [B, S, S], and the mixed derivatives in its statistics and the coefficients [B, S, P].

        `weighted` [B, P, Q] are gradients of the decisions' log-likelihood, minus their mean, times the points'
        probabilities.
        """
        means = tilted.posterior @ self.values.T
        products = (tilted.posterior @ self.squares.T).reshape(len(means), *[len(self.values)] * 2)
        inner = products - means[:, :, None] * means[:, None] - np.diag(self.variances)
        return inner, (weighted @ single(self.values.T)).swapaxes(1, 2)

    def lost(self, inner: Floats, prior: Floats, decisions: Floats) -> Floats:
        """Y' H^-1 Y, as in the module's docstring, summed over dilemmas.

        `inner` [B, M, S, S] is T - V. The two parts of Y are `prior` and `decisions` [B, M, S, P]. V is diagonal, so
        the sites are eliminated first. Then the equations for the density around the sites are solved.
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


def _forms(width: int) -> Floats:
    """Orthogonal symmetric matrices of length 1 that span all symmetric matrices of this width."""
    rows, columns = np.tril_indices(width)
    forms, place = np.zeros((len(rows), width, width)), np.arange(len(rows))
    forms[place, rows, columns] = forms[place, columns, rows] = np.where(rows == columns, 1.0, np.sqrt(0.5))
    return forms


def _of_forms(forms: Floats, shared: Floats) -> Floats:
    """Covariances [B, F, F] of w' E w / 2 and x' E x / 2, given the covariances `shared` [B, J, J] of w and x."""
    turned = shared[:, None] @ forms @ shared[:, None].swapaxes(2, 3)
    return np.asarray(np.tensordot(turned, forms, axes=([2, 3], [1, 2])).swapaxes(1, 2) / 2)


@dataclass(frozen=True)
class Spreads:
    """The standard deviations of the dilemmas' effects and of the models' tastes.

    `of_tastes` is 1 if models share the tastes' standard deviations, otherwise the number of models.
    """

    dilemma: EffectSpread
    taste: EffectSpread
    of_tastes: int

    @property
    def factors(self) -> int:
        """The number of parameters of the two spreads together."""
        return len(self.dilemma) + self.of_tastes * len(self.taste)


def taste_likelihood(
    blocks: Sequence[Block], spreads: Spreads, rule: Rule, coefficients: int
) -> Callable[[Floats, Start], LikelihoodPoint]:
    """The function that `climb` maximises.

    The function's parameters are the coefficients, then the parameters of the dilemmas' spread, then those of the
    tastes' spread.

    The search for sites starts from the sites that the function receives. If there are none, it starts from sites at
    the joint modes. The blocks' rows must be grouped by model, as `blocks(..., models=...)` does.
    """
    ends = [coefficients, coefficients + len(spreads.dilemma)]
    by_block = {id(block): rows_by_model(block) for block in blocks}

    def at(parameters: Floats, latent: Start) -> LikelihoodPoint:
        beta, shared, flat = np.split(parameters, ends)
        own = flat.reshape(spreads.of_tastes, -1)
        roots = spreads.dilemma.loading(shared), np.array([spreads.taste.loading(factors) for factors in own])
        together = JointEffects.of(spreads.dilemma, spreads.taste, (shared, own), blocks[0].models)

        def part(block: Block, near: Floats) -> tuple[Sums, Floats]:
            known = near.shape[1] > 0
            sites = Sites.unpacked(near, block.models, len(rule[0])) if known else sites_at_modes(block, beta, roots)
            found = settled(by_block[id(block)], beta, together, sites, rule)
            return _sums(found, by_block[id(block)], beta, rule), found.sites.packed

        return added_up(parameters, each(part, blocks, latent))

    return at


def _sums(found: Posterior, seats: list[ModelRows], beta: Floats, rule: Rule) -> Sums:
    """Log-likelihood, gradient and negative Hessian. The Hessian is first computed with fixed sites, then corrected
    because sites move with the parameters."""
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
    """The sum over dilemmas of the log of the integral of exp(h'v - v'Pv / 2), for one model's effect.

    It omits the power of 2 pi, as the points' weights do.
    """
    mean, covariance = found.marginal(model)
    inner = np.sum(mean * np.linalg.solve(covariance, mean[..., None])[..., 0])
    return float(inner + np.linalg.slogdet(covariance)[1].sum()) / 2
