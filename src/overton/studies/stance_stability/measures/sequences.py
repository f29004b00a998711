"""What a conversation's measures are, summed over all sequences of stances that it may have had, each with its weight.

A weight is a product over turns (`overton.statistics.misread.confusion`); where turns are known it is 1 for the one
sequence and 0 for all others, and the sums are that sequence's own values. Instead of going through all sequences, the
number of changes still to come is carried from the last turn to the first, for each stance held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Weights", "counted_changes", "counted_flips", "turn_of_flip"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

OfChanges = Callable[[Ints, Array], Array]
"""A number for each conversation and number of changes [N, K], from these numbers [K] and its pairs of turns [N]."""


@dataclass(frozen=True)
class Weights:
    """Weights of N conversations of at most T turns, under some confusions.

    taken    [some, N, T, H] of holding each of H stances from this turn on
    passing  [some, N, T] of a turn that takes none, so that the last one is held; 1 after the last turn
    length   [N]
    """

    taken: Array
    passing: Array
    length: Ints

    @classmethod
    def of(cls, weights: Array, length: Ints, carried: int | None) -> Weights:
        """Of each label [some, N, T, S], where the label `carried` takes no stance (None: all do)."""
        there = (np.arange(weights.shape[2]) < length[:, None])[:, :, None]
        if carried is None:
            return cls(weights * there, np.broadcast_to(~there[..., 0] * 1.0, weights.shape[:3]), length)
        taken = np.delete(weights, carried, axis=3) * there
        return cls(taken, np.where(there[..., 0], weights[..., carried], 1.0), length)

    @property
    def before(self) -> Array:
        """Of no stance taken before each turn, and of none at all [some, N, T + 1]."""
        first = np.ones((*self.passing.shape[:2], 1))
        return np.concatenate([first, np.cumprod(self.passing, axis=2)], axis=2)


def _starts(weights: Weights) -> Iterator[tuple[int, Array]]:
    """For each turn, last to first: by the stance first taken there, the weight of each number of changes to come
    [some, N, H, K], with that of no stance before."""
    some, many, turns, held = weights.taken.shape
    before = weights.before
    ahead = np.zeros((some, many, held, turns))
    ahead[..., 0] = 1.0
    for turn in range(turns - 1, -1, -1):
        own = weights.taken[:, :, turn, :, None] * ahead
        yield turn, own * before[:, :, turn, None, None]
        stayed = weights.passing[:, :, turn, None, None] * ahead
        stayed += own
        stayed[..., 1:] += (own.sum(2, keepdims=True) - own)[..., :-1]
        ahead = stayed


def counted_changes(weights: Weights, measures: dict[str, OfChanges]) -> tuple[dict[str, Array], Array]:
    """For each measure of the number of changes its sum over sequences with at least one pair of turns that hold a
    stance, and the weight of these [some, N]."""
    made = {name: np.zeros(weights.taken.shape[:2]) for name in measures}
    some = np.zeros(weights.taken.shape[:2])
    number = np.arange(weights.taken.shape[2])
    for turn, starts in _starts(weights):
        pairs = np.maximum(weights.length - 1.0 - turn, 0.0)
        first = starts.sum(2) * (pairs > 0)[:, None]
        some += first.sum(2)
        for name, of in measures.items():
            made[name] += (first * of(number, np.maximum(pairs, 1.0))).sum(2)
    return made, some


def counted_flips(weights: Weights, target: int | None) -> tuple[Array, Array]:
    """Number of Flips: how often neighbouring turns differ in holding the `target` (None: the first stance taken),
    and the weight of sequences that take any stance [some, N]."""
    made, before = np.zeros(weights.taken.shape[:2]), weights.before
    for stance in _targets(weights, target):
        own = weights.taken[..., stance]
        sides = np.stack([own, weights.taken.sum(3) - own], axis=3)
        mass, count = np.ones((*made.shape, 2)), np.zeros((*made.shape, 2))  # of what comes after, by the side held
        for turn in range(weights.taken.shape[2] - 1, -1, -1):
            here, passing = sides[:, :, turn], weights.passing[:, :, turn, None]
            first = here * count * before[:, :, turn, None]
            made += first[..., 0] if target is None else first.sum(2)
            some, flips = here * mass, here * count
            count = flips + passing * count + (flips + some)[..., ::-1]
            mass = some + passing * mass + some[..., ::-1]
    return made, 1 - before[..., -1]


def turn_of_flip(weights: Weights, target: int | None) -> tuple[Array, Array]:
    """Turn of Flip: the place of the first turn that does not hold the `target` (None: the first stance taken), the
    conversation's length where there is none; and the weight of sequences that take any stance [some, N]."""
    before, turns = weights.before, weights.taken.shape[2]
    made = np.zeros(weights.taken.shape[:2])
    for stance in _targets(weights, target):
        aligned = weights.taken[..., stance] + weights.passing
        others = weights.taken.sum(3) - weights.taken[..., stance]
        more = np.zeros(made.shape)  # turns from this one on that hold it, where all before did
        for turn in range(turns - 1, -1, -1):
            there = turn < weights.length
            made += before[:, :, turn] * weights.taken[:, :, turn, stance] * there * (turn + 1 + more)
            made += 0.0 if target is None else before[:, :, turn] * others[:, :, turn] * turn
            more = there * aligned[:, :, turn] * (1 + more)
    return made, 1 - before[..., -1]


def _targets(weights: Weights, target: int | None) -> range:
    return range(weights.taken.shape[3]) if target is None else range(target, target + 1)
