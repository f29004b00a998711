"""Partially pooled probabilities of many similar things with few answers each. The distribution over all things makes
up for missing answers.

Each thing (such as an issue) has a baseline stance y, on which its probability in each condition c depends. Each of its
strata s (such as a template) has its own probability, which varies around the probability of the condition. All things
share a label bias and a position bias (`pulls`), which shift each stratum's probability with known signs s_s. On
logits,

    x_cs ~ Binomial(n_cs, q_cs),    q_cs ~ Beta(m_cs kappa, (1 - m_cs) kappa),    logit(m_cs) = y_c + pulls . s_s
    y ~ G,    y_c | y ~ Normal(a_c + b_c y, tau^2)

All distributions are on a grid. The baseline stance y is a separate variable for each thing, in addition to the stance
y_c in each condition. G can be any distribution (Laird 1978, JASA 73:805; Efron 2016, Biometrika 103:1). G and the
lines a_c + b_c y are fitted by EM. G has Jeffreys' prior. The prior of the lines is centred on a = 0 and b = 1. Each
prior has the weight of `_PRIOR_THINGS` things. The biases are fitted by logistic regression with an intercept for each
thing and condition. If there are few things, they do not determine the variation between conditions (tau) and the
similarity of a stratum's answers (kappa). So tau and kappa are sampled from their likelihood. The draws are from
parametric empirical Bayes posteriors (Morris 1983, JASA 78:47). Given the fitted numbers, a posterior does not depend
on why answering stopped (Rosenbaum and Rubin 1984, American Statistician 38:106). `benchmarks/price.py` and a test
measure the coverage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, expit, logsumexp

from overton.statistics.arrays import Floats, Ints

_Y = np.linspace(-9.0, 9.0, 41)
_KAPPA = np.geomspace(0.03, 300.0, 10)
_TAU = (0.25, 0.5, 1.0, 2.0, 5.0)
_JEFFREYS = np.sqrt(expit(_Y) * expit(-_Y)) / np.sqrt(expit(_Y) * expit(-_Y)).sum()
"""Jeffreys' density of a probability, on the logit scale."""
_PRIOR_THINGS = 2.0
_ROUNDS = 25
_KAPPA_QUANTILES = (1 / 6, 1 / 2, 5 / 6)
"""Kappa takes the values at these quantiles of its likelihood, each for an equal part of the draws."""
_TINY = 1e-300


def drawn_chances(successes: Ints, answers: Ints, signs: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Random draws of probabilities [draws, things, conditions, strata], given counts [things, conditions, strata].

    `signs` [things, strata, pulls] are the signs of label and position bias: +1 or -1, or 0 for no bias. For a stratum
    without answers, the draws depend on all other answers.
    """
    offset = signs @ _fit_pulls(successes, answers, signs)
    table = _log_likelihoods(successes, answers, offset)
    made = np.empty((draws, *successes.shape))
    kappas = np.sort(np.array(_kappa_places(table))[np.arange(draws) * len(_KAPPA_QUANTILES) // draws])
    for k in np.unique(kappas):
        part, likelihood = np.flatnonzero(kappas == k), table[..., k]
        scaled = np.exp(likelihood - likelihood.max(-1, keepdims=True))
        scaled = np.concatenate([np.ones_like(scaled[:, :1]), scaled], 1)  # the baseline comes first
        fits = [_fit_lean(scaled, tau) for tau in _TAU]
        known = np.array([fit.known for fit in fits])
        reached = np.exp(known - logsumexp(known)).cumsum()
        for fit, rows in zip(fits, np.split(part, np.rint(reached[:-1] * part.size).astype(int)), strict=True):
            about = expit(_Y[_draw_places(scaled, fit, rows.size, rng)[..., 1:]][..., None] + offset[:, None])
            alpha, beta = about * _KAPPA[k] + successes, (1 - about) * _KAPPA[k] + answers - successes
            made[rows] = rng.beta(alpha + _TINY, beta + _TINY)
    return made


def _fit_pulls(successes: Ints, answers: Ints, signs: Floats) -> Floats:
    """Label and position bias, in logits, by Newton's method; intercepts and biases have normal priors with standard
    deviations 3 and 1."""
    shift, pulls = np.zeros((*successes.shape[:2], 1)), np.zeros(signs.shape[-1])
    for _ in range(_ROUNDS):
        chance = expit(shift + (signs @ pulls)[:, None])
        error, weight = successes - answers * chance, answers * chance * (1 - chance)
        whole = weight.sum(-1) + 1 / 9
        slope = error.sum(-1) - shift[..., 0] / 9
        across = np.einsum("ics,isk->ick", weight, signs)
        steep = np.einsum("ics,isk,isl->kl", weight, signs, signs) + np.eye(len(pulls))
        steep -= np.einsum("ick,icl->kl", across / whole[..., None], across)
        pushed = np.einsum("ics,isk->k", error, signs) - pulls - np.einsum("ick,ic->k", across, slope / whole)
        step = np.linalg.solve(steep, pushed)
        pulls = pulls + np.clip(step, -1, 1)
        shift = shift + np.clip((slope - across @ step) / whole, -2, 2)[..., None]
    return pulls


def _log_likelihoods(successes: Ints, answers: Ints, offset: Floats) -> Floats:
    """The log likelihood of counts [things, conditions, Y, KAPPA]. It is computed only once for equal counts."""
    shape = successes.shape
    each = np.stack([successes, answers, np.broadcast_to(offset[:, None].round(9), shape)], -1)
    rows, which = np.unique(each.reshape(-1, 3), axis=0, return_inverse=True)
    x, n, moved = (rows[:, k, None] for k in range(3))
    up, down = expit(_Y + moved)[..., None] * _KAPPA, expit(-_Y - moved)[..., None] * _KAPPA
    table = betaln(x[..., None] + up, (n - x)[..., None] + down) - betaln(up, down)
    return np.asarray(table[which.reshape(shape)].sum(2))


def _kappa_places(table: Floats) -> list[int]:
    """The grid indices of kappa at the quantiles of its likelihood, which treats conditions as independent."""
    known = logsumexp(table + np.log(_JEFFREYS)[:, None], axis=2).sum((0, 1))
    reached = np.exp(known - logsumexp(known)).cumsum()
    return [int(np.searchsorted(reached, at).clip(max=len(_KAPPA) - 1)) for at in _KAPPA_QUANTILES]


class _Fit(NamedTuple):
    """G [Y], the probabilities of each condition given the baseline stance [conditions, stance, Y], and the log
    likelihood."""

    first: Floats
    further: Floats
    known: float


def _fit_lean(scaled: Floats, tau: float) -> _Fit:
    """G and the lines by EM, for likelihoods [things, 1 + conditions, Y] scaled to at most 1; the baseline stance is
    first."""
    things, conditions, _ = scaled.shape
    lines = np.tile([0.0, 1.0], (conditions - 1, 1))
    first = _JEFFREYS
    for _ in range(_ROUNDS):
        further = _condition_probabilities(lines, tau)
        belongs, said, _ = _lean_posterior(scaled, first, further)
        first = (belongs.sum(0) + _PRIOR_THINGS * _JEFFREYS) / (things + _PRIOR_THINGS)
        pairs = further * ((belongs / (said + _TINY)).transpose(0, 2, 1) @ scaled[:, 1:].swapaxes(0, 1))
        lines = _fit_lines(pairs)
    further = _condition_probabilities(lines, tau)
    return _Fit(first, further, _lean_posterior(scaled, first, further)[2])


def _lean_posterior(scaled: Floats, first: Floats, further: Floats) -> tuple[Floats, Floats, float]:
    """The posterior of baseline stances [things, Y], the likelihood of each stance by condition [conditions, things,
    Y], and the total log likelihood."""
    said = scaled[:, 1:].swapaxes(0, 1) @ further.swapaxes(1, 2)
    joint = first * scaled[:, 0] * said.prod(0) + _TINY
    whole = joint.sum(-1, keepdims=True)
    return joint / whole, said, float(np.log(whole).sum())


def _condition_probabilities(lines: Floats, tau: float) -> Floats:
    """The probability of each grid value of y_c, given each grid value of the baseline stance, for lines (a, b)
    [conditions, 2]."""
    shift, slope = lines[:, 0, None, None], lines[:, 1, None, None]
    density = np.exp(-((_Y - np.clip(shift + slope * _Y[:, None], _Y[0], _Y[-1])) ** 2) / (2 * tau**2))
    return np.asarray(density / density.sum(-1, keepdims=True))


def _fit_lines(pairs: Floats) -> Floats:
    """a and b of each condition [conditions, 2] by weighted least squares, including the prior's part. `pairs`
    [conditions, baseline stance, Y] has the weight of each pair of grid values."""
    weight, reached = pairs.sum(2), pairs @ _Y
    count, mean, square = weight.sum(1) + _PRIOR_THINGS, weight @ _Y, weight @ _Y**2 + _PRIOR_THINGS
    total, product = reached.sum(1), reached @ _Y + _PRIOR_THINGS
    apart = count * square - mean**2
    return np.stack([(square * total - mean * product) / apart, (count * product - mean * total) / apart], -1)


def _draw_places(scaled: Floats, fit: _Fit, draws: int, rng: np.random.Generator) -> Ints:
    """Draws of the grid indices of the baseline stance and each y_c [draws, things, 1 + conditions]."""
    belongs, _, _ = _lean_posterior(scaled, fit.first, fit.further)
    made = np.empty((draws, *scaled.shape[:2]), np.int64)
    made[..., 0] = _draw_index(np.broadcast_to(belongs.cumsum(-1), (draws, *belongs.shape)), rng)
    things = np.arange(len(scaled))
    for c, given in enumerate(fit.further, 1):
        reached = (given[None] * scaled[:, c, None, :]).cumsum(-1)
        made[..., c] = _draw_index(reached[things, made[..., 0]], rng)
    return made


def _draw_index(reached: Floats, rng: np.random.Generator) -> Ints:
    """The index at which cumulative sums along the last axis reach a random part of their total."""
    at = rng.random(reached.shape[:-1]) * reached[..., -1]
    return np.asarray(np.minimum((at[..., None] > reached).sum(-1), reached.shape[-1] - 1))
