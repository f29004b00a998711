"""The parts of numbers over clusters: sums by cluster, or by group of clusters if there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import AnyInts, Floats


class ClusterSums(NamedTuple):
    """The parts of K means or ratios of sums, by cluster: the sum of `above` over that of `below`.

    Both are [clusters, K], or [clusters] for a single one, or for a `below` that all K share. A cluster with nothing
    below says nothing. If what is counted has weights, `many` [as below] says how much there is without them; None if
    that is `below`.
    """

    above: Floats
    below: Floats
    many: Floats | None = None


class Numbers(NamedTuple):
    """K numbers, how many units are behind each, and how many clusters [K]."""

    value: Floats
    n: Floats
    clusters: Floats


class Sums(NamedTuple):
    """The same by group of clusters, as numbered by `Resampling.group`.

    The ratios are `numbers.value`. Their product with `below` is subtracted from `above` [groups, K], so that the rest
    sums to zero. `below` [groups, B] has each denominator once, and `of` [K] says which one is a ratio's.
    """

    above: Floats
    below: Floats
    of: AnyInts
    numbers: Numbers

    @property
    def width(self) -> int:
        """How many ratios there are, K."""
        return len(self.of)

    def take(self, some: slice) -> Sums:
        """Some of the ratios."""
        return Sums(self.above[:, some], self.below, self.of[some], Numbers(*(number[some] for number in self.numbers)))


def side_by_side(parts: Sequence[Sums], step: int) -> Iterator[Sums]:
    """All of them side by side, `step` ratios at a time."""
    starts = np.cumsum([0, *(part.below.shape[1] for part in parts)])
    of = np.concatenate([part.of + start for part, start in zip(parts, starts, strict=False)])
    above, below = (np.concatenate([part[side] for part in parts], axis=1) for side in (0, 1))
    numbers = [np.concatenate(columns) for columns in zip(*(part.numbers for part in parts), strict=True)]
    every = Sums(above, below, of, Numbers(*numbers))
    for start in range(0, every.width, step):
        yield every.take(slice(start, start + step))


MOST = 1_000
"""Beyond this many, clusters are left out in this many groups, drawn at random: this adds noise of about 2% to an
interval's width, and time and memory no longer grow with the clusters."""


def group_of_clusters(clusters: int, seed: int) -> NDArray[np.integer]:
    """The group of each cluster: its own, or if there are many, a random one, all of about the same size."""
    if clusters <= MOST:
        return np.arange(clusters)
    return np.asarray(np.random.default_rng((seed, clusters)).permutation(clusters) % MOST)
