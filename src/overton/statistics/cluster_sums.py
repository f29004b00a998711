"""Numerators and denominators of ratios and means, summed by cluster. With many clusters, sums are by group of
clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import AnyInts, Floats


class ClusterSums(NamedTuple):
    """Numerators and denominators of K means or ratios by cluster. Each ratio is the sum of `above` divided by the sum
    of `below`.

    `above` and `below` are [clusters, K], or [clusters] for a single ratio. `below` is also [clusters] if all K ratios
    share it. A cluster whose `below` is 0 does not contribute. If counts are weighted, `many` has the unweighted counts
    in the shape of `below`. Otherwise it is None.
    """

    above: Floats
    below: Floats
    many: Floats | None = None


class Numbers(NamedTuple):
    """K values, and the numbers of units and of clusters behind each value [K]."""

    value: Floats
    n: Floats
    clusters: Floats


class Sums(NamedTuple):
    """Numerators and denominators of K ratios by group of clusters. `Resampling.group` has the groups' indices.

    The ratios are `numbers.value`. `above` [groups, K] is the numerator minus the ratio times the denominator, so its
    sum is 0. `below` [groups, B] has each denominator once, and `of` [K] is the index of each ratio's denominator.
    """

    above: Floats
    below: Floats
    of: AnyInts
    numbers: Numbers

    @property
    def width(self) -> int:
        """The number of ratios, K."""
        return len(self.of)

    def take(self, some: slice) -> Sums:
        """Some of the ratios."""
        return Sums(self.above[:, some], self.below, self.of[some], Numbers(*(number[some] for number in self.numbers)))


def side_by_side(parts: Sequence[Sums], step: int) -> Iterator[Sums]:
    """Join the ratios of all parts, and yield them `step` at a time."""
    starts = np.cumsum([0, *(part.below.shape[1] for part in parts)])
    of = np.concatenate([part.of + start for part, start in zip(parts, starts, strict=False)])
    above, below = (np.concatenate([part[side] for part in parts], axis=1) for side in (0, 1))
    numbers = [np.concatenate(columns) for columns in zip(*(part.numbers for part in parts), strict=True)]
    every = Sums(above, below, of, Numbers(*numbers))
    for start in range(0, every.width, step):
        yield every.take(slice(start, start + step))


MOST = 1_000
"""More clusters than this are put into this many random groups, and the jackknife leaves out each group in turn. This
adds noise of about 2% to an interval's width. Time and memory then no longer grow with the number of clusters."""


def group_of_clusters(clusters: int, seed: int) -> NDArray[np.integer]:
    """The index of each cluster's group. With up to `MOST` clusters, each cluster is its own group. With more, clusters
    form random groups of about equal size."""
    if clusters <= MOST:
        return np.arange(clusters)
    return np.asarray(np.random.default_rng((seed, clusters)).permutation(clusters) % MOST)
