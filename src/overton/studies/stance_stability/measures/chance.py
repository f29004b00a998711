"""Re-use that says nothing of a model: what drawing documents at random gives, from a collection of a size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overton.studies.stance_stability.measures.cells import how_many_different
from overton.studies.stance_stability.measures.documents import Pages

__all__ = ["expected_from_pages", "expected_from_pool", "pool_sizes"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_NOTHING_LEFT = -60.0
"""Stands for the logarithm of 0, so that sums stay numbers."""


def pool_sizes(shown: Pages, conversation: Ints, topic: Ints) -> Ints:
    """How many different documents any conversation on the topic of each conversation [N] was shown.

    `conversation` [T] is the number of each turn's conversation, `topic` [N] that of each conversation's topic.
    """
    of = topic[conversation[shown.turn]]
    return how_many_different(shown.document, of, int(topic.max(initial=0)) + 1)[topic]


def expected_from_pool(count: Ints, size: Ints, place: Ints) -> Array:
    """The expected term of equation 1 of each turn [T] whose documents are drawn at random from a pool.

    A turn draws `count` of `size` documents, all alike, without replacement and whatever others drew, so a document is
    new to it with the probability that no earlier turn j drew it, the product of 1 - count_j / size. NaN for a turn
    without documents. `place` is each turn's in its conversation.
    """
    left = _logarithm_left(count, size)
    before = np.cumsum(left) - left
    start = np.maximum.accumulate(np.where(place == 0, np.arange(len(place)), 0))
    return np.where(count > 0, -np.expm1(before - before[start]), np.nan)


def expected_from_pages(shown: Pages, had: Ints, count: Ints, conversation: Ints) -> Array:
    """The expected term of each turn [T] that cites as many documents as it did, drawn at random from its own pages, of
    which there are `had`.

    A page of turn i was cited before with one less the product, over the earlier turns j that had it too, of
    1 - count_j / pages_j; the term is the mean over the turn's pages. NaN for a turn that cites nothing or had no page.
    """
    left = _logarithm_left(count, had)[shown.turn]
    before = np.cumsum(left) - left
    place = np.arange(len(left))
    same = (np.diff(conversation[shown.turn]) == 0) & (np.diff(shown.document) == 0)
    first = np.maximum.accumulate(np.where(np.r_[True, ~same][: len(left)], place, 0))
    cited_before = -np.expm1(before - before[first])
    expected = np.bincount(shown.turn, cited_before, len(count))
    nothing = np.full(len(count), np.nan)
    return np.asarray(np.divide(expected, had, out=nothing, where=(count > 0) & (had > 0)))


def _logarithm_left(count: Ints, size: Ints) -> Array:
    """The logarithm of the share of `size` documents that a turn which draws `count` of them leaves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.log1p(-np.minimum(count, size) / np.maximum(size, 1))
    return np.maximum(left, _NOTHING_LEFT)
