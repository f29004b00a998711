"""Shares with the pulls of letter and position set to zero.

In one issue and configuration the share of a stance given to template t is taken to be

    share(t) = mu + family(t) + letter * L(t) + order * O(t)

with L(t) = +1 where A is the pro side, else -1; O(t) = +1 where pro is named first, else -1; and the effects of the
three template families (1, 4), (2, 5), (3, 6) adding up to zero: effects add on the scale of shares. `mu` is the
corrected share. All six templates together give it by weights alone: the mirrored pairs (2, 5) and (3, 6) average
both pulls away whatever their size, and family (1, 4), in which A is always pro, is corrected by the pull of the letter
that the other two show. With one mirrored pair it is the plain mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIRST", "LETTER", "LETTER_AND_FIRST", "MARGINAL", "contrast", "contrasts", "corrected"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MARGINAL = (1.0, 0.0, 0.0)
LETTER = (0.0, 2.0, 0.0)
FIRST = (0.0, 0.0, 2.0)
LETTER_AND_FIRST = (0.0, 2.0, 2.0)
"""Combinations of mu, letter and order. Pulls are full differences (A instead of B), twice the model's effects."""

_FAMILY = np.array([0, 1, 2, 0, 1, 2])


def contrasts(letter: Ints, order: Ints, asked: NDArray[np.bool_], target: tuple[float, ...]) -> Floats:
    """For every issue and condition, the `contrast` of its templates; NaN where they cannot tell.

    `letter` and `order` are [issues, templates], `asked` and the result [issues, conditions, templates].
    """
    shape = asked.shape
    each = np.stack([np.broadcast_to(signs[:, None], shape) for signs in (letter, order)] + [asked], axis=-2)
    patterns, which = np.unique(each.reshape(-1, 3 * shape[-1]), axis=0, return_inverse=True)
    unknown = np.full(shape[-1], np.nan)
    split = (pattern.reshape(3, -1) for pattern in patterns)
    made = [contrast(signs, orders, present, target) for signs, orders, present in split]
    return np.stack([unknown if one is None else one for one in made])[which.ravel()].reshape(shape)


def contrast(letter: Ints, order: Ints, asked: Ints, target: tuple[float, ...]) -> Floats | None:
    """Weights of the templates' shares that give `target`, a combination of (mu, letter, order).

    `letter` and `order` hold +1 or -1 for each template, `asked` is true for those with answers. Of all unbiased
    weights these are the least-squares ones; None where the templates asked cannot tell.
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
    """Weighted sums of shares, made shares again: pro, con and other each within [0, 1], adding up to 1 (last axis)."""
    clipped = np.clip(weighted, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(clipped / clipped.sum(-1, keepdims=True))
