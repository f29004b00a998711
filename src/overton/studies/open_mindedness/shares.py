"""Proportions of stances in each configuration, uncorrected and corrected.

Corrected proportions have label and position bias set to zero. In one issue and configuration, the proportion of
a stance given to template t is modelled as

    share(t) = mu + family(t) + letter * L(t) + order * O(t)

where L(t) = +1 if A is the pro side, otherwise -1, and O(t) = +1 if pro is named first, otherwise -1. The effects of
the three template families (1, 4), (2, 5), (3, 6) sum to zero. The corrected proportion is `mu`, a weighted sum of the
six templates' proportions. In the mirrored pairs (2, 5) and (3, 6), label and position bias cancel. In family (1, 4), A
is always pro, so label bias does not cancel. Its estimate (d2 + d3) / 4 - d1 / 2 is subtracted. Here d1, d2 and d3 are
the families' differences, the first template minus the second. If only one mirrored pair was asked, the corrected
proportion is the pair's unweighted mean.

Proportions may also be means of token probabilities, whose variance depends on the differences between prompts. A cell,
which is an issue in a configuration, may have only two prompts. Its variance is therefore pooled with that of the other
cells. V is the variance of a stance that is sampled with the cell's mean probabilities. Over all cells, the variance
between prompts is this fraction of V:

    phi = (S + 0.04 * 2 * mean V) / (D + 2 * mean V)

S is the sum of squares within cells. D is the sum over cells of f * V, where a cell has f degrees of freedom. The prior
mean of phi is 0.04, which counts as two degrees of freedom. The variance of one cell is

    (s + k * phi * V) / (f + k)

where s is the cell's own sum of squares. The number of borrowed degrees of freedom k is at most 4. The interval uses
Student's t with f + k degrees of freedom.
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
"""Jeffreys' prior of one answer in each configuration, half pro and half con. Without it, the interval would have no
width if all answers agree."""

_SMALLEST_STRATUM = 5
"""If a template has fewer answers, its variance comes from the whole configuration (collapsed strata)."""


@dataclass(frozen=True)
class ShareTable:
    """One model's proportions of stances.

    conditions names of the conditions on the second axis
    share      proportions [issues, conditions, stance], NaN without answers
    n          numbers of answers [issues, conditions]
    effective  size of a simple random sample with the same precision (Kish's effective sample size). It is larger than
               `n` if templates differ, as in stratified sampling. It is smaller than `n` if a correction costs
               precision
    """

    conditions: tuple[str, ...]
    share: Floats
    n: Ints
    effective: Floats


def answered_shares(cells: AnswerCounts, model: int) -> ShareTable:
    """Proportions of all answers, pooled over wordings and templates."""
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
    """Proportions with label and position bias set to zero (see `contrast`); None without records."""
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
    """Sums over answers, rounded to whole numbers of answers. The probabilities of one answer sum to 1."""
    return np.asarray(np.rint(answers), np.int64)


def cell_variance(
    by_template: NDArray[Any], coefficients: Floats | None = None, products: Floats | None = None
) -> Floats:
    """Variance of each template's mean of `coefficients` @ (pro, con, other); infinite without answers.

    `by_template` is [..., templates, stance] and the result [..., templates]. Without coefficients, the result is the
    sum of the variances of the three proportions. If a template of a cell has fewer than `_SMALLEST_STRATUM` answers,
    all templates of the cell share the variance of the pooled proportions. If answers are probabilities, `products`
    [..., templates, stance, stance] has the sums of products of each answer's probabilities. The result is then the
    variance between answers, because no stance is sampled.
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
"""Proportions of pro, con and other among all answers."""


def share_estimates(table: ShareTable, level: float, method: str) -> list[list[StanceShares | None]]:
    """The proportions by issue and condition, None without answers. Wilson intervals use the effective sample size, and
    `n` counts answers."""
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
"""Combinations of mu, letter and order. Influences are full differences (A instead of B), so they are twice the model's
effects."""

_FAMILY = np.array([0, 1, 2, 0, 1, 2])


def contrasts(letter: Ints, order: Ints, asked: NDArray[np.bool_], target: tuple[float, ...]) -> Floats:
    """The `contrast` of templates for every issue and condition; NaN if the templates do not identify it.

    `letter` and `order` are [issues, templates]. `asked` and the result are [issues, conditions, templates].
    """
    shape = asked.shape
    each = np.stack([np.broadcast_to(signs[:, None], shape) for signs in (letter, order)] + [asked], axis=-2)
    patterns, which = np.unique(each.reshape(-1, 3 * shape[-1]), axis=0, return_inverse=True)
    unknown = np.full(shape[-1], np.nan)
    split = (pattern.reshape(3, -1) for pattern in patterns)
    made = [contrast(signs, orders, present, target) for signs, orders, present in split]
    return np.stack([unknown if weights is None else weights for weights in made])[which.ravel()].reshape(shape)


def contrast(letter: Ints, order: Ints, asked: Ints, target: tuple[float, ...]) -> Floats | None:
    """Weights of the templates' proportions whose sum gives `target`, a combination of (mu, letter, order).

    `letter` and `order` are +1 or -1 for each template, and `asked` is true for templates with answers. Of all unbiased
    weights, the result has the smallest sum of squares. None if the templates do not identify the target.
    """
    rows = np.flatnonzero(asked)
    if not rows.size:
        return None
    families = _FAMILY[rows]
    # Effects add up to zero over the families asked. So the last effect is minus the sum of the others.
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
    """Proportions from weighted sums of proportions. On the last axis, pro, con and other are clipped to [0, 1] and
    scaled to sum to 1."""
    clipped = np.clip(weighted, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(clipped / clipped.sum(-1, keepdims=True))


def difference(value: float, limits: Sequence[float], n: int, level: float) -> Estimate:
    """A difference of two proportions with Newcombe's limits."""
    return Estimate(value, limits[0], limits[1], n, "Newcombe", level)


def wald(
    value: float, error: float, n: int, level: float, method: str = "Wald", *, within: Range = DIFFERENCE
) -> Estimate:
    """A difference of proportions, or another number, with limits from its standard error, clipped to the range
    `within`."""
    half = float(ndtri((1 + level) / 2)) * error
    low, high = max(value - half, within[0]), min(value + half, within[1])
    return Estimate(value, low, high, n, method, level, within=ends_of(within))


_LENT = 4.0
"""The most degrees of freedom that a cell borrows from other cells. This is enough to stabilise two prompts, and little
in comparison with fifty.
"""
_DOUBT, _DOUBTED = 0.04, 2.0
"""The prior mean of phi, and the degrees of freedom that the prior is worth."""
_TAIL = 0.975


def between_prompts(by_template: NDArray[Any], coefficients: Floats | None, products: Floats) -> Floats:
    """Variance of each template's mean of `coefficients` @ (pro, con, other); see `cell_variance`.

    Each template of a cell has its own mean. If no template has two prompts, the variance between templates replaces
    the variance within templates. The interval is then too wide rather than too narrow.
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
    """V of each cell. Half a prompt is added for pro and for con, so that V is above 0."""
    sums = by_template.sum(-2) + np.array([0.5, 0.5, 0.0])
    chance = sums / sums.sum(-1, keepdims=True)
    if coefficients is None:
        return np.asarray(1 - (chance**2).sum(-1))
    each = coefficients if coefficients.ndim > 1 else coefficients[None]
    among = chance[..., None, :]
    return np.asarray(((among * each**2).sum(-1) - ((among * each).sum(-1)) ** 2).max(-1))


def _steadied(squares: Floats, freedom: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """Each cell's variance between prompts, pooled with other cells, and its degrees of freedom."""
    every = float((freedom * drawn).sum())
    worth = _DOUBTED * float(drawn.mean()) if drawn.size else 0.0
    share = (float(squares.sum()) + _DOUBT * worth) / max(every + worth, 1e-12)
    lent = np.minimum(_LENT, _DOUBTED + float(freedom.sum()) - freedom)
    return (squares + lent * share * drawn) / (freedom + lent), freedom + lent
