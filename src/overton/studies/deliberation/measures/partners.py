"""Values shared with one's partners and taken over from them, and the same with partners drawn at random: what to
expect by chance if nobody heard anybody (section 4.2 has no baseline).

A discussion then counts twice: for what its agents say, and for what is said of it where it lends a partner. Its
numerator holds both, the second as the deviation from the borrowers' means, so that leaving a dilemma out takes away
both (a U-statistic's projection; Hoeffding 1948, Ann. Math. Stat. 19:293) and all sums stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import AnyInts, Flags, Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.studies.deliberation.measures.parts import summed
from overton.studies.deliberation.measures.talks import Deliberations

Masks = NDArray[np.uint64]

DEALS = 50
"""Partners drawn for each agent, each from a discussion of another dilemma in the same setting."""


def similarity(talks: Deliberations, rng: np.random.Generator | None = None) -> ClusterSums:
    """By dilemma, the sum of the Jaccard similarities of all pairs of agents' values in their last messages, and the
    number of pairs.

    With `rng` the second agent of each pair is the one in its seat in other discussions, and the similarity is the mean
    over these.
    """
    masks, known = _sets(talks)
    last = _last(talks)
    found: list[_Dealt] = []
    for first, second in combinations(range(talks.model.shape[1]), 2):
        rows = np.flatnonzero((last[:, first] >= 0) & (last[:, second] >= 0))
        partners = rows[:, None] if rng is None else _others(talks, rows, rng)
        own, theirs = last[rows, first][:, None], np.where(partners >= 0, last[partners, second], -1)
        alike, both = _jaccard(masks[own], masks[theirs]), known[own] & known[theirs]
        found.append(_Dealt(rows, np.ones(len(rows)), partners, alike, both))
    return _counts(talks, found)


def inherited(talks: Deliberations, model: str, rng: np.random.Generator | None = None) -> ClusterSums:
    """By dilemma, how many of the values that a model's agents first use once they have changed their verdict are ones
    that a partner used in its opening, and how many there are.

    With `rng` the partners' openings are those of the same seats in other discussions in which the model changed its
    verdict, averaged over these.
    """
    masks, known = _sets(talks)
    row, seat = np.nonzero(talks.changed & (talks.model == talks.models.index(model)))
    message = talks.message[row]
    every = np.arange(len(row))
    moved = np.where(talks.moved[row, seat], message[every, seat], -1)
    new = np.bitwise_or.reduce(masks[moved], axis=1) & ~masks[message[every, seat, 0]]
    partners = row[:, None] if rng is None else _others(talks, row, rng)
    opening = np.where((partners >= 0)[..., None], talks.message[partners][..., 0], -1)  # [N, deals, seats]
    opening[every, :, seat] = -1
    heard: Flags = np.asarray((known[opening] | (opening < 0)).all(-1) & (opening >= 0).any(-1))
    said: Flags = np.asarray((known[moved] | (moved < 0)).all(-1) & known[message[every, seat, 0]])
    theirs = np.bitwise_or.reduce(masks[opening], axis=2)
    return _counts(talks, [_Dealt(row, _count(new), partners, _count(new[:, None] & theirs), heard & said[:, None])])


@dataclass(frozen=True)
class _Dealt:
    """What agents of N discussions share with each partner dealt to them: `rows` and `weight` [N], `partners`, `shared`
    and whether that is `known` [N, deals]."""

    rows: AnyInts
    weight: Floats
    partners: AnyInts
    shared: Floats
    known: Flags


def _counts(talks: Deliberations, dealt: Sequence[_Dealt]) -> ClusterSums:
    """By dilemma, the means over deals of what is known, with what the dilemma does to them as a lender of partners,
    and the weights of these means."""
    shape = (len(talks.dilemmas),)
    above, below, lent = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for deal in dealt:
        use = deal.known & np.isfinite(deal.shared)
        own = np.flatnonzero(use.any(1))
        deals = use[own].sum(1, keepdims=True)
        shared = np.where(use, deal.shared, 0.0)[own]
        mean = shared.sum(1, keepdims=True) / deals
        apart = np.where(use[own], (shared - mean) / deals, 0.0)
        above += summed([talks.dilemma[deal.rows[own]]], shape, mean[:, 0])
        below += summed([talks.dilemma[deal.rows[own]]], shape, deal.weight[own])
        lent += summed([talks.dilemma[deal.partners[own]].ravel()], shape, apart.ravel())
    return ClusterSums(above + _centered(lent, below), below)


def _centered(lent: Floats, below: Floats) -> Floats:
    """What was lent by dilemmas with a denominator, without its sum: the ratio of sums is that of the means alone."""
    kept = np.where(below > 0, lent, 0.0)
    return np.asarray(kept - kept.sum() * below / max(float(below.sum()), 1.0))


def _sets(talks: Deliberations) -> tuple[Masks, Flags]:
    """Each message's values as bits, and whether they are known; the last row stands for a missing message."""
    assert talks.masks is not None
    masks = np.where(talks.known[:, None], talks.masks, 0).astype(np.uint64)
    return np.append(masks, np.zeros((1, masks.shape[1]), np.uint64), axis=0), np.append(talks.known, False)


def _last(talks: Deliberations) -> AnyInts:
    """The number of each agent's last message [T, S], -1 if it said nothing."""
    message = talks.message
    place = message.shape[2] - 1 - np.argmax((message >= 0)[..., ::-1], axis=2)
    return np.asarray(np.take_along_axis(message, place[..., None], 2)[..., 0])


def _others(talks: Deliberations, rows: AnyInts, rng: np.random.Generator) -> AnyInts:
    """For each discussion in `rows`, others of these with its setting on other dilemmas [N, DEALS], drawn with
    replacement; -1 if there are none."""
    made = np.full((len(rows), DEALS), -1, np.int64)
    for setting in np.unique(talks.setting[rows]):
        own = np.flatnonzero(talks.setting[rows] == setting)
        same = np.unique(rows[own])
        # Discussions are sorted by dilemma, so those on the same dilemma are contiguous and can be skipped.
        dilemma = talks.dilemma[same]
        begin, end = (np.searchsorted(dilemma, talks.dilemma[rows[own]], side) for side in ("left", "right"))
        free = len(same) - (end - begin)
        some = np.flatnonzero(free > 0)
        drawn = (rng.random((len(some), DEALS)) * free[some, None]).astype(np.int64)
        drawn += np.where(drawn >= begin[some, None], (end - begin)[some, None], 0)
        made[own[some]] = same[drawn]
    return made


def _jaccard(first: Masks, second: Masks) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(_count(first & second) / _count(first | second))


def _count(masks: Masks) -> Floats:
    return np.asarray(np.bitwise_count(masks).sum(-1, dtype=np.int64), np.float64)
