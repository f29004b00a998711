"""The one bootstrap: whole clusters (issues, threads, conversations) are resampled, so that what varies between them is
in the interval. Thousands of means, ratios, deviations and differences at once, all from the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import isnan, nan
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from overton.statistics.estimate import Estimate, not_computed
from overton.statistics.proportions import difference_limits, wilson_limits
from overton.statistics.resampling.draws import (
    FEWEST,
    MOST,
    Counts,
    Draws,
    Numbers,
    Sums,
    grouped,
    limits,
    side_by_side,
    weights_of,
)

__all__ = ["Bootstrap", "Resampling"]

Array = NDArray[np.float64]
Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
_Float = TypeVar("_Float", np.float32, np.float64)
_Part = TypeVar("_Part")
_Batched = TypeVar("_Batched", bound="tuple[Sums, *tuple[object, ...]]")

_AT_ONCE = 2**22
"""So many resampled numbers are in memory at a time."""

_DIGITS = 7
"""Decimals of the limits of means and ratios: what single precision leaves of numbers of the size of shares."""

_SMALLEST = 1e-6
"""A smaller standard deviation is what rounding leaves of none."""


@dataclass(frozen=True)
class Bootstrap:
    """How intervals over clusters are made. Equal settings and numbers of clusters give equal resamples.

    `level` is the nominal coverage, `resamples` the number of resamples, `seed` makes them repeatable. `unit` names the
    clusters. What a study says instead of an interval: `single` where there is but one cluster, and `unvaried` where
    a number is the same in every one (None gives an interval without width).
    """

    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    unit: str = "issues"
    single: str | None = None
    unvaried: str | None = None

    def over(self, cluster: int | Ints) -> Resampling:
        """The same resamples for many numbers. `cluster` says how many clusters there are, or numbers each row's."""
        return Resampling(self, np.arange(cluster) if isinstance(cluster, int) else cluster)

    def weights(self, clusters: int) -> Draws:
        """How often each resample holds each cluster: [resamples, clusters], rows sum to `clusters`."""
        return weights_of(clusters, self.resamples, self.seed)

    def mean(self, values: Sequence[float] | Array) -> Estimate:
        """The mean of one value a cluster, leaving out NaN; `n` counts the clusters that have one."""
        kept = np.asarray(values, float)
        kept = kept[np.isfinite(kept)]
        return self.ratio(kept, np.ones(kept.size))

    def ratio(self, numerators: Sequence[float] | Array, denominators: Sequence[float] | Array) -> Estimate:
        """Sum of numerators over sum of denominators, one of each a cluster; clusters with denominator 0 say nothing.

        `n` counts the clusters that say something; the others are not resampled.
        """
        below = np.asarray(denominators, float)
        use = below > 0
        above, below = np.asarray(numerators, float)[use], below[use]
        nothing = f"no {self.unit} to average"
        if not below.size:
            return not_computed(nothing, level=self.level)
        resampling = self.over(below.size)
        sums = resampling.sums(Counts(above, below))
        numbers = sums.numbers._replace(n=sums.numbers.clusters)
        return resampling.ratio(sums._replace(numbers=numbers), nothing, share=False)


class Resampling:
    """Intervals over the clusters that rows belong to: the same resamples for every number, so that numbers compare.

    `cluster` [rows] numbers each row's cluster from 0; `group` [rows] the group that it is resampled in, of `groups`.
    """

    def __init__(self, bootstrap: Bootstrap, cluster: Ints) -> None:
        self.level = bootstrap.level
        self.unit = bootstrap.unit
        self._single = bootstrap.single or f"one of {bootstrap.unit}"
        self._unvaried = bootstrap.unvaried
        self.cluster = cluster
        many = int(cluster.max()) + 1
        self.apart = many == len(cluster)
        self.groups = min(many, MOST)
        self._group = grouped(many, bootstrap.seed)
        self.group = self._group[cluster]
        self._weights = bootstrap.weights(self.groups)

    def ratios(self, counts: Iterable[Counts | Sums], nothing: str, *, share: bool = True) -> list[list[Estimate]]:
        """The ratios of each of `counts`, taken one after the other; `nothing` says why one has no value.

        A `share`, or a mean of what lies between 0 and 1, that is 0 or 1 in every cluster has Wilson's interval over
        clusters, which is wide enough for either.
        """
        made: list[list[Estimate]] = []
        for batch in self._batches((self._sums(one),) for one in counts):
            pieces = side_by_side([columns for (columns,) in batch], self._step)
            found = [self._ratios(some, self.draws(some), nothing, share) for some in pieces]
            made += _split(chain(*found), [columns.width for (columns,) in batch])
        return made

    def ratio(self, counts: Counts | Sums, nothing: str, *, share: bool = True) -> Estimate:
        """A single one."""
        return self.ratios([counts], nothing, share=share)[0][0]

    def differences(
        self, pairs: Iterable[tuple[Counts, Counts]], nothing: str
    ) -> list[list[tuple[Estimate, Estimate, Estimate]]]:
        """The shares of both sides and the second minus the first, resampled together, for each of the pairs.

        Where both are 0 or 1 in every cluster, the interval of their difference is Newcombe's.
        """
        made: list[list[tuple[Estimate, Estimate, Estimate]]] = []
        for batch in self._batches((self._sums(one), self._sums(other)) for one, other in pairs):
            pieces = zip(*(side_by_side(side, self._step) for side in zip(*batch, strict=True)), strict=True)
            found = [self._differences(first, second, nothing) for first, second in pieces]
            made += _split(chain(*found), [first.width for first, _ in batch])
        return made

    def moments(
        self, parts: Iterable[tuple[Sums, Array]], nothing: str, few: str
    ) -> list[tuple[list[Estimate], list[Estimate]]]:
        """Means and standard deviations (n - 1), for each of the means' sums and the squares that go with them.

        Squares [groups, K] are summed with the means taken off first. `few` says why there is no deviation where there
        is but one number.
        """
        made: list[tuple[list[Estimate], list[Estimate]]] = []
        for batch in self._batches(parts):
            sums, squared = [one for one, _ in batch], np.concatenate([squares for _, squares in batch], axis=1)
            found: list[tuple[Estimate, Estimate]] = []
            for some in side_by_side(sums, self._step):
                squares = squared[:, len(found) : len(found) + some.width]
                found += self._moments(some, squares, nothing, few)
            for both in _split(found, [one.width for one in sums]):
                made.append(([mean for mean, _ in both], [deviation for _, deviation in both]))
        return made

    def statistic(
        self,
        parts: Array,
        of: Callable[[Floats], Floats],
        nothing: str,
        *,
        block: Ints | None = None,
        use: NDArray[np.bool_] | None = None,
    ) -> Estimate:
        """Any function of sums over rows, or over those that `use` [rows] chooses; `n` counts rows.

        `parts` [rows, K] are summed within each of the blocks that `block` [rows] numbers; `of` maps such sums
        [any number, blocks, K] to one number each.
        """
        chosen = np.ones(len(parts), bool) if use is None else use
        block = np.zeros(len(parts), np.int64) if block is None else block
        shape = (self.groups, int(block.max(initial=0)) + 1, parts.shape[1])
        cell = (self.group * shape[1] + block)[chosen]
        sums = [np.bincount(cell, part, shape[0] * shape[1]) for part in parts[chosen].T]
        grouped = np.stack(sums, axis=1).astype(float).reshape(shape)
        value = np.asarray(of(grouped.sum(0, keepdims=True)), float)
        drawn = of((self._weights.astype(float) @ grouped.reshape(self.groups, -1)).reshape(-1, *shape[1:]))
        clusters = chosen.sum() if self.apart else len(np.unique(self.cluster[chosen]))
        numbers = Numbers(value, np.array([chosen.sum()]), np.array([clusters], float))
        return self.estimates(numbers, np.asarray(drawn - value, float)[:, None], nothing, digits=None)[0]

    def sums(self, counts: Counts) -> Sums:
        """What is known by cluster, by group."""
        above, below = self._by_group(counts.above), self._by_group(counts.below)
        of = np.broadcast_to(np.arange(below.shape[1]), above.shape[1])
        n = _in_pairs(below)[of]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = _in_pairs(above) / n
        clusters = np.count_nonzero(counts.below.reshape(len(counts.below), -1), axis=0)[of].astype(float)
        return Sums(above - np.nan_to_num(value) * below[:, of], below, of, Numbers(value, n, clusters))

    def draws(self, sums: Sums) -> Draws:
        """What each resample adds to the ratios [resamples, K]: for whatever is made of several."""
        return _over(*self._drawn(sums))

    def estimates(
        self,
        numbers: Numbers,
        draws: Floats,
        nothing: str,
        *,
        few: str | None = None,
        digits: int | None = _DIGITS,
        instead: _Instead | None = None,
    ) -> list[Estimate]:
        """Numbers with the intervals that `draws` [resamples, K] give, resampled numbers less the number itself.

        A number that is NaN is not computed since there is `nothing`, or where something was counted, too `few`.
        Limits are rounded to so many `digits`, or not; `instead` holds those that are had in another way.
        """
        value = numbers.value + 0.0  # no negative zero
        gaps = limits(draws, numbers.clusters, self.level)
        gaps = gaps if digits is None else (_without_noise(gaps[0], digits), _without_noise(gaps[1], digits))
        low, high = (_moved(value, gap, digits) for gap in gaps)
        low, high = np.minimum(low, value), np.maximum(high, value)
        method = np.full(len(value), f"bootstrap over {self.unit}", object)
        if self._unvaried:
            flat = (gaps[0] == 0) & (gaps[1] == 0)
            low[flat], high[flat], method[flat] = nan, nan, self._unvaried
        if instead:
            there = instead.where
            low[there], high[there] = instead.low[there], instead.high[there]
            method[there] = f"{instead.name}, over {self.unit}"
        columns = (value, low, high, numbers.n, numbers.clusters, method)
        return [
            self._estimate(
                middle, (lower, upper), (round(n), clusters), said, nothing if few is None or n == 0 else few
            )
            for middle, lower, upper, n, clusters, said in zip(*(one.tolist() for one in columns), strict=True)
        ]

    def _estimate(
        self, value: float, ends: tuple[float, float], behind: tuple[int, float], method: str, nothing: str
    ) -> Estimate:
        n, clusters = behind
        if isnan(value):
            return not_computed(nothing, level=self.level, n=n)
        if clusters < FEWEST:
            return Estimate(value, nan, nan, n, f"{self._single}: no interval", self.level)
        return Estimate(value, *ends, n, method, self.level)

    def _ratios(self, columns: Sums, draws: Draws, nothing: str, share: bool) -> list[Estimate]:
        value, _, clusters = columns.numbers
        steady = _Instead("Wilson", np.isin(value, (0, 1)) & share, *wilson_limits(value, clusters, self.level))
        return self.estimates(columns.numbers, draws, nothing, instead=steady)

    def _moments(self, sums: Sums, squares: Array, nothing: str, few: str) -> Iterator[tuple[Estimate, Estimate]]:
        above, below = self._drawn(sums)
        means = self._ratios(sums, _over(above, below), nothing, False)
        value = _deviation(sums.above.sum(0), sums.below[:, sums.of].sum(0), squares.sum(0))
        value = np.where(value < _SMALLEST, 0.0, value)
        drawn = _deviation(above, below, self._weights @ squares.astype(np.float32)) - value
        numbers = sums.numbers._replace(value=value)
        deviations = self.estimates(numbers, drawn, nothing, few=few, digits=None)
        return zip(means, deviations, strict=True)

    def _differences(self, first: Sums, second: Sums, nothing: str) -> list[tuple[Estimate, Estimate, Estimate]]:
        sides, draws = (first, second), [self.draws(side) for side in (first, second)]
        shares = [self._ratios(side, drawn, nothing, True) for side, drawn in zip(sides, draws, strict=True)]
        (p, n, behind), (q, m, others) = first.numbers, second.numbers
        newcombe = difference_limits(q, others, p, behind, self.level)
        steady = _Instead("Newcombe", np.isin(p, (0, 1)) & np.isin(q, (0, 1)), *newcombe)
        numbers = Numbers(q - p, np.minimum(n, m), np.minimum(behind, others))
        gaps = self.estimates(numbers, draws[1] - draws[0], nothing, instead=steady)
        return list(zip(*shares, gaps, strict=True))

    def _drawn(self, sums: Sums) -> tuple[Draws, Draws]:
        """What is above and below the ratios in each resample [resamples, K]."""
        known, place = np.unique(sums.of, return_inverse=True)
        varies: NDArray[np.bool_] = np.asarray(sums.above.any(0))  # the others, often many, need no drawing
        wanted = np.hstack([sums.below[:, known], sums.above[:, varies]]).astype(np.float32)
        drawn = self._weights @ wanted
        above = np.zeros((len(drawn), len(varies)), np.float32)
        above[:, varies] = drawn[:, len(known) :]
        return above, drawn[:, place]

    def _sums(self, counts: Counts | Sums) -> Sums:
        return counts if isinstance(counts, Sums) else self.sums(counts)

    @property
    def _step(self) -> int:
        """How many numbers are resampled at once."""
        return max(1, _AT_ONCE // len(self._weights))

    def _batches(self, parts: Iterable[_Batched]) -> Iterator[list[_Batched]]:
        """Parts as they come, about as many at a time as are resampled at once."""
        batch: list[_Batched] = []
        width = 0
        for part in parts:
            batch.append(part)
            width += part[0].width
            if width >= self._step:
                yield batch
                batch, width = [], 0
        if batch:
            yield batch

    def _by_group(self, sums: Array) -> Array:
        """Sums by cluster [clusters] or [clusters, K] as sums by group [groups, K]."""
        wide = sums.reshape(len(sums), -1)
        if len(wide) == self.groups:
            return wide
        order, begins = self._members
        return np.asarray(np.add.reduceat(wide[order], begins, axis=0))

    @cached_property
    def _members(self) -> tuple[Ints, Ints]:
        """All clusters in order of their groups, and where each group begins."""
        order = np.argsort(self._group, kind="stable")
        return order, np.searchsorted(self._group[order], np.arange(self.groups))


class _Instead(NamedTuple):
    """Limits [K] that stand in place of the bootstrap's in some places, and the name of how they are made."""

    name: str
    where: NDArray[np.bool_]
    low: Array
    high: Array


def _in_pairs(sums: Array) -> Array:
    """Sums over the first axis, rounded alike however many columns stand side by side."""
    return np.asarray(np.ascontiguousarray(sums.T).sum(1))


def _without_noise(gap: Array, digits: int) -> Array:
    """What rounding would leave nothing of is nothing; the rest is rounded once only, as a limit."""
    return np.where(np.round(gap, digits) == 0, 0.0, gap)


def _moved(value: Array, gap: Array, digits: int | None) -> Array:
    """A limit so far from a value; the value itself, not rounded, where there is no gap."""
    moved = value + gap if digits is None else np.round(value + gap, digits)
    return np.where(gap == 0, value, moved) + 0.0  # no negative zero


def _over(above: Draws, below: Draws) -> Draws:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)


def _deviation(total: NDArray[_Float], count: NDArray[_Float], square: NDArray[_Float]) -> NDArray[_Float]:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(square - total**2 / count, 0)
        return np.asarray(np.sqrt(spread / np.where(count > 1, count - 1, np.nan)), count.dtype)


def _split(flat: Iterable[_Part], widths: Sequence[int]) -> list[list[_Part]]:
    every = iter(flat)
    return [[next(every) for _ in range(width)] for width in widths]
