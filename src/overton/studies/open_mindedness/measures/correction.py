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

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIRST", "LETTER", "LETTER_AND_FIRST", "MARGINAL", "contrast", "corrected"]

Floats = NDArray[np.float64]

MARGINAL = (1.0, 0.0, 0.0)
LETTER = (0.0, 2.0, 0.0)
FIRST = (0.0, 0.0, 2.0)
LETTER_AND_FIRST = (0.0, 2.0, 2.0)
"""Combinations of mu, letter and order. Pulls are full differences (A instead of B), twice the model's effects."""

_FAMILY = (0, 1, 2, 0, 1, 2)


class _Asked(NamedTuple):
    letter: tuple[int, ...]
    order: tuple[int, ...]
    asked: tuple[bool, ...]


def contrast(
    letter: NDArray[np.int64], order: NDArray[np.int64], asked: NDArray[np.bool_], target: tuple[float, ...]
) -> Floats | None:
    """Weights of the six templates' shares that give `target`, a combination of (mu, letter, order).

    `letter` and `order` hold +1 or -1 for each template, `asked` which templates have answers. Of all unbiased
    weights these are the least-squares ones; None where the templates asked cannot tell.
    """
    return _contrast(_Asked(tuple(letter.tolist()), tuple(order.tolist()), tuple(asked.tolist())), target)


@lru_cache(maxsize=4096)
def _contrast(templates: _Asked, target: tuple[float, ...]) -> Floats | None:
    rows = [t for t in range(len(templates.asked)) if templates.asked[t]]
    if not rows:
        return None
    families = sorted({_FAMILY[t] for t in rows})
    # Effects add up to zero over the families asked: all but the last are free, the last is minus their sum.
    design = np.array(
        [
            [1, templates.letter[t], templates.order[t]]
            + [(_FAMILY[t] == family) - (_FAMILY[t] == families[-1]) for family in families[:-1]]
            for t in rows
        ],
        float,
    )
    wanted = np.zeros(design.shape[1])
    wanted[:3] = target
    weights = wanted @ np.linalg.pinv(design)
    if not np.allclose(weights @ design, wanted, atol=1e-9):
        return None
    full = np.zeros(len(templates.asked))
    full[rows] = weights
    full.flags.writeable = False
    return full


def corrected(weighted: Floats) -> Floats:
    """Weighted sums of shares, made shares again: pro, con and other each within [0, 1], adding up to 1 (last axis)."""
    clipped = np.clip(weighted, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return clipped / clipped.sum(-1, keepdims=True)
