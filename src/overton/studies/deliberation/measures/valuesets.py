"""Sets of values as bits: how alike two are, and how often each value stands in many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overton.studies.deliberation.measures.parts import Part

__all__ = ["count_values", "counted", "jaccard"]

Array = NDArray[np.float64]
Ints = NDArray[np.integer]
Masks = NDArray[np.uint64]


def jaccard(first: Masks, second: Masks) -> Array:
    """|A and B| / |A or B| of sets in rows [N, W] (equation 1); NaN where both are empty."""
    shared = np.bitwise_count(first & second).sum(-1, dtype=np.int64)
    either = np.bitwise_count(first | second).sum(-1, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return np.asarray(shared / either)


def counted(part: Part, messages: Ints, dilemma: Ints) -> Array:
    """How many of the messages [N] of each dilemma use each value [dilemmas, values]; `dilemma` [N] ascends."""
    masks = part.talks.masks
    assert masks is not None
    return count_values(part, masks[messages], dilemma)


def count_values(part: Part, masks: Masks, dilemma: Ints) -> Array:
    """The same for sets in rows [N, W]."""
    talks = part.talks
    values = len(talks.values or ())
    made = np.zeros((len(talks.dilemmas), values))
    if not len(masks) or not values:
        return made
    octets = masks.astype("<u8", order="C").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=values, bitorder="little")
    begins = np.flatnonzero(np.r_[True, dilemma[1:] != dilemma[:-1]])
    made[dilemma[begins]] = np.add.reduceat(bits, begins, axis=0, dtype=np.int32)
    return made
