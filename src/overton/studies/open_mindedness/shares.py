"""Shares of stances in each configuration, as answered and corrected.

Corrected shares have the pulls of letter and position set to zero. In one issue and configuration, the share of a
stance given to template t is modelled as

    share(t) = mu + family(t) + letter * L(t) + order * O(t)

with L(t) = +1 if A is the pro side, otherwise -1; O(t) = +1 if pro is named first, otherwise -1; and the effects of the
three template families (1, 4), (2, 5), (3, 6) adding up to zero: effects add on the scale of shares. `mu` is the
corrected share. All six templates together give it by weights alone: the mirrored pairs (2, 5) and (3, 6) average both
pulls away whatever their size, and family (1, 4), in which A is always pro, is corrected by the pull of the letter that
the other two show. With one mirrored pair it is the plain mean.

Shares that are means of token probabilities have the variance of these: how much prompts differ, from few prompts in
each cell, an issue in a configuration. If it has two prompts, their own spread says next to nothing about what others
would give, and a normal interval from it covers the truth seven times in ten. So cells learn from each other. With V
the variance that drawing one stance by the cell's mean probabilities would have, prompts of all cells spread by

    phi = (sum of squares within cells + 2 * 0.04 / V0) / (their degrees of freedom * V + 2),

a share of V (0 if all prompts agree, 1 if each is sure of one stance), with two prompts' worth of doubt around a fifth
squared. A cell's own sum of squares with f degrees of freedom is pooled with up to four of phi * V, and its variance is
that of Student's t with as many degrees of freedom in all: it is widened by the squared ratio of the two distributions'
quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from overton.statistics import Estimate
from overton.statistics.arrays import Floats, Ints
from overton.statistics.estimate import DIFFERENCE, Range, ends_of
from overton.statistics.proportions import wilson_limits
from overton.studies.open_mindedness.answer_counts import PRO, AnswerCounts

_PRIOR = np.array([0.5, 0.5, 0.0])
"""One answer's worth of doubt in each configuration, half pro and half con (Jeffreys): without it, a configuration
whose answers all agree would have an interval of no width."""

_SMALLEST_STRATUM = 5
"""With fewer answers to a template, its variance is taken from the whole configuration (collapsed strata)."""


@dataclass(frozen=True)
class ShareTable:
    """One model's shares.

    conditions names of the second axis
    share      [issues, conditions, stance], NaN if there is none
    n          answers behind each [issues, conditions]
    effective  size of a simple random sample that would be as precise (Kish's effective sample size): more than `n`
               if templates differ, since each is asked equally often; less if a correction costs precision
    """

    conditions: tuple[str, ...]
    share: Floats
    n: Ints
    effective: Floats


def answered_shares(cells: AnswerCounts, model: int) -> ShareTable:
    """Shares of all answers, wordings and templates pooled."""
    answers = cells.answers[model]
    n = whole(answers.sum(-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = answers / n[..., None]
    if cells.design is None:
        return ShareTable(cells.conditions, share, n, n.astype(float))
    by_template = cells.design.by_template(model)
    sizes = whole(by_template.sum(-1))
    weights = sizes / np.maximum(n, 1)[..., None]
    variance = cell_variance(by_template, products=cells.design.products(model))
    return ShareTable(cells.conditions, share, n, _effective(share, n, weights, variance))


def corrected_shares(cells: AnswerCounts, model: int) -> ShareTable | None:
    """Shares with the pulls of letter and position set to zero (see `correction`); None without records."""
    if cells.design is None:
        return None
    by_template = cells.design.by_template(model)
    sizes = whole(by_template.sum(-1))
    n = sizes.sum(-1)
    weights = contrasts(cells.design.letter[model], cells.design.order[model], sizes > 0, MARGINAL)
    shares = by_template / np.maximum(sizes, 1)[..., None]
    share = corrected(np.einsum("ict,icts->ics", weights, shares))
    variance = cell_variance(by_template, products=cells.design.products(model))
    return ShareTable(cells.conditions, share, n, _effective(share, n, weights, variance))


def whole(answers: NDArray[Any]) -> Ints:
    """How many answers there are; each gives 1 in all, by counting or by its probabilities."""
    return np.asarray(np.rint(answers), np.int64)


def cell_variance(
    by_template: NDArray[Any], coefficients: Floats | None = None, products: Floats | None = None
) -> Floats:
    """Variance of each template's mean of `coefficients` @ (pro, con, other), infinite if there is no answer.

    `by_template` is [..., templates, stance] and the result [..., templates]. Without coefficients, the sum of the
    variances of the three shares. Answers that are probabilities have `products` [..., templates, stance, stance], sums
    of the products of one answer's: their variance is that between answers, not that of drawing a stance.
    """
    if products is not None:
        return between_prompts(by_template, coefficients, products)
    sizes = by_template.sum(-1)
    total = sizes.sum(-1, keepdims=True)
    part = sizes / np.maximum(total, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = (by_template + part[..., None] * _PRIOR) / (sizes + part)[..., None]
        pooled = (by_template.sum(-2) + _PRIOR) / (total + 1)
        small = ((sizes > 0) & (sizes < _SMALLEST_STRATUM)).any(-1, keepdims=True)
        chance = np.where(small[..., None], pooled[..., None, :], own)
        if coefficients is None:
            spread = 1 - (chance**2).sum(-1)
        else:
            spread = (chance * coefficients**2).sum(-1) - ((chance * coefficients).sum(-1)) ** 2
        freedom = np.where(small, sizes * np.maximum(total - 1, 1) / np.maximum(total, 1), sizes - 1)
        return np.where(sizes > 0, spread / freedom, np.inf)


def _effective(share: Floats, n: Ints, weights: Floats, variance: Floats) -> Floats:
    prior = (share * n[..., None] + _PRIOR) / (n + 1)[..., None]
    simple = (prior * (1 - prior)).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        actual = np.where(weights == 0, 0.0, weights**2 * variance).sum(-1)
        return np.asarray(np.where(n > 0, simple / actual, 0.0))


StanceShares: TypeAlias = tuple[Estimate, Estimate, Estimate]
"""Shares of pro, con and other among all answers."""


def share_estimates(table: ShareTable, level: float, method: str) -> list[list[StanceShares | None]]:
    """The shares with Wilson intervals for the effective number of answers, by issue and condition; `n` counts
    answers."""
    low, high = wilson_limits(table.share, table.effective[..., None], level)
    rows = zip(table.share.tolist(), low.tolist(), high.tolist(), table.n.tolist(), strict=True)

    def estimates(limits: list[list[float]], n: int) -> StanceShares:
        pro, con, other = (Estimate(p, a, b, n, method, level) for p, a, b in zip(*limits, strict=True))
        return pro, con, other

    return [
        [None if isnan(limits[0][PRO]) else estimates(limits, n) for *limits, n in zip(*row, strict=True)]
        for row in rows
    ]


MARGINAL = (1.0, 0.0, 0.0)
LETTER = (0.0, 2.0, 0.0)
FIRST = (0.0, 0.0, 2.0)
LETTER_AND_FIRST = (0.0, 2.0, 2.0)
"""Combinations of mu, letter and order. Pulls are full differences (A instead of B), twice the model's effects."""

_FAMILY = np.array([0, 1, 2, 0, 1, 2])


def contrasts(letter: Ints, order: Ints, asked: NDArray[np.bool_], target: tuple[float, ...]) -> Floats:
    """For every issue and condition, the `contrast` of its templates; NaN if they do not identify it.

    `letter` and `order` are [issues, templates], `asked` and the result [issues, conditions, templates].
    """
    shape = asked.shape
    each = np.stack([np.broadcast_to(signs[:, None], shape) for signs in (letter, order)] + [asked], axis=-2)
    patterns, which = np.unique(each.reshape(-1, 3 * shape[-1]), axis=0, return_inverse=True)
    unknown = np.full(shape[-1], np.nan)
    split = (pattern.reshape(3, -1) for pattern in patterns)
    made = [contrast(signs, orders, present, target) for signs, orders, present in split]
    return np.stack([unknown if weights is None else weights for weights in made])[which.ravel()].reshape(shape)


def contrast(letter: Ints, order: Ints, asked: Ints, target: tuple[float, ...]) -> Floats | None:
    """Weights of the templates' shares that give `target`, a combination of (mu, letter, order).

    `letter` and `order` are +1 or -1 for each template, `asked` is true for those with answers. Of all unbiased weights
    these are the least-squares ones; None if the templates asked do not identify the target.
    """
    rows = np.flatnonzero(asked)
    if not rows.size:
        return None
    families = _FAMILY[rows]
    # Effects add up to zero over the families asked: all but the last are free, the last is minus their sum.
    known = np.unique(families)
    effects = (families[:, None] == known[None, :-1]).astype(float) - (families == known[-1])[:, None]
    design = np.column_stack([np.ones(rows.size), letter[rows], order[rows], effects])
    wanted = np.zeros(design.shape[1])
    wanted[:3] = target
    weights = wanted @ np.linalg.pinv(design)
    if not np.allclose(weights @ design, wanted, atol=1e-9):
        return None
    full = np.zeros(len(asked))
    full[rows] = weights
    return full


def corrected(weighted: Floats) -> Floats:
    """Weighted sums of shares, turned into shares: pro, con and other each within [0, 1], adding up to 1 (last
    axis)."""
    clipped = np.clip(weighted, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(clipped / clipped.sum(-1, keepdims=True))


def difference(value: float, limits: Sequence[float], n: int, level: float) -> Estimate:
    """A difference of two shares with Newcombe's limits."""
    return Estimate(value, limits[0], limits[1], n, "Newcombe", level)


def wald(
    value: float, error: float, n: int, level: float, method: str = "Wald", *, within: Range = DIFFERENCE
) -> Estimate:
    """A difference of shares, or another number `within` a range, with the limits that its standard error gives."""
    half = float(ndtri((1 + level) / 2)) * error
    low, high = max(value - half, within[0]), min(value + half, within[1])
    return Estimate(value, low, high, n, method, level, within=ends_of(within))


_LENT = 4.0
"""The most degrees of freedom that a cell borrows from others: enough to steady two prompts, few beside fifty."""
_DOUBT, _DOUBTED = 0.04, 2.0
"""The prior of the share of V, and how many degrees of freedom it is worth."""
_TAIL = 0.975


def between_prompts(by_template: NDArray[Any], coefficients: Floats | None, products: Floats) -> Floats:
    """Variance of each template's mean of `coefficients` @ (pro, con, other); see `shares.cell_variance`.

    Templates of a cell have means of their own; if none has two prompts, the spread between templates is taken, which
    is too wide rather than too narrow.
    """
    sizes = np.rint(by_template.sum(-1))
    combined = np.eye(3) if coefficients is None else coefficients[..., None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = by_template / np.maximum(sizes, 1)[..., None]
        own = products - np.einsum("...,...s,...u->...su", sizes, mean, mean)
        scatter = np.maximum(np.einsum("...ks,...su,...ku->...", combined, own, combined), 0.0)
        about = np.einsum("...ks,...s->...k", combined, mean)
        total = sizes.sum(-1)
        middle = (about * sizes[..., None]).sum(-2, keepdims=True) / np.maximum(total, 1)[..., None, None]
        apart = (((about - middle) ** 2).sum(-1) * (sizes > 0)).sum(-1)
        free = np.maximum(sizes - 1, 0).sum(-1)
        freedom = np.where(free > 0, free, np.maximum((sizes > 0).sum(-1) - 1, 0))
        squares = np.where(free > 0, scatter.sum(-1), apart)
        spread, known = _steadied(squares, freedom, _drawn(by_template, coefficients))
        wider = (stdtrit(np.maximum(known, 1), _TAIL) / ndtri(_TAIL)) ** 2
        return np.where(sizes > 0, (spread * wider)[..., None] / np.maximum(sizes, 1), np.inf)


def _drawn(by_template: NDArray[Any], coefficients: Floats | None) -> Floats:
    """V of each cell, with half a prompt added for pro and for con, so that no cell counts as certain."""
    sums = by_template.sum(-2) + np.array([0.5, 0.5, 0.0])
    chance = sums / sums.sum(-1, keepdims=True)
    if coefficients is None:
        return np.asarray(1 - (chance**2).sum(-1))
    each = coefficients if coefficients.ndim > 1 else coefficients[None]
    among = chance[..., None, :]
    return np.asarray(((among * each**2).sum(-1) - ((among * each).sum(-1)) ** 2).max(-1))


def _steadied(squares: Floats, freedom: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """Each cell's variance between prompts, and its degrees of freedom."""
    every = float((freedom * drawn).sum())
    worth = _DOUBTED * float(drawn.mean()) if drawn.size else 0.0
    share = (float(squares.sum()) + _DOUBT * worth) / max(every + worth, 1e-12)
    lent = np.minimum(_LENT, _DOUBTED + float(freedom.sum()) - freedom)
    return (squares + lent * share * drawn) / (freedom + lent), freedom + lent
