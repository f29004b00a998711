"""Interim analyses of running means, and means over strata with unequal numbers of answers.

Interim analyses take place at geometrically growing counts, so that there are few of them. Limits of proportions are
exact, and the level is divided among the analyses. By the union bound all limits are valid jointly at that level,
whichever analysis is the last (Mnih, Szepesvari and Audibert 2008, "Empirical Bernstein stopping", ICML). Bonferroni's
division is the simplest alpha spending of Lan and DeMets (1983, Biometrika 70:659).

Limits of numbers with a standard error are repeated confidence intervals (Jennison and Turnbull 2000, "Group sequential
methods", chapter 9). These are equally wide in standard errors at each analysis (Pocock 1977, Biometrika 64:191). Later
analyses include the answers of earlier ones, so limits are nearer to the estimate than with a divided level. For seven
analyses at 95%, their distance is 2.49 instead of 2.69 standard errors.

Each stratum a (an item in a condition) has an expectation m_a on [0, 1], and n_a answers with the sum x_a. The model is

    x_a / phi ~ Binomial(n_a / phi, m_a),    m_a ~ Beta(mu nu, (1 - mu) nu),    theta = sum over a of w_a m_a

With the probability 1/5, a stratum has the prior m_a ~ Beta(1/2, 1/2) instead. A stratum unlike all others is then not
shrunk too close to them.

The variance of an answer is phi m (1 - m). phi is 1 if answers are yes or no, and smaller if they are numbers that vary
less. It cannot exceed 1 for answers on [0, 1] (Bhatia and Davis 2000, American Mathematical Monthly 107:353). It is
estimated from differences between answers to one stratum. With few answers phi is uncertain, and with few strata mu and
nu are uncertain. So phi, mu and nu are integrated out, with closed forms for everything else (Gelman et al. 2013,
Bayesian Data Analysis, chapter 5).

Plain means of strata would be biased, because the answers decided when to stop. If the first two answers of a stratum
agree, the stratum gets no further answers, and its mean stays at 0 or 1. Pooling over strata shows how reliable such
agreement is, and a posterior does not depend on why answering stopped (Rosenbaum and Rubin 1984, American Statistician
38:106). A stratum keeps its weight in the whole design, whatever its number of answers.
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
"""The ratio of each count to the one before, except for rounding and for the last count."""


def looks(first: int, most: int) -> tuple[int, ...]:
    """The counts at which interim analyses take place: `first`, then always 1.5 times the count before (rounded up),
    and finally `most`."""
    found = [min(first, most)]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, ceil(found[-1] * GROWTH))))
    return tuple(found)


def most_looks(first: float, most: float, growth: float) -> int:
    """The maximum number of interim analyses if each count is `growth` times the one before, from `first` to `most`."""
    return 1 + max(0, ceil(log(most / first) / log(growth))) if 0 < first < most else 1


def divide_level(level: float, count: int) -> float:
    """The level to use at each of `count` interim analyses, so that all limits hold jointly at `level`."""
    return 1 - (1 - level) / max(count, 1)


@lru_cache(maxsize=256)
def repeated_reach(level: float, information: tuple[float, ...]) -> float:
    """The number of standard errors from the estimate to each limit, so that intervals at several interim analyses are
    jointly valid at `level`.

    `information` is the information at each analysis, in any unit, such as numbers of answers. It must grow. With equal
    steps the result is Pocock's constant.

    Raises:
        ValueError: there is no analysis, information does not grow, or `level` is not between 0 and 1.
    """
    grows = all(0 < before < after for before, after in pairwise(information))
    if not information or information[0] <= 0 or not grows or not 0 < level < 1:
        raise ValueError(f"no constant for information {information} and level {level}")
    return float(
        brentq(lambda reach: _probability_within(reach, information) - level, quantile(level) - 1e-3, 10.0, xtol=1e-6)
    )


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def _probability_within(reach: float, information: tuple[float, ...]) -> float:
    """The probability that a random walk with a normal step of variance 1 per unit of information stays within `reach`
    standard deviations at each analysis (the recursion of Armitage, McPherson and Rowe 1969, JRSS A 132:235)."""
    at, weight, density, before = np.zeros(1), np.ones(1), np.ones(1), 0.0
    for now in information:
        wide, step = reach * sqrt(now), now - before
        places = wide * _NODES
        density = np.exp(-((places[:, None] - at) ** 2) / (2 * step)) @ (weight * density) / sqrt(2 * pi * step)
        at, weight, before = places, wide * _WEIGHTS, now
    return float(weight @ density)


def exact_limits(count: ArrayLike, n: ArrayLike, level: ArrayLike) -> tuple[Floats, Floats]:
    """Limits of Clopper and Pearson (1934) for `count` of `n` answers, broadcast together; 0 to 1 where `n` is 0.

    The limits are also valid if answers have unequal probabilities, because the count then varies less than with equal
    probabilities (Hoeffding 1956).
    """
    x, size, cut = np.asarray(count, float), np.asarray(n, float), (1 - np.asarray(level, float)) / 2
    low = np.where(x > 0, betaincinv(np.maximum(x, 1e-9), size - x + 1, cut), 0.0)
    high = np.where(x < size, betaincinv(x + 1, np.maximum(size - x, 1e-9), 1 - cut), 1.0)
    return np.asarray(low), np.asarray(high)


_NU = np.geomspace(0.1, 300.0, 14)
"""Grid values of nu, the similarity of strata, in numbers of earlier answers. The prior is uniform on its logarithm."""
_STRANGE = 0.2
"""The prior probability that a stratum is unlike the others."""
_LARGEST_LOGIT = 9.0
"""The largest logit of mu."""
_PLACES = 31
_CONTRACTIONS = 3
"""Logits of mu are evaluated on a grid of `_PLACES` points, `_CONTRACTIONS` times. After each time, the grid is
contracted around the likely values."""
_PHI_QUANTILES = (5 / 6, 1 / 2, 1 / 6)
"""phi takes the values at these quantiles of its distribution, with equal weights."""
_PRIOR_PAIRS, _PRIOR_PHI = 1.0, 0.25
"""Answers that never differed may still do so later. The prior is worth this many observed pairs of answers with this
phi."""
_FREEDOM = 0.5
"""The information about phi in a difference between two answers, relative to normal answers. It is below 1, because
differences of bounded answers have long tails."""
_LEAST_PHI = 1e-3
_TINY = 1e-300


class StratumPosterior(NamedTuple):
    """The posterior of the weighted mean theta: its mean and variance, and the part of the variance due to each
    stratum's own answers."""

    mean: float
    variance: float
    parts: Floats


def mean_of_strata(sums: Floats, counts: Floats, weights: Floats, within: Floats | None = None) -> StratumPosterior:
    """The posterior of theta, the weighted mean of the strata's expectations.

    Each stratum has n answers on [0, 1] with the sum x, and the weight w (`counts`, `sums`, `weights` [strata]).
    `within` [strata] has sums of squares about the strata's means if answers are numbers. It is None if answers are yes
    or no. A stratum without answers is assumed to be like the others. Nothing is random: the same input gives the same
    result.
    """
    phis = (1.0,) if within is None else _phi_values(sums, counts, within, weights)
    each = [_posterior_if_binomial(sums / phi, counts / phi, weights) for phi in phis]
    mean = float(np.mean([posterior.mean for posterior in each]))
    variance = float(np.mean([posterior.variance + (posterior.mean - mean) ** 2 for posterior in each]))
    return StratumPosterior(mean, variance, np.mean([posterior.parts for posterior in each], axis=0))


def _phi_values(sums: Floats, counts: Floats, within: Floats, weights: Floats) -> tuple[float, ...]:
    """Equally likely values of phi.

    All strata share one estimate of phi. With its own phi, a stratum whose first answers happen to agree would get no
    further answers, and its mean would stay at 0 or 1. The true phi can differ between strata, so the estimate weights
    each stratum by its weight in theta's variance, w^2 / n. The estimate has Satterthwaite's degrees of freedom (1946,
    Biometrics Bulletin 2:110).
    """
    several = counts > 1
    n, mean, share = counts[several], sums[several] / counts[several], weights[several] ** 2 / counts[several]
    share = share / max(float(share.sum()), _TINY)
    own, phi = within[several] / (n - 1), _PRIOR_PHI
    unseen = _PRIOR_PAIRS / max(float((n - 1).sum()), _PRIOR_PAIRS)
    for _ in range(5):  # on average, m (1 - m) is too small for an estimated mean m, so correct it
        allowed = mean * (1 - mean) / (1 - np.minimum(phi, 1.0) / np.maximum(n, 2.0))
        phi = (float(share @ own) + unseen * _PRIOR_PHI / 4) / (float(share @ allowed) + unseen / 4)
    parts = share * own
    freedom = _PRIOR_PAIRS
    if parts.any():
        freedom += _FREEDOM * float(parts.sum() ** 2 / max(float((parts**2 / (n - 1)).sum()), _TINY))
    return tuple(float(np.clip(phi * freedom / chdtri(freedom, 1 - at), _LEAST_PHI, 1.0)) for at in _PHI_QUANTILES)


def _posterior_if_binomial(x: Floats, n: Floats, weights: Floats) -> StratumPosterior:
    """The posterior of theta if phi is 1."""
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
    """The likelihood of all answers at each grid point [logits of mu, NU], scaled to at most 1. Strata with the same
    answers are computed once."""
    pairs, often = np.unique(np.stack([x, n], -1), axis=0, return_counts=True)
    alike, alone = _log_likelihoods(first, second, pairs[:, 0], pairs[:, 1])
    log = np.logaddexp(alike, alone) @ often
    return np.asarray(np.exp(log - log.max()))


def _log_likelihoods(first: Floats, second: Floats, x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The log likelihood of answers at each grid point [logits of mu, NU, strata]. It is computed for a stratum like
    the others and for a stratum unlike them, and includes the prior probability of each case."""
    alike = betaln(first[..., None] + x, second[..., None] + n - x) - betaln(first, second)[..., None]
    alone = betaln(0.5 + x, 0.5 + n - x) - betaln(0.5, 0.5)
    return np.log1p(-_STRANGE) + alike, np.log(_STRANGE) + alone


def _stratum_moments(first: Floats, second: Floats, x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The mean and variance of each stratum at each grid point [logits of mu, NU, strata]."""
    alike, alone = _log_likelihoods(first, second, x, n)
    strange = expit(alone - alike)
    like_mean, its_spread = _beta_moments(first[..., None] + x, second[..., None] + n - x)
    strange_mean, other_spread = _beta_moments(0.5 + x, 0.5 + n - x)
    mean = (1 - strange) * like_mean + strange * strange_mean
    return mean, (1 - strange) * its_spread + strange * (other_spread + (1 - strange) * (like_mean - strange_mean) ** 2)


def _beta_moments(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    total = alpha + beta
    return alpha / total, alpha * beta / (total**2 * (total + 1))
