"""A conversation's measures, summed over all sequences of stances that it may have had, each with its weight.

A weight is a product over turns (`overton.statistics.misclassification`); if turns are known, it is 1 for the one
sequence and 0 for all others, and the sums are that sequence's own values. Instead of enumerating all sequences, the
number of changes still to come is carried from the last turn to the first, for each current stance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from overton.statistics.arrays import Floats, Ints

OfChanges = Callable[[Ints, Floats], Floats]
"""A number for each number of changes and conversation [K, N], from these numbers [K] and its pairs of turns [N]."""


@dataclass(frozen=True)
class SequenceWeights:
    """Weights of N conversations of at most T turns, under some confusions.

    taken    [T, H, some, N] of taking each of H stances at this turn
    passing  [T, some, N] of a turn that takes none, so that the last one is kept; 1 after the last turn
    length   [N]
    """

    taken: Floats
    passing: Floats
    length: Ints

    @classmethod
    def of(cls, weights: Floats, length: Ints, carried: int | None) -> SequenceWeights:
        """From the weights of each label [some, N, T, S]; the label `carried` takes no stance (None: all do)."""
        by_turn = np.ascontiguousarray(weights.transpose(2, 3, 0, 1))
        there = np.arange(len(by_turn))[:, None, None] < length
        if carried is None:
            passing = np.broadcast_to(np.where(there, 0.0, 1.0), (len(by_turn), *by_turn.shape[2:]))
            return cls(by_turn * there[:, None], passing, length)
        taken = np.delete(by_turn, carried, axis=1) * there[:, None]
        return cls(taken, np.where(there, by_turn[:, carried], 1.0), length)

    @property
    def before(self) -> Floats:
        """The weights of no stance taken before each turn, and of none at all [T + 1, some, N]."""
        return np.concatenate([np.ones((1, *self.passing.shape[1:])), np.cumprod(self.passing, axis=0)])


def counted_changes(weights: SequenceWeights, measures: Mapping[str, OfChanges]) -> tuple[dict[str, Floats], Floats]:
    """For each measure of the number of changes, its sum over sequences with at least one pair of turns that have a
    stance, and the weight of these sequences [some, N]."""
    shape = weights.passing.shape[1:]
    made, some = {name: np.zeros(shape) for name in measures}, np.zeros(shape)
    for turn, starts in _starts(weights):
        pairs = np.maximum(weights.length - 1.0 - turn, 0.0)
        first = starts * (pairs > 0)
        some += first.sum(0)
        for name, of in measures.items():
            made[name] += np.einsum("ksn,kn->sn", first, of(np.arange(len(first)), np.maximum(pairs, 1.0)))
    return made, some


def _starts(weights: SequenceWeights) -> Iterator[tuple[int, Floats]]:
    """For each turn, last to first, if the first stance is taken there: the weight of each number of changes to come
    [K, some, N], times that of no stance before."""
    turns, stances, *shape = weights.taken.shape
    before = weights.before
    ahead = np.ones((1, stances, *shape))
    for turn in range(turns - 1, -1, -1):
        own = weights.taken[turn] * ahead
        every = own.sum(1)
        yield turn, every * before[turn]
        longer = np.zeros((len(ahead) + 1, stances, *shape))
        longer[1:] = every[:, None] - own
        longer[:-1] += own
        longer[:-1] += weights.passing[turn] * ahead
        ahead = longer


def counted_flips(weights: SequenceWeights, target: int | None) -> tuple[Floats, Floats]:
    """Number of Flips: how often exactly one of two neighbouring turns has the `target` (None: the first stance taken),
    and the weight of sequences that take any stance [some, N]."""
    made, before = np.zeros(weights.passing.shape[1:]), weights.before
    for stance in _targets(weights, target):
        own = weights.taken[:, stance]
        sides = np.stack([own, weights.taken.sum(1) - own], axis=1)
        mass, count = np.ones(sides.shape[1:]), np.zeros(sides.shape[1:])  # of what comes after, by the current side
        for turn in range(len(sides) - 1, -1, -1):
            some, flips = sides[turn] * mass, sides[turn] * count
            made += (flips[0] if target is None else flips.sum(0)) * before[turn]
            count = flips + weights.passing[turn] * count + (flips + some)[::-1]
            mass = some + weights.passing[turn] * mass + some[::-1]
    return made, 1 - before[-1]


def turn_of_flip(weights: SequenceWeights, target: int | None) -> tuple[Floats, Floats]:
    """Turn of Flip: the place of the first turn that does not have the `target` (None: the first stance taken), the
    conversation's length if there is none; and the weight of sequences that take any stance [some, N]."""
    before = weights.before
    made = np.zeros(before.shape[1:])
    for stance in _targets(weights, target):
        own = weights.taken[:, stance]
        others = weights.taken.sum(1) - own
        more = np.zeros(made.shape)  # how many turns after this one have it, until the first that does not
        for turn in range(len(own) - 1, -1, -1):
            there = turn < weights.length
            made += before[turn] * own[turn] * there * (turn + 1 + more)
            made += 0.0 if target is None else before[turn] * others[turn] * turn
            more = there * (own[turn] + weights.passing[turn]) * (1 + more)
    return made, 1 - before[-1]


def _targets(weights: SequenceWeights, target: int | None) -> range:
    return range(weights.taken.shape[1]) if target is None else range(target, target + 1)


ERROR = 0.05
"""The share of wrong labels of a judge that is right 95% of the time; a choice of ours."""


def steady_model(lengths: Sequence[int], counts: Sequence[float], confidence: float, reuse: float) -> dict[str, float]:
    """What a judge's errors alone would give for a model that never changes its stance.

    `changes`, `change_rate` and `chameleon` are expected over conversations of these `lengths`, each of which counts as
    `counts` say, with labels that are wrong with probability `error`; `without_errors` is the score from a judge that
    is always right. NaN without conversations.
    """
    alone = [changes_by_errors(turns) for turns in lengths]

    def expected(each: Iterable[float]) -> float:
        return float(np.average([*each], weights=counts)) if lengths else np.nan

    return {
        "error": ERROR,
        "changes": expected(float(chances @ np.arange(len(chances))) for chances in alone),
        "change_rate": expected(float(chances @ np.arange(len(chances))) / (len(chances) - 1) for chances in alone),
        "chameleon": expected(score_by_errors(chances, confidence, reuse) for chances in alone),
        "without_errors": score_by_errors(np.array([1.0, 0.0]), confidence, reuse),
    }


def changes_by_errors(turns: int, error: float = ERROR) -> Floats:
    """The probability of each number of changes, 0 to turns - 1 [turns], for a model that never changes its stance.

    Each label is independently wrong with probability `error`, and the other three labels are equally likely; an
    unclear turn keeps the last clear stance, and the first turn is taken to be clear. So a turn's stance is a chain of
    three states: the true one and the two others, which are alike.
    """
    wrong = error / 3
    right, off = np.zeros(turns), np.zeros(turns)
    right[0], off[0] = (1 - error) / (1 - wrong), 2 * wrong / (1 - wrong)
    for _ in range(1, turns):
        stay_right, stay_off = right * (1 - 2 * wrong), off * 2 * wrong
        turned = _one_more(right) * 2 * wrong + _one_more(off) * wrong
        right, off = stay_right + _one_more(off) * (1 - error), stay_off + turned
    return right + off


def _one_more(of: Floats) -> Floats:
    return np.concatenate(([0.0], of[:-1]))


def score_by_errors(changes: Floats, confidence: float, reuse: float) -> float:
    """The expected Chameleon score (equation 2) if `changes` [turns] are the probabilities of each number of changes.

    `confidence` counts as the confidence at changes if there are any, otherwise 0 does; `reuse` is taken as it is.
    """
    rate = np.arange(len(changes)) / (len(changes) - 1)
    sure = np.where(rate > 0, confidence, 0.0)
    return float(changes @ np.sqrt((rate**2 + sure**2 + reuse**2) / 3))
