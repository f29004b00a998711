"""The mean over many strata of their expected answers, from few answers to each, more to some strata than to others.

Each stratum a (an item in a condition) has an expectation m_a on [0, 1]. Of its n_a answers, with the sum x_a,

    x_a / phi ~ Binomial(n_a / phi, m_a),    m_a ~ Beta(mu nu, (1 - mu) nu),    theta = sum over a of w_a m_a

or m_a ~ Beta(1/2, 1/2), for one stratum in five, so that one unlike all others is not treated as nearly like them.

phi is 1 if answers are yes or no, and below it if they are numbers that vary less: Var = phi m (1 - m), which no
answer on [0, 1] exceeds (Bhatia and Davis 2000, American Mathematical Monthly 107:353). It is estimated from how the
answers to one stratum differ. What few answers leave open about it is uncertainty, as is what few strata leave open
about mu and nu: all three are integrated over, with closed forms for all else (Gelman et al. 2013, Bayesian Data
Analysis, chapter 5).

Plain means of strata would lie where answering stopped because of what was seen: a stratum whose first two answers
agree is asked no further, and is 0 or 1 for good. Together, strata show how far such agreement goes, and a posterior
does not depend on why answering stopped (Rosenbaum and Rubin 1984, American Statistician 38:106). Strata have their
weights in a whole design, however often each was asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, chdtri, expit

__all__ = ["Known", "mean_of_strata"]

Floats = NDArray[np.float64]

_NU = np.geomspace(0.1, 300.0, 14)
"""How alike strata are: as if each had been asked this often before, uniform on the logarithm."""
_STRANGE = 0.2
"""The prior probability that a stratum is unlike the others."""
_FURTHEST = 9.0
"""The largest logit of mu."""
_PLACES = 31
_NARROWED = 3
"""Logits of mu are evaluated at this many places, which are repeatedly contracted around the likely ones."""
_AT = (5 / 6, 1 / 2, 1 / 6)
"""The quantiles of phi's distribution whose values are used, each with equal weight."""
_UNSEEN, _AS_IF = 1.0, 0.25
"""Answers that never differed still may: as if so many pairs of them had been seen to, with this phi."""
_FREEDOM = 0.5
"""What a difference says about phi, relative to normal answers: bounded ones have long tails."""
_LEAST = 1e-3
_TINY = 1e-300


class Known(NamedTuple):
    """What is known about theta: its mean and variance, and how much of that rests on each stratum's own answers."""

    mean: float
    variance: float
    parts: Floats


def mean_of_strata(sums: Floats, counts: Floats, weights: Floats, within: Floats | None = None) -> Known:
    """Theta from the sums x [strata] of n [strata] answers, each on [0, 1], and weights w.

    With `within`, the sums of squares [strata] about the strata's means, answers are numbers; without, yes or no. A
    stratum without answers is like the others. Nothing is drawn: the same input gives the same result.
    """
    phis = (1.0,) if within is None else _dispersions(sums, counts, within, weights)
    each = [_known(sums / phi, counts / phi, weights) for phi in phis]
    mean = float(np.mean([one.mean for one in each]))
    variance = float(np.mean([one.variance + (one.mean - mean) ** 2 for one in each]))
    return Known(mean, variance, np.mean([one.parts for one in each], axis=0))


def _dispersions(sums: Floats, counts: Floats, within: Floats, weights: Floats) -> tuple[float, ...]:
    """Values of phi, equally likely.

    Strata differ in phi, so that each counts as its answers count in theta's variance, w^2 / n, with Satterthwaite's
    degrees of freedom (1946, Biometrics Bulletin 2:110). A stratum's own phi decides nothing: those whose first answers
    happen to agree would be asked no further, and stay where they agreed.
    """
    several = counts > 1
    n, mean, share = counts[several], sums[several] / counts[several], weights[several] ** 2 / counts[several]
    share = share / max(float(share.sum()), _TINY)
    own, phi = within[several] / (n - 1), _AS_IF
    unseen = _UNSEEN / max(float((n - 1).sum()), _UNSEEN)
    for _ in range(5):  # the spread that means allow is smaller by their own error
        allowed = mean * (1 - mean) / (1 - np.minimum(phi, 1.0) / np.maximum(n, 2.0))
        phi = (float(share @ own) + unseen * _AS_IF / 4) / (float(share @ allowed) + unseen / 4)
    parts = share * own
    freedom = _UNSEEN
    if parts.any():
        freedom += _FREEDOM * float(parts.sum() ** 2 / max(float((parts**2 / (n - 1)).sum()), _TINY))
    return tuple(float(np.clip(phi * freedom / chdtri(freedom, 1 - at), _LEAST, 1.0)) for at in _AT)


def _known(x: Floats, n: Floats, weights: Floats) -> Known:
    """Theta if phi is 1."""
    low, high = -_FURTHEST, _FURTHEST
    for _ in range(_NARROWED):
        logits = np.linspace(low, high, _PLACES)
        first, second = expit(logits)[:, None] * _NU, expit(-logits)[:, None] * _NU
        chance = _likelihood(first, second, x, n) * np.sqrt(expit(logits) * expit(-logits))[:, None]
        chance /= chance.sum()
        middle = float(chance.sum(1) @ logits)
        spread = float(np.sqrt(chance.sum(1) @ (logits - middle) ** 2))
        reach = max(5 * spread, float(logits[1] - logits[0]))
        low, high = max(middle - reach, -_FURTHEST), min(middle + reach, _FURTHEST)
    each, own = _moments(first, second, x, n)
    means, own = each @ weights, weights**2 * own
    mean = float((chance * means).sum())
    parts = np.einsum("uv,uva->a", chance, own)
    return Known(mean, float(parts.sum() + (chance * (means - mean) ** 2).sum()), parts)


def _likelihood(first: Floats, second: Floats, x: Floats, n: Floats) -> Floats:
    """How likely the answers are at each place [logits of mu, NU], at most 1; strata with the same answers are computed
    once."""
    pairs, often = np.unique(np.stack([x, n], -1), axis=0, return_counts=True)
    alike, alone = _likelihoods(first, second, pairs[:, 0], pairs[:, 1])
    log = np.logaddexp(alike, alone) @ often
    return np.asarray(np.exp(log - log.max()))


def _likelihoods(first: Floats, second: Floats, x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The log likelihood of answers at each place [logits of mu, NU, strata]: for a stratum like the others, and for
    one that is not, each with its own prior probability."""
    alike = betaln(first[..., None] + x, second[..., None] + n - x) - betaln(first, second)[..., None]
    alone = betaln(0.5 + x, 0.5 + n - x) - betaln(0.5, 0.5)
    return np.log1p(-_STRANGE) + alike, np.log(_STRANGE) + alone


def _moments(first: Floats, second: Floats, x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The mean and variance of each stratum at each place [logits of mu, NU, strata]."""
    alike, alone = _likelihoods(first, second, x, n)
    strange = expit(alone - alike)
    one, its_spread = _beta(first[..., None] + x, second[..., None] + n - x)
    two, other_spread = _beta(0.5 + x, 0.5 + n - x)
    mean = (1 - strange) * one + strange * two
    return mean, (1 - strange) * its_spread + strange * (other_spread + (1 - strange) * (one - two) ** 2)


def _beta(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    total = alpha + beta
    return alpha / total, alpha * beta / (total**2 * (total + 1))
