"""Shares of stances in each configuration, as answered and corrected; and for a model, means and shares over issues.

Corrected shares have the pulls of letter and position set to zero. In one issue and configuration, the share of a
stance given to template t is modelled as

    share(t) = mu + family(t) + letter * L(t) + order * O(t)

with L(t) = +1 if A is the pro side, otherwise -1; O(t) = +1 if pro is named first, otherwise -1; and the effects of the
three template families (1, 4), (2, 5), (3, 6) adding up to zero: effects add on the scale of shares. `mu` is the
corrected share. All six templates together give it by weights alone: the mirrored pairs (2, 5) and (3, 6) average both
pulls away whatever their size, and family (1, 4), in which A is always pro, is corrected by the pull of the letter that
the other two show. With one mirrored pair it is the plain mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.estimate import ends_of
from overton.statistics.jackknife import DIFFERENCE, SHARE, Jackknife, Range
from overton.statistics.proportions import wilson_limits
from overton.studies.open_mindedness.measures.cells import PRO, AnswerCounts
from overton.studies.open_mindedness.measures.results import Shares
from overton.studies.open_mindedness.measures.weighed import between_prompts

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

    def known(self, issue: int, condition: str) -> bool:
        """Whether an issue has shares in a condition."""
        return condition in self.conditions and bool(
            np.isfinite(self.share[issue, self.conditions.index(condition), 0])
        )


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


def share_estimates(table: ShareTable, level: float, method: str) -> list[list[Shares | None]]:
    """The shares with Wilson intervals for the effective number of answers, by issue and condition."""
    low, high = wilson_limits(table.share, table.effective[..., None], level)
    rows = zip(table.share.tolist(), low.tolist(), high.tolist(), table.n.tolist(), strict=True)
    return [
        [
            Shares(*(Estimate(p, a, b, n, method, level) for p, a, b in zip(*limits, strict=True)))
            if not isnan(limits[0][PRO])
            else None
            for *limits, n in zip(*row, strict=True)
        ]
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


def mean_over_issues(issues: Iterable[Estimate], jackknife: Jackknife, reason: str, within: Range) -> Estimate:
    """The mean of the issues' values, which are `within` a range, with an interval over issues.

    For a single issue it is that issue's own, from its answers, and says so. `n` counts the issues that have a value;
    `reason` says why there is none.
    """
    known = [issue for issue in issues if not isnan(issue.value)]
    if not known:
        return not_computed(reason, level=jackknife.level)
    if len(known) == 1:
        estimate = known[0]
        return msgspec.structs.replace(estimate, n=1, method=f"{estimate.method}, of the one issue")
    return jackknife.mean([issue.value for issue in known], within)


def share_of_issues(flags: Sequence[bool | None], jackknife: Jackknife, reason: str) -> Estimate:
    """The share of issues that have a property, with Wilson's interval; None means that it is unknown for an issue."""
    known = [float(flag) for flag in flags if flag is not None]
    return jackknife.mean(known, SHARE) if known else not_computed(reason, level=jackknife.level)


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
