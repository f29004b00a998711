"""The estimators of coefficients and variance components, and of their uncertainty.

All settings are those of the authors' code (docs/choice-model.md). Decisions are shuffled within an epoch by NumPy
here, and by PyTorch in the authors' code. Estimates therefore differ from the authors' by the noise of the last steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.studies.deliberation.choice_model.design import (
    NONE,
    Block,
    ChoiceDesign,
    Decisions,
    Situations,
    blocks,
    design,
)
from overton.studies.deliberation.choice_model.identification import Estimable, fit_patterns
from overton.studies.deliberation.choice_model.likelihood import JointFit, each, fit_jointly
from overton.studies.deliberation.choice_model.newton import Peak, Start, StopRule, climb
from overton.studies.deliberation.choice_model.quadrature import coarse, fine, finest
from overton.studies.deliberation.choice_model.random_effects import (
    EffectSpread,
    any_covariance,
    marginal_likelihood,
    one_size,
)
from overton.studies.deliberation.choice_model.tastes import Spreads, taste_likelihood
from overton.studies.deliberation.options import Conformity

Single = NDArray[np.float32]
Numbers = NDArray[np.floating[Any]]

REFITS = 200
"""The number of samples of dilemmas behind the published intervals."""

_EFFECTS, _MOVES = 1.0, 0.5
"""Prior standard deviations.

The first is for preferences and dilemmas' effects, the second for inertia and conformity.
"""

_DECAY, _MOMENTS, _TINY = 0.01, (0.9, 0.999), 1e-8
"""AdamW with PyTorch's defaults."""

_BETTER, _PATIENCE = 1e-4, 10
"""The fit stops after ten epochs in a row that did not improve the objective by at least this much."""


@dataclass(frozen=True)
class _StepSizes:
    """The maximum number of epochs, the number of decisions per step, and the learning rate."""

    epochs: int
    batch: int
    rate: float


_FIT, _REFIT = _StepSizes(60, 8192, 0.01), _StepSizes(20, 4096, 0.02)


def reaches(decisions: int) -> float:
    """The largest distance from zero that a parameter can reach in the fit to this number of decisions.

    This distance is the sum of all steps, each about as long as AdamW's rate. The authors' settings were chosen for
    72,000 decisions, which make nine steps per epoch.
    """
    return _FIT.rate * _FIT.epochs * ceil(decisions / _FIT.batch)


@dataclass(frozen=True)
class _DecisionArrays:
    """N decisions, in an order that does not depend on the order of the input.

    `model`, `dilemma`, `own`, `choice` and `voice` [N]; `voice` is the index of the conformity that applies. `previous`
    and `within` [K, N]. Parameters are one vector: preferences [K, M], dilemmas' effects [K, D], inertia [M],
    conformity to earlier rounds [C] and within the round [C]. `sizes` are K, M, D and C.
    """

    model: Ints
    dilemma: Ints
    own: Ints
    choice: Ints
    voice: Ints
    previous: Single
    within: Single
    sizes: tuple[int, int, int, int]

    @classmethod
    def of(cls, decisions: Decisions, conformity: Conformity) -> _DecisionArrays:
        table = np.column_stack(
            [
                np.unique(decisions.dilemma, return_inverse=True)[1],
                decisions.model,
                decisions.own_previous,
                decisions.choice,
                decisions.n_prev,
                decisions.n_within,
            ]
        )
        dilemma, model, own, choice, *heard = table[np.lexsort(table.T)].T.copy()
        verdicts = len(decisions.verdicts)
        voice = model if conformity == "by model" else np.zeros_like(model)
        previous, within = (np.array(part, np.float32) for part in (heard[:verdicts], heard[verdicts:]))
        counts = (verdicts, len(decisions.models), int(dilemma.max(initial=-1)) + 1, int(voice.max(initial=0)) + 1)
        return cls(model, dilemma, own, choice, voice, previous, within, counts)

    def __len__(self) -> int:
        return len(self.choice)

    def at(self, places: Ints | slice) -> _DecisionArrays:
        """The decisions at some indices."""
        model, dilemma, own = self.model[places], self.dilemma[places], self.own[places]
        heard = self.previous[:, places], self.within[:, places]
        return _DecisionArrays(model, dilemma, own, self.choice[places], self.voice[places], *heard, self.sizes)

    def on(self, dilemmas: Ints) -> _DecisionArrays:
        """The decisions on the given dilemmas. Effects of the other dilemmas remain parameters, and stay at zero."""
        return self.at(np.flatnonzero(np.isin(self.dilemma, dilemmas)))

    def split(self, vector: Numbers) -> list[Numbers]:
        """Split parameters into preferences, dilemmas' effects, inertia, conformity to earlier rounds, and conformity
        within the round."""
        verdicts, models, dilemmas, voices = self.sizes
        parts = np.split(vector, np.cumsum([verdicts * models, verdicts * dilemmas, models, voices]))
        return [part.reshape(verdicts, -1) for part in parts[:2]] + parts[2:]

    @property
    def pull(self) -> Single:
        """The prior's precision for each parameter, divided by N.

        The penalty of a parameter is half of this precision times the parameter's square. It is subtracted from the
        mean log-likelihood.
        """
        verdicts, models, dilemmas, voices = self.sizes
        effects = np.full(verdicts * (models + dilemmas), _EFFECTS**-2)
        moves = np.full(models + 2 * voices, _MOVES**-2)
        return (np.concatenate([effects, moves]) / len(self)).astype(np.float32)

    def logits(self, vector: Single) -> Single:
        """The logit of every verdict [K, N], shifted so that the largest is 0."""
        preference, effect, inertia, previous, within = self.split(vector)
        made = np.take(_centred(preference), self.model, axis=1) + np.take(_centred(effect), self.dilemma, axis=1)
        made += previous[self.voice] * self.previous + within[self.voice] * self.within
        holding = np.flatnonzero(self.own != NONE)
        made[self.own[holding], holding] += inertia[self.model[holding]]
        return np.asarray(made - made.max(0), np.float32)

    def loss(self, vector: Single) -> float:
        """The negative log-likelihood."""
        logits = self.logits(vector)
        given = logits[self.choice, np.arange(len(self))]
        return float(np.log(np.exp(logits).sum(0)).sum(dtype=float) - given.sum(dtype=float))

    def slope(self, vector: Single) -> Single:
        """Slope of the mean loss in all parameters."""
        _, models, dilemmas, voices = self.sizes
        left = np.exp(self.logits(vector))
        left /= left.sum(0) * len(self)
        left[self.choice, np.arange(len(self))] -= 1 / len(self)
        holding = np.flatnonzero(self.own != NONE)
        parts = [
            _centred(_summed(self.model, left, models)).ravel(),
            _centred(_summed(self.dilemma, left, dilemmas)).ravel(),
            np.bincount(self.model[holding], left[self.own[holding], holding], models),
            *(np.bincount(self.voice, (left * heard).sum(0), voices) for heard in (self.previous, self.within)),
        ]
        return np.concatenate(parts).astype(np.float32)


def _centred(columns: Numbers) -> Numbers:
    return np.asarray(columns - columns.mean(0))


def _summed(group: Ints, values: Single, groups: int) -> Floats:
    """Sums [K, groups] of values [K, N]."""
    return np.array([np.bincount(group, row, groups) for row in values], float)


def _fitted(rows: _DecisionArrays, pace: _StepSizes, rng: np.random.Generator) -> Single:
    """Fit all parameters, starting from zero."""
    pull = rows.pull
    vector, best, since = np.zeros(len(pull), np.float32), np.inf, 0
    step = _adamw(vector, pace.rate)
    for _ in range(pace.epochs):
        mixed = rows.at(rng.permutation(len(rows)))
        for start in range(0, len(rows), pace.batch):
            step(mixed.at(slice(start, start + pace.batch)).slope(vector) + pull * vector)
        reached = rows.loss(vector) / len(rows) + float(pull @ vector**2) / 2
        best, since = (reached, 0) if reached + _BETTER < best else (best, since + 1)
        if since >= _PATIENCE:
            break
    return vector


def _adamw(vector: Single, rate: float) -> Callable[[Single], None]:
    """A function that moves `vector`, in place, by one step against a slope (Loshchilov and Hutter 2019)."""
    mean, square, steps = np.zeros_like(vector), np.zeros_like(vector), 0
    slow, slower = _MOMENTS

    def step(slope: Single) -> None:
        nonlocal steps
        steps += 1
        vector[:] *= 1 - rate * _DECAY
        mean[:] += (1 - slow) * (slope - mean)
        square[:] += (1 - slower) * (slope**2 - square)
        size = np.sqrt(square) / np.sqrt(1 - slower**steps) + _TINY
        vector[:] -= rate / (1 - slow**steps) * mean / size

    return step


def _in_columns(rows: _DecisionArrays, design: ChoiceDesign, vector: Single) -> Floats:
    """Convert parameters to the design's columns.

    Preferences follow its bases; inertia and conformity stay unchanged.
    """
    preference, _, inertia, previous, within = rows.split(vector.astype(float))
    liked = [basis.T @ mine for basis, mine in zip(design.bases, preference.T, strict=True)]
    return np.concatenate([*liked, inertia, previous, within])


_CELLS = 400_000
"""The maximum number of rows times the number of points in a block.

The block's largest arrays then take a few megabytes, and stay in a core's cache.
"""

_ROWS = 2_000
"""The maximum number of rows in a block."""

_FEW = 30
"""The minimum number of dilemmas to estimate a full covariance of dilemmas' effects. With fewer dilemmas, one standard
deviation for all verdicts is estimated."""

_FEW_DECISIONS = 750
"""The minimum number of decisions for a full covariance of dilemmas' effects if each model's tastes have a separate
standard deviation.

With fewer decisions, the covariance absorbs tastes, and intervals of inertia cover the true value too rarely. One
standard deviation for all verdicts is enough even if the verdicts' true standard deviations range from 0.3 to 1.6.
"""

_EM_STEPS = 3

_NEARLY, _ROUGHLY, _FAIRLY, _CLOSELY = StopRule(1.0, steps=10), StopRule(0.1, steps=10), StopRule(0.03), StopRule(0.01)
"""Rules for stopping a search. A search with few points need not converge fully, especially if a search with many
points continues from its sites.

In fits with tastes, every step is expensive, and more steps would gain little.
"""

_TASTE, _LEAST_TASTE = 0.5, 0.1
"""The usual and the smallest starting value of the tastes' standard deviations, in logits.

From a value near zero, steps would be too small.
"""

_SOME = 150
"""The number of dilemmas in a first, quicker search, which is made if there are at least four times as many
dilemmas."""


@dataclass(frozen=True)
class FittedCoefficients:
    """A fit by one of the estimators.

    `coefficients` [P] are those of the columns `kept`, and `dilemma` and `taste` are the spread parameters of random
    effects (see `EffectSpread`). `covariance` is the covariance of all three, in this order.

    `spread` defines the parameters `dilemma`. If effects are not random, `spread` is None, and `dilemma` and `taste`
    are empty. `level` are the directions in the space of parameters that the data hardly determine (see `Peak`).
    `refits` [R, P] are the coefficients of refits, if intervals are based on them. `sites` is the final state of
    expectation propagation, if there are tastes.
    """

    kept: list[int]
    coefficients: Floats
    covariance: Floats
    loglik: float
    converged: bool
    level: Floats
    spread: EffectSpread | None = None
    dilemma: Floats = field(default_factory=lambda: np.zeros(0))
    taste: Floats = field(default_factory=lambda: np.zeros(0))
    refits: Floats | None = None
    sites: Start | None = None


def fit_penalised(
    situations: Situations, models: int, conformity: Conformity, penalty: float
) -> tuple[ChoiceDesign, FittedCoefficients]:
    """Fit by penalised maximum likelihood, with one free effect for each dilemma.

    Standard errors come from the Hessian.

    The objective is the log-likelihood minus penalty/2 times the sum of squares of all parameters. The penalty keeps
    the preference for every verdict finite, so no verdict has to be left out. It also makes a model's preferences, and
    a dilemma's effects, sum to zero.
    """
    verdicts = situations.counts.shape[1]
    made = design(situations, np.ones((models, verdicts), bool), conformity)
    rows = blocks(situations, made.features, made.basis, _ROWS)
    loading = np.eye(verdicts - 1)[None] / np.sqrt(penalty)
    start = fit_patterns(situations, made.features, penalty).coefficients
    return made, _unspread(list(range(len(start))), fit_jointly(rows, loading, penalty, start))


def fit_published(
    decisions: Decisions, situations: Situations, conformity: Conformity, refits: int
) -> tuple[ChoiceDesign, FittedCoefficients]:
    """Fit by the published estimator, as its authors ran it, and refit it `refits` times to dilemmas sampled with
    replacement. A repeated dilemma counts once.

    On average, a refit uses a proportion f = 63% of the dilemmas. Refits vary around the full fit with a standard
    deviation of sqrt(1/f - 1) = 0.76 standard errors. Intervals from refits are therefore about a quarter too narrow.
    """
    made = design(situations, np.ones((len(decisions.models), len(decisions.verdicts)), bool), conformity)
    rows = _DecisionArrays.of(decisions, conformity)
    found = _fitted(rows, _FIT, np.random.default_rng(0))
    first = _in_columns(rows, made, found)

    def again(number: int, _: int) -> Floats:
        rng = np.random.default_rng(number)
        drawn = np.unique(rng.integers(decisions.dilemmas, size=decisions.dilemmas))
        return _in_columns(rows, made, _fitted(rows.on(drawn), _REFIT, rng))

    scattered = np.reshape(each(again, range(refits), range(refits)), (refits, len(first)))
    scatter = np.cov(scattered, rowvar=False) if refits > 1 else np.full((len(first), len(first)), np.nan)
    fit = JointFit(first, scatter, [], [], -rows.loss(found), converged=True)
    return made, replace(_unspread(list(range(len(first))), fit), refits=scattered)


def fit_alike(estimable: Estimable) -> FittedCoefficients:
    """Maximum likelihood without differences between dilemmas, for data that do not show how dilemmas differ."""
    return _unspread(estimable.kept, estimable.start)


def fit_random(estimable: Estimable) -> FittedCoefficients:
    """Marginal maximum likelihood with normal effects of dilemmas, whose covariance is estimated."""
    width, count = estimable.design.basis.shape[1], len(estimable.kept)
    spread = _spread_of(estimable)
    fit, factors = _approximately(_rows(estimable, 1), spread, estimable.start.coefficients)
    sizes = np.concatenate([np.zeros(count, bool), spread.sizes])
    parameters, latent = np.concatenate([fit.coefficients, factors]), fit.latent
    for rule, until in ((coarse(width), _ROUGHLY), (finest(width), _CLOSELY)):
        rows = _rows(estimable, len(rule[1]))
        at = marginal_likelihood(rows, spread, rule, count)
        peak = climb(at, parameters, _rearrange(latent, rows), sizes, until)
        parameters, latent = peak.parameters, peak.latent
    return _spread(estimable, peak, spread)


def fit_taste(estimable: Estimable) -> FittedCoefficients:
    """As `fit_random`, with an additional normal effect of each model in each dilemma. These effects all have the same
    variance."""
    return _fit_tastes(estimable, np.array([_TASTE]), _spread_of(estimable))


def fit_taste_by_model(estimable: Estimable) -> FittedCoefficients:
    """As `fit_taste`, but with a separate variance of tastes for each model that made decisions."""
    tastes = np.where(estimable.deciding, _TASTE, 0.0)
    return _fit_tastes(estimable, tastes, _spread_of(estimable, _FEW_DECISIONS))


def gain_by_tastes(estimable: Estimable, plain: FittedCoefficients) -> float:
    """Twice the gain in log-likelihood from tastes, compared with the `plain` fit without them.

    Both log-likelihoods are computed by the approximation for tastes, so that the error of the approximation cancels.
    """
    assert plain.spread is not None
    width, count = estimable.design.basis.shape[1], len(estimable.kept)
    rows = _rows(estimable, 1, models=len(estimable.used))
    at = taste_likelihood(rows, Spreads(plain.spread, one_size(width), 1), finest(width), count)
    without = at(np.concatenate([plain.coefficients, plain.dilemma, [0.0]]), _zero_effects(rows, 0)).loglik
    return max(2 * (fit_taste(estimable).loglik - without), 0.0)


def gain_by_model(estimable: Estimable, fitted: FittedCoefficients) -> float:
    """Twice the gain in log-likelihood from separate variances of tastes for the models, compared with a common
    variance.

    `fitted` is the fit with separate variances, or the fit with a common variance. The search for the other fit starts
    from `fitted`, with the same kind of dilemma effects.
    """
    assert fitted.spread is not None
    alike = len(fitted.taste) == 1
    deciding = estimable.deciding
    common = float(np.sqrt(np.mean((fitted.taste if alike else fitted.taste[deciding]) ** 2)))  # whatever their signs
    tastes = np.where(deciding, common, 0.0) if alike else np.array([common])
    near = fitted if alike else _with_tastes(fitted, common)
    other = _fit_tastes(estimable, tastes, fitted.spread, near)
    return max(2 * (other.loglik - fitted.loglik) * (1 if alike else -1), 0.0)


def _fit_tastes(
    estimable: Estimable, tastes: Floats, spread: EffectSpread, near: FittedCoefficients | None = None
) -> FittedCoefficients:
    """Fit with `tastes` as starting values of the tastes' standard deviation, common to all models [1] or by model [M].

    If a fit `near` is given, it provides all other starting values, including the sites of expectation propagation.
    """
    width, count = estimable.design.basis.shape[1], len(estimable.kept)
    spreads = Spreads(spread, one_size(width), len(tastes))
    sizes = np.concatenate([np.zeros(count, bool), spread.sizes, np.ones(len(tastes), bool)])
    stages = [(estimable, [(fine(width), _NEARLY), (finest(width), _FAIRLY)])]
    if near is None and (step := estimable.situations.dilemmas // _SOME) > 3:
        some = replace(estimable, situations=estimable.situations.every(step))
        stages.insert(0, (some, [(fine(width), _ROUGHLY)]))
    if near is None:
        first, factors = _approximately(_rows(stages[0][0], 1), spread, estimable.start.coefficients)
        parameters = np.concatenate([first.coefficients, factors, tastes])
    else:
        parameters = np.concatenate([near.coefficients, near.dilemma, tastes])
    for part, climbs in stages:
        rows = _rows(part, 1, models=len(estimable.used))
        own = parameters[-len(tastes) :]
        parameters[-len(tastes) :] = np.where(tastes > 0, np.maximum(np.abs(own), _LEAST_TASTE), 0.0)
        latent = near.sites if near is not None and near.sites is not None else _zero_effects(rows, 0)
        for rule, until in climbs:
            peak = climb(taste_likelihood(rows, spreads, rule, count), parameters, latent, sizes, until)
            parameters, latent = peak.parameters, peak.latent
    return replace(_spread(estimable, peak, spread), sites=peak.latent)


def _with_tastes(fitted: FittedCoefficients, size: float) -> FittedCoefficients:
    """Move a fit's coefficients, and the parameters of the dilemmas' spread, as its curvature predicts for tastes with
    the standard deviation `size` in all models."""
    if fitted.level.size:
        return fitted
    others = np.concatenate([fitted.coefficients, fitted.dilemma])
    first = len(others)
    across, own = fitted.covariance[:first, first:], fitted.covariance[first:, first:]
    moved = np.copysign(size, fitted.taste) - fitted.taste
    others = others + across @ np.linalg.pinv(own, hermitian=True) @ moved
    coefficients, dilemma = np.split(others, [len(fitted.coefficients)])
    return replace(fitted, coefficients=coefficients, dilemma=dilemma)


def _spread_of(estimable: Estimable, decisions: int = 0) -> EffectSpread:
    """The spread of the dilemmas' effects to estimate: a full covariance if there are enough dilemmas and at least
    `decisions` decisions, otherwise one standard deviation."""
    width, situations = estimable.design.basis.shape[1], estimable.situations
    many = situations.dilemmas >= _FEW and situations.counts.sum() >= decisions
    return any_covariance(width) if many else one_size(width)


def _rows(estimable: Estimable, nodes: int, *, models: int = 1) -> list[Block]:
    features = estimable.design.take(estimable.kept)
    size = min(max(_CELLS // nodes, 1), _ROWS)
    return blocks(estimable.situations, features, estimable.design.basis, size, models=models)


def _zero_effects(rows: list[Block], latent: int) -> Start:
    """Latent effects of zero."""
    return [np.zeros((block.size, latent)) for block in rows]


def _rearrange(latent: Start, rows: list[Block]) -> Start:
    """Distribute latent effects over the blocks `rows`. The order of dilemmas, by number of rows, stays the same."""
    return np.split(np.concatenate(latent), np.cumsum([block.size for block in rows])[:-1])


def _spread(estimable: Estimable, peak: Peak, spread: EffectSpread) -> FittedCoefficients:
    count = len(estimable.kept)
    beta, shared, own = np.split(peak.parameters, [count, count + len(spread)])
    found = (peak.covariance, peak.loglik, peak.converged, peak.level)
    return FittedCoefficients(estimable.kept, beta, *found, spread, shared, own)


def _unspread(kept: list[int], fit: JointFit) -> FittedCoefficients:
    level = np.zeros((len(fit.coefficients), 0))
    return FittedCoefficients(kept, fit.coefficients, fit.covariance, fit.loglik, fit.converged, level)


def _approximately(rows: list[Block], spread: EffectSpread, start: Floats) -> tuple[JointFit, Floats]:
    """A cheap starting point: a few steps of EM with a normal approximation of the dilemmas' effects."""
    width = spread.generators.shape[1]
    factors = spread.factors(np.eye(width))
    fit = fit_jointly(rows, spread.loading(factors)[None], 0.0, start, precision=1.0)
    for _ in range(_EM_STEPS):
        old = spread.loading(factors)
        latent = np.concatenate(fit.latent)
        products = (latent.T @ latent + np.concatenate(fit.spread).sum(0)) / len(latent)
        factors = spread.factors(old @ products @ old.T)
        kept = [z @ np.linalg.solve(spread.loading(factors), old).T for z in fit.latent]
        fit = fit_jointly(rows, spread.loading(factors)[None], 0.0, fit.coefficients, latent=kept, precision=1.0)
    return fit, factors
