"""Re-use that says nothing about a model: what drawing documents at random from a collection gives."""

from __future__ import annotations

import numpy as np

from overton.statistics.arrays import Floats, Ints
from overton.studies.stance_stability.measures.cells import how_many_different
from overton.studies.stance_stability.measures.documents import Pages

_NOTHING_LEFT = -60.0
"""Used for the logarithm of 0, so that sums stay finite."""


def pool_sizes(shown: Pages, conversation: Ints, topic: Ints) -> Ints:
    """For each conversation [N], how many different documents were shown in all conversations on its topic.

    `conversation` [T] is the index of each turn's conversation, `topic` [N] the code of each conversation's topic.
    """
    of = topic[conversation[shown.turn]]
    return how_many_different(shown.document, of, int(topic.max(initial=0)) + 1)[topic]


def expected_from_pool(count: Ints, size: Ints, place: Ints) -> Floats:
    """The expected term of equation 1 for each turn [T] if its documents are drawn at random from a pool.

    A turn draws `count` of `size` equally likely documents, without replacement and independently of other turns, so a
    document is new to it with the probability that no earlier turn j drew it, the product of 1 - count_j / size. NaN
    for a turn without documents. `place` is each turn's place in its conversation.
    """
    left = _logarithm_left(count, size)
    before = np.cumsum(left) - left
    start = np.maximum.accumulate(np.where(place == 0, np.arange(len(place)), 0))
    return np.where(count > 0, -np.expm1(before - before[start]), np.nan)


def expected_from_pages(shown: Pages, had: Ints, count: Ints, conversation: Ints) -> Floats:
    """The expected term for each turn [T] if it cites as many documents as it did, drawn at random from its own pages,
    of which there are `had`.

    The probability that a page of turn i was cited before is one minus the product, over the earlier turns j that also
    had it, of 1 - count_j / pages_j; the term is the mean over the turn's pages. NaN for a turn that cites nothing or
    had no page.
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


def _logarithm_left(count: Ints, size: Ints) -> Floats:
    """The logarithm of the share of `size` documents that are left when a turn draws `count` of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.log1p(-np.minimum(count, size) / np.maximum(size, 1))
    return np.maximum(left, _NOTHING_LEFT)
