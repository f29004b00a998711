"""Shares of stances in each configuration, as answered and corrected, and how many answers each is worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.proportions import wilson_limits
from overton.studies.open_mindedness.measures.analysis import Shares
from overton.studies.open_mindedness.measures.cells import PRO, Cells
from overton.studies.open_mindedness.measures.correction import MARGINAL, contrasts, corrected

__all__ = ["ShareTable", "answered_shares", "cell_variance", "corrected_shares", "share_estimates"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PRIOR = np.array([0.5, 0.5, 0.0])
"""One answer's worth of doubt in each configuration, half pro and half con (Jeffreys): without it, a configuration
whose answers all agree would have an interval of no width."""

_SMALLEST_STRATUM = 5
"""With fewer answers to a template, its variance is taken from the whole configuration (collapsed strata)."""


@dataclass(frozen=True)
class ShareTable:
    """One model's shares.

    conditions names of the second axis
    share      [issues, conditions, stance], NaN where there is none
    n          answers behind each [issues, conditions]
    effective  size of a simple random sample that would be as precise (Kish's effective sample size): more than `n`
               where templates differ, since each is asked equally often; less where a correction costs precision
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


def answered_shares(cells: Cells, model: int) -> ShareTable:
    """Shares of all answers, wordings and templates pooled."""
    answers = cells.answers[model]
    n = answers.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = answers / n[..., None]
    if cells.design is None:
        return ShareTable(cells.conditions, share, n, n.astype(float))
    by_template = cells.design.cells[model].sum((3, 4))
    sizes = by_template.sum(-1)
    weights = sizes / np.maximum(n, 1)[..., None]
    return ShareTable(cells.conditions, share, n, _effective(share, n, weights, by_template))


def corrected_shares(cells: Cells, model: int) -> ShareTable | None:
    """Shares with the pulls of letter and position set to zero (see `correction`); None without records."""
    if cells.design is None:
        return None
    by_template = cells.design.cells[model].sum((3, 4))
    n, sizes = by_template.sum((-1, -2)), by_template.sum(-1)
    weights = contrasts(cells.design.letter[model], cells.design.order[model], sizes > 0, MARGINAL)
    shares = by_template / np.maximum(sizes, 1)[..., None]
    share = corrected(np.einsum("ict,icts->ics", weights, shares))
    return ShareTable(cells.conditions, share, n, _effective(share, n, weights, by_template))


def cell_variance(by_template: Ints, coefficients: Floats | None = None) -> Floats:
    """Variance of each template's mean of `coefficients` @ (pro, con, other), infinite where there is no answer.

    `by_template` is [..., templates, stance] and the result [..., templates]. Without coefficients, the sum of the
    variances of the three shares.
    """
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


def _effective(share: Floats, n: Ints, weights: Floats, by_template: Ints) -> Floats:
    prior = (share * n[..., None] + _PRIOR) / (n + 1)[..., None]
    simple = (prior * (1 - prior)).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        actual = np.where(weights == 0, 0.0, weights**2 * cell_variance(by_template)).sum(-1)
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
