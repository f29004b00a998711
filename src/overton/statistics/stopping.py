"""Looking more than once, and means over strata of which some were asked more often.

Counts at which one looks grow geometrically, so that there are few of them. Limits of counted answers are exact and
divide the level among the looks. By the union bound all of them are valid together with the level's probability,
whichever is the last (Mnih, Szepesvari and Audibert 2008, "Empirical Bernstein stopping", ICML). Bonferroni's division
is the plainest alpha spending of Lan and DeMets (1983, Biometrika 70:659).

Limits of numbers with a standard error are repeated confidence intervals (Jennison and Turnbull 2000, "Group sequential
methods", chapter 9), equally wide in standard errors at each look (Pocock 1977, Biometrika 64:191). Later looks include
the answers of earlier ones, so their constant is smaller than that of a divided level: 2.49 standard errors for seven
looks at 95%, not 2.69.

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

from functools import lru_cache
from itertools import pairwise
from math import ceil, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincinv, betaln, chdtri, expit

from overton.statistics.arrays import Floats
from overton.statistics.proportions import quantile

GROWTH = 1.5
"""By what part one count exceeds the one before, at least."""


def looks(first: int, most: int) -> tuple[int, ...]:
    """The counts at which one looks: `first`, then each half as much again, rounded up, and `most` at the end."""
    found = [min(first, most)]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, ceil(found[-1] * GROWTH))))
    return tuple(found)


def most_looks(first: float, most: float, growth: float) -> int:
    """How often one can look if each count is `growth` times the one before, from `first` to `most`."""
    return 1 + max(0, ceil(log(most / first) / log(growth))) if 0 < first < most else 1


def divide_level(level: float, count: int) -> float:
    """The level at each of so many looks, so that all are valid together with `level`."""
    return 1 - (1 - level) / max(count, 1)


@lru_cache(maxsize=256)
def repeated_reach(level: float, information: tuple[float, ...]) -> float:
    """How many standard errors to either side make intervals at several looks valid together with `level`.

    `information` is what is known at each look, in any unit, such as numbers of answers; it grows. After equal steps
    this is Pocock's constant.

    Raises:
        ValueError: there is no look, information does not grow, or `level` is not between 0 and 1.
    """
    grows = all(0 < before < after for before, after in pairwise(information))
    if not information or information[0] <= 0 or not grows or not 0 < level < 1:
        raise ValueError(f"no constant for looks at {information} and level {level}")
    return float(
        brentq(lambda reach: _probability_within(reach, information) - level, quantile(level) - 1e-3, 10.0, xtol=1e-6)
    )


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def _probability_within(reach: float, information: tuple[float, ...]) -> float:
    """The probability that a random walk with a normal step of variance 1 per unit of information stays within `reach`
    standard deviations at each look (the recursion of Armitage, McPherson and Rowe 1969, JRSS A 132:235)."""
    at, weight, density, before = np.zeros(1), np.ones(1), np.ones(1), 0.0
    for now in information:
        wide, step = reach * sqrt(now), now - before
        places = wide * _NODES
        density = np.exp(-((places[:, None] - at) ** 2) / (2 * step)) @ (weight * density) / sqrt(2 * pi * step)
        at, weight, before = places, wide * _WEIGHTS, now
    return float(weight @ density)


def exact_limits(count: ArrayLike, n: ArrayLike, level: ArrayLike) -> tuple[Floats, Floats]:
    """Limits of Clopper and Pearson (1934) for `count` of `n` answers, broadcast together; 0 to 1 where `n` is 0.

    They are valid for answers of unequal chances too, whose number varies less than if all had the mean (Hoeffding
    1956).
    """
    x, size, cut = np.asarray(count, float), np.asarray(n, float), (1 - np.asarray(level, float)) / 2
    low = np.where(x > 0, betaincinv(np.maximum(x, 1e-9), size - x + 1, cut), 0.0)
    high = np.where(x < size, betaincinv(x + 1, np.maximum(size - x, 1e-9), 1 - cut), 1.0)
    return np.asarray(low), np.asarray(high)


_NU = np.geomspace(0.1, 300.0, 14)
"""How alike strata are: as if each had been asked this often before, uniform on the logarithm."""
_STRANGE = 0.2
"""The prior probability that a stratum is unlike the others."""
_LARGEST_LOGIT = 9.0
"""The largest logit of mu."""
_PLACES = 31
_CONTRACTIONS = 3
"""Logits of mu are evaluated at this many places, which are repeatedly contracted around the likely ones."""
_PHI_QUANTILES = (5 / 6, 1 / 2, 1 / 6)
"""The quantiles of phi's distribution whose values are used, each with equal weight."""
_PRIOR_PAIRS, _PRIOR_PHI = 1.0, 0.25
"""Answers that never differed still may: as if so many pairs of them had been seen to, with this phi."""
_FREEDOM = 0.5
"""The information of a difference about phi, relative to normal answers: bounded ones have long tails."""
_LEAST_PHI = 1e-3
_TINY = 1e-300


class StratumPosterior(NamedTuple):
    """The posterior of theta: its mean and variance, and how much of that rests on each stratum's own answers."""

    mean: float
    variance: float
    parts: Floats


def mean_of_strata(sums: Floats, counts: Floats, weights: Floats, within: Floats | None = None) -> StratumPosterior:
    """Theta from the sums x [strata] of n [strata] answers, each on [0, 1], and weights w.

    With `within`, the sums of squares [strata] about the strata's means, answers are numbers; without, yes or no. A
    stratum without answers is like the others. Nothing is drawn: the same input gives the same result.
    """
    phis = (1.0,) if within is None else _phi_values(sums, counts, within, weights)
    each = [_posterior_if_binomial(sums / phi, counts / phi, weights) for phi in phis]
    mean = float(np.mean([posterior.mean for posterior in each]))
    variance = float(np.mean([posterior.variance + (posterior.mean - mean) ** 2 for posterior in each]))
    return StratumPosterior(mean, variance, np.mean([posterior.parts for posterior in each], axis=0))


def _phi_values(sums: Floats, counts: Floats, within: Floats, weights: Floats) -> tuple[float, ...]:
    """Values of phi, equally likely.

    Strata differ in phi, so that each counts as its answers count in theta's variance, w^2 / n, with Satterthwaite's
    degrees of freedom (1946, Biometrics Bulletin 2:110). A stratum's own phi decides nothing: those whose first answers
    happen to agree would be asked no further, and stay where they agreed.
    """
    several = counts > 1
    n, mean, share = counts[several], sums[several] / counts[several], weights[several] ** 2 / counts[several]
    share = share / max(float(share.sum()), _TINY)
    own, phi = within[several] / (n - 1), _PRIOR_PHI
    unseen = _PRIOR_PAIRS / max(float((n - 1).sum()), _PRIOR_PAIRS)
    for _ in range(5):  # the spread that means allow is smaller by their own error
        allowed = mean * (1 - mean) / (1 - np.minimum(phi, 1.0) / np.maximum(n, 2.0))
        phi = (float(share @ own) + unseen * _PRIOR_PHI / 4) / (float(share @ allowed) + unseen / 4)
    parts = share * own
    freedom = _PRIOR_PAIRS
    if parts.any():
        freedom += _FREEDOM * float(parts.sum() ** 2 / max(float((parts**2 / (n - 1)).sum()), _TINY))
    return tuple(float(np.clip(phi * freedom / chdtri(freedom, 1 - at), _LEAST_PHI, 1.0)) for at in _PHI_QUANTILES)


def _posterior_if_binomial(x: Floats, n: Floats, weights: Floats) -> StratumPosterior:
    """Theta if phi is 1."""
    low, high = -_LARGEST_LOGIT, _LARGEST_LOGIT
    for _ in range(_CONTRACTIONS):
        logits = np.linspace(low, high, _PLACES)
        first, second = expit(logits)[:, None] * _NU, expit(-logits)[:, None] * _NU
        chance = _likelihood(first, second, x, n) * np.sqrt(expit(logits) * expit(-logits))[:, None]
        chance /= chance.sum()
        middle = float(chance.sum(1) @ logits)
        spread = float(np.sqrt(chance.sum(1) @ (logits - middle) ** 2))
        reach = max(5 * spread, float(logits[1] - logits[0]))
        low, high = max(middle - reach, -_LARGEST_LOGIT), min(middle + reach, _LARGEST_LOGIT)
    each, own = _stratum_moments(first, second, x, n)
    means, own = each @ weights, weights**2 * own
    mean = float((chance * means).sum())
    parts = np.einsum("uv,uva->a", chance, own)
    return StratumPosterior(mean, float(parts.sum() + (chance * (means - mean) ** 2).sum()), parts)


def _likelihood(first: Floats, second: Floats, x: Floats, n: Floats) -> Floats:
    """How likely the answers are at each place [logits of mu, NU], at most 1; strata with the same answers are computed
    once."""
    pairs, often = np.unique(np.stack([x, n], -1), axis=0, return_counts=True)
    alike, alone = _log_likelihoods(first, second, pairs[:, 0], pairs[:, 1])
    log = np.logaddexp(alike, alone) @ often
    return np.asarray(np.exp(log - log.max()))


def _log_likelihoods(first: Floats, second: Floats, x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The log likelihood of answers at each place [logits of mu, NU, strata]: for a stratum like the others, and for
    one that is not, each with its own prior probability."""
    alike = betaln(first[..., None] + x, second[..., None] + n - x) - betaln(first, second)[..., None]
    alone = betaln(0.5 + x, 0.5 + n - x) - betaln(0.5, 0.5)
    return np.log1p(-_STRANGE) + alike, np.log(_STRANGE) + alone


def _stratum_moments(first: Floats, second: Floats, x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The mean and variance of each stratum at each place [logits of mu, NU, strata]."""
    alike, alone = _log_likelihoods(first, second, x, n)
    strange = expit(alone - alike)
    like_mean, its_spread = _beta_moments(first[..., None] + x, second[..., None] + n - x)
    strange_mean, other_spread = _beta_moments(0.5 + x, 0.5 + n - x)
    mean = (1 - strange) * like_mean + strange * strange_mean
    return mean, (1 - strange) * its_spread + strange * (other_spread + (1 - strange) * (like_mean - strange_mean) ** 2)


def _beta_moments(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    total = alpha + beta
    return alpha / total, alpha * beta / (total**2 * (total + 1))
