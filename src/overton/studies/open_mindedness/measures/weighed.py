"""The variance of shares that are means of token probabilities: how much prompts differ, from few prompts in each cell.

A cell is an issue in a configuration. If it has two prompts, their own spread says next to nothing about what others
would give, and a normal interval from it covers the truth seven times in ten. So cells learn from each other. With V
the variance that drawing one stance by the cell's mean probabilities would have, prompts of all cells spread by

    phi = (sum of squares within cells + 2 * 0.04 / V0) / (their degrees of freedom * V + 2),

a share of V (0 if all prompts agree, 1 if each is sure of one stance), with two prompts' worth of doubt around a fifth
squared. A cell's own sum of squares with f degrees of freedom is pooled with up to four of phi * V, and its variance is
that of Student's t with as many degrees of freedom in all: it is widened by the squared ratio of the two distributions'
quantiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from overton.statistics.arrays import Floats

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
