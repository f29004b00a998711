"""Intervals over clusters, for every study, by leaving out each cluster in turn.

A number's influence values are the effects of leaving out each cluster in turn (the jackknife). Their variance gives
the standard error. Hall's transformation corrects limits for most of their skewness, but moves no limit beyond a
maximum distance. At least five clusters are needed. docs/statistics.md has the formulas and the coverage of the
intervals, and benchmarks/rules.py the alternatives that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf, isnan, nan
from typing import NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from overton.statistics.arrays import AnyFloats, AnyInts, Flags, Floats
from overton.statistics.cluster_sums import MOST, ClusterSums, Numbers, Sums, group_of_clusters, side_by_side
from overton.statistics.estimate import (
    ANYTHING,
    DIFFERENCE,
    FEWEST,
    NO_INTERVAL,
    SHARE,
    Estimate,
    Range,
    ends_of,
    not_computed,
)
from overton.statistics.proportions import wilson_limits

OF_SKEWNESS = 0.9
"""The proportion of the estimated skewness that is removed. Removing all of it makes intervals too short for symmetric
values with long tails (Laplace), and too long for values without long tails (uniform)."""

FARTHEST = 1.6
"""The largest distance of a limit from its number, in multiples of Student's distance. If one cluster of ten stands
out, the inverse of Hall's cubic is nearly vertical. A small change of that cluster would then move the limit to 3.4
times Student's distance. The bound costs up to 0.8 points of coverage for exponential values, and up to 7 points if
most clusters are 0."""


@dataclass(frozen=True)
class Influence:
    """The influence of each group of clusters on K numbers.

    parts    [groups, K] influence values, 0 for a group that does not contribute to a number; their sum is nearly 0
    groups   [K] the number of groups that contribute
    freedom  [K] Student's degrees of freedom
    """

    parts: Floats
    groups: Floats
    freedom: Floats

    def __sub__(self, other: Influence) -> Influence:
        """The influence on the K differences between two sets of numbers over the same groups."""
        least = (np.minimum(*both) for both in ((self.groups, other.groups), (self.freedom, other.freedom)))
        return Influence(self.parts - other.parts, *least)


class StandardErrors(NamedTuple):
    """K numbers' standard errors, the skewness of their distributions, and degrees of freedom [K]."""

    error: Floats
    skewness: Floats
    freedom: Floats


def freedom_of(below: Floats) -> Floats:
    """Student's degrees of freedom of B ratios, computed from their denominators [groups, B].

    If all groups have the same denominator, the result is the number of groups minus one. Groups with denominator 0 do
    not count. The result is smaller if a few groups outweigh the others (Satterthwaite 1946), but at least 1.
    """
    squares = below * below
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = squares.sum(0) ** 2 / (squares * squares).sum(0)
    return np.asarray(np.maximum(np.round(worth, 9) - 1, 1))


def standard_errors(influence: Influence) -> StandardErrors:
    """The standard errors and skewness of K numbers. They are NaN or infinite if a number cannot be computed when some
    group is left out."""
    parts, many = influence.parts, influence.groups
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = parts * parts
        first, second, third = parts.sum(0), squares.sum(0), np.einsum("gk,gk->k", squares, parts)
        variance = np.maximum(second - first**2 / many, 0)
        skewness = (third - 3 * first * second / many + 2 * first**3 / many**2) / variance**1.5
        error = np.sqrt(variance * many / (many - 1))
    # The formula gives a skewness on [-1, 1], but any number if the variance is only rounding error.
    return StandardErrors(error, np.clip(np.nan_to_num(skewness), -1, 1), influence.freedom)


def gaps(
    spread: StandardErrors, level: float, of_skewness: float = OF_SKEWNESS, farthest: float = FARTHEST
) -> tuple[Floats, Floats]:
    """The distances [K] from K numbers to their lower limits (at most 0), and to their upper limits (at least 0).

    Student's quantiles are transformed by the inverse of Hall's cubic transformation (1992, JRSS B 54:221), which makes
    a studentised mean's distribution symmetric. Without skewness the result is Student's distances. No distance is
    larger than `farthest` times Student's distance.
    """
    quantile = scipy.special.stdtrit(spread.freedom, (1 + level) / 2)
    bend = of_skewness * spread.skewness / 3
    with np.errstate(invalid="ignore"):  # joint levels of many numbers can round to 1, and infinity times 0 is NaN
        low, high = (-_invert_transformation(end, bend) * spread.error for end in (quantile, -quantile))
        most = farthest * quantile * spread.error
    return np.clip(low, -most, 0.0), np.clip(high, 0.0, most)


def student_gap(spread: StandardErrors, level: float) -> Floats:
    """The distance [K] from K numbers to Student's limits, which is the same on both sides."""
    return np.asarray(scipy.special.stdtrit(spread.freedom, (1 + level) / 2) * spread.error)


def _invert_transformation(quantile: Floats, bend: Floats) -> Floats:
    """t for which ((1 + bend t)^3 - 1) / (3 bend) + bend / 2 = `quantile`; NaN if the quantile is infinite."""
    moved = quantile - bend / 2
    with np.errstate(invalid="ignore"):  # joint levels of many numbers can round to 1
        root = np.cbrt(1 + 3 * bend * moved)
        return np.asarray(3 * moved / (root * root + root + 1))


_DIGITS = 10
"""Decimals of limits. Further ones would depend on the order of summation."""

_FLAT = 1e-10
"""A standard error this small, relative to the larger of 1 and the number, is rounding error around zero."""

_FEWEST_IN_WORDS = {5: "five"}[FEWEST]


def too_few(count: int, unit: str) -> str:
    """The reason for a missing interval if there are too few clusters."""
    return f"{NO_INTERVAL}too few {unit} ({count}; {_FEWEST_IN_WORDS} are needed)"


def same_in_all(count: int, unit: str) -> str:
    """The reason for a missing interval if the number does not vary."""
    return f"{NO_INTERVAL}the same in all {count:,} {unit}"


@dataclass(frozen=True)
class EstimateArrays:
    """K numbers with limits and standard errors (NaN if missing). `method` has each number's method, or the reason for
    a missing interval. `within` is the range of all numbers."""

    numbers: Numbers
    low: Floats
    high: Floats
    error: Floats
    method: NDArray[np.object_]
    within: tuple[float, float] = (-inf, inf)

    def possible(self, error: Floats, unit: str) -> EstimateArrays:
        """The same numbers, without the intervals that cannot be computed. `error` is on the scale on which limits are
        computed."""
        value, _, clusters = self.numbers
        method = self.method.copy()
        alone = ~(np.isfinite(self.low) & np.isfinite(self.high))
        method[alone] = f"{NO_INTERVAL}it rests on one of the {unit}"
        flat = is_flat(value, error)
        for place in np.flatnonzero(flat):
            method[place] = same_in_all(round(clusters[place]), unit)
        few = clusters < FEWEST
        for place in np.flatnonzero(few):
            method[place] = too_few(round(clusters[place]), unit)
        none = alone | flat | few
        low, high = (np.where(none, nan, limit) for limit in (self.low, self.high))
        return replace(self, low=low, high=high, error=np.where(none, nan, self.error), method=method)

    def kept(self, within: tuple[float, float]) -> EstimateArrays:
        """The same numbers, with limits that are rounded and clipped to the range. Limits always enclose the number."""
        value = self.numbers.value
        low, high = (np.clip(np.round(limit, _DIGITS), *within) for limit in (self.low, self.high))
        return replace(self, low=np.minimum(low, value), high=np.maximum(high, value), within=within)

    def instead(self, where: Flags, low: Floats, high: Floats, name: str) -> EstimateArrays:
        """The same numbers, with other limits for each number that `where` [K] marks and that has enough clusters."""
        enough = where & (self.numbers.clusters >= FEWEST)
        method = self.method.copy()
        method[enough] = name
        return replace(self, low=np.where(enough, low, self.low), high=np.where(enough, high, self.high), method=method)


def is_flat(value: Floats | float, error: Floats) -> Flags:
    """Flags of the numbers that are the same in every cluster, so that their standard error is 0."""
    return np.asarray(error <= _FLAT * np.maximum(1.0, np.abs(value)))


def estimates_of(made: EstimateArrays, nothing: str, few: str | None, level: float) -> list[Estimate]:
    """The numbers as a list of estimates. A missing value has the reason `few` if `few` is given and the number has
    units. Otherwise it has the reason `nothing`."""
    value, n, _ = made.numbers
    ends = ends_of(made.within)
    columns = (value + 0.0, made.low + 0.0, made.high + 0.0, np.rint(n).astype(int), made.method, made.error)
    return [
        not_computed(nothing if few is None or count == 0 else few, level=level, n=count)
        if isnan(middle)
        else Estimate(
            middle, _shared_nan(lower), _shared_nan(upper), count, method, level, None if isnan(error) else error, ends
        )
        for middle, lower, upper, count, method, error in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _shared_nan(limit: float) -> float:
    """The limit. Any NaN is replaced by the same object, `math.nan`, so that equal estimates compare equal."""
    return nan if isnan(limit) else limit


_Part = TypeVar("_Part")
_Batched = TypeVar("_Batched", bound="tuple[Sums, *tuple[object, ...]]")

_AT_ONCE = 2**17
"""The maximum number of influence values in memory at a time."""

_SMALLEST = 1e-6
"""A standard deviation smaller than this is rounding error around zero."""


class Scale(NamedTuple):
    """A scale on which a number's distribution is symmetric enough for Student's t: the transformation, its inverse,
    and its name.

    `skewed` is True if skewness must still be corrected on this scale.
    """

    to: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    name: str
    skewed: bool = True

    @property
    def linear(self) -> bool:
        """Whether this is the number's own scale, without a transformation."""
        return self.to is _identity


def _identity(values: Floats) -> Floats:
    return values


LINEAR = Scale(_identity, _identity, "Student's t over {unit}, corrected for skewness")
STUDENT = Scale(_identity, _identity, "Student's t over {unit}", skewed=False)
LOGARITHM = Scale(
    np.log,
    np.exp,
    "Student's t over {unit}, on a log scale, corrected for skewness; intervals remain too narrow for skewed values",
)
"""The scale for standard deviations. Squares of skewed values have long tails, which a sample often misses."""
FISHER = Scale(np.arctanh, np.tanh, "Student's t over {unit}, of Fisher's z", skewed=False)


@dataclass(frozen=True)
class Jackknife:
    """Intervals over clusters, computed by the rule of this module (see `gaps`).

    `level` is the nominal coverage, and `unit` names the clusters. `seed` determines the random groups of more than
    1,000 clusters. Some studies need random draws, and make `resamples` draws from this seed. The usual intervals need
    no draws. With `bootstrap`, the limits of means and ratios are percentiles of `resamples` bootstrap samples of
    clusters. These limits are too narrow if there are few clusters. For differences, `bootstrap` has no effect.
    """

    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    unit: str = "issues"
    bootstrap: bool = False

    def over(self, cluster: int | AnyInts, weight: Floats | None = None) -> Resampling:
        """A `Resampling` for many numbers over the same clusters. `cluster` is the number of clusters, or an array with
        the index of each row's cluster. `weight` has each row's weight, None if all weights are 1."""
        return Resampling(self, np.arange(cluster) if isinstance(cluster, int) else cluster, weight)

    def mean(self, values: Sequence[float] | Floats, within: Range = ANYTHING) -> Estimate:
        """The mean of one value per cluster. Clusters with NaN are left out; `n` counts the others."""
        kept = np.asarray(values, float)
        kept = kept[np.isfinite(kept)]
        return self.ratio(kept, np.ones(kept.size), within)

    def ratio(
        self, numerators: Sequence[float] | Floats, denominators: Sequence[float] | Floats, within: Range = ANYTHING
    ) -> Estimate:
        """The sum of numerators divided by the sum of denominators. Each cluster has one of each.

        Clusters with denominator 0 are left out; `n` counts the others.
        """
        below = np.asarray(denominators, float)
        use = below > 0
        above, below = np.asarray(numerators, float)[use], below[use]
        nothing = f"no {self.unit} to average"
        if not below.size:
            return not_computed(nothing, level=self.level)
        resampling = self.over(below.size)
        sums = resampling.sums(ClusterSums(above, below))
        numbers = sums.numbers._replace(n=sums.numbers.clusters)
        return resampling.ratio(sums._replace(numbers=numbers), nothing, within)


class Resampling:
    """Intervals over the clusters that rows belong to.

    `cluster` [rows] is the index of each row's cluster, from 0. `group` [rows] is the index of each row's group of
    clusters, and `groups` is the number of groups. The jackknife leaves out whole groups. `weight` [rows] is the row's
    weight in numbers that are computed from rows, None if all weights are 1.
    """

    def __init__(self, jackknife: Jackknife, cluster: AnyInts, weight: Floats | None = None) -> None:
        self._jackknife = jackknife
        self.weight = weight
        self.level = jackknife.level
        self.unit = jackknife.unit
        self.cluster = cluster
        many = int(cluster.max()) + 1
        self.apart = many == len(cluster)
        self.groups = min(many, MOST)
        self._group = group_of_clusters(many, jackknife.seed)
        self.group = self._group[cluster]

    @cached_property
    def unweighted(self) -> Resampling:
        """The same clusters, with equal weights for all rows."""
        return self if self.weight is None else Resampling(self._jackknife, self.cluster)

    def ratios(self, counts: Iterable[ClusterSums | Sums], nothing: str, within: Range = SHARE) -> list[list[Estimate]]:
        """One list of ratios for each element of `counts`. `nothing` is the reason for a missing value.

        Wilson's interval is used for a number with the range 0 to 1 if its value in each single cluster is 0 or 1. It
        is also used for any bounded number that is the same in all clusters.
        """
        made: list[list[Estimate]] = []
        for batch in self._batches((self._as_sums(count),) for count in counts):
            pieces = side_by_side([columns for (columns,) in batch], self._numbers_at_once)
            found = [self._estimate_ratios(some, self.influence(some), nothing, within) for some in pieces]
            made += _split_by_width(chain(*found), [columns.width for (columns,) in batch])
        return made

    def ratio(self, counts: ClusterSums | Sums, nothing: str, within: Range = SHARE) -> Estimate:
        """A single ratio, as in `ratios`."""
        return self.ratios([counts], nothing, within)[0][0]

    def differences(
        self, pairs: Iterable[tuple[ClusterSums, ClusterSums]], nothing: str
    ) -> list[list[tuple[Estimate, Estimate, Estimate]]]:
        """For each pair, both proportions and their difference (second minus first). The jackknife leaves each cluster
        out of both proportions."""
        made: list[list[tuple[Estimate, Estimate, Estimate]]] = []
        for batch in self._batches((self._as_sums(first), self._as_sums(second)) for first, second in pairs):
            pieces = zip(*(side_by_side(side, self._numbers_at_once) for side in zip(*batch, strict=True)), strict=True)
            found = [self._estimate_differences(first, second, nothing) for first, second in pieces]
            made += _split_by_width(chain(*found), [first.width for first, _ in batch])
        return made

    def statistic(
        self,
        parts: Floats,
        of: Callable[[AnyFloats], AnyFloats],
        nothing: str,
        *,
        within: Range = ANYTHING,
        scale: Scale = LINEAR,
        block: AnyInts | None = None,
        use: Flags | None = None,
    ) -> Estimate:
        """An estimate of any function of sums over rows. `use` [rows] marks the rows to use (None: all), and `n` counts
        them. `within` is the function's range.

        `parts` [rows, K] are summed within each block, and `block` [rows] is the index of each row's block. `of` is the
        function: it maps sums [m, blocks, K] to values [m], for any m.
        """
        chosen = np.ones(len(parts), bool) if use is None else use
        parts = parts if self.weight is None else parts * self.weight[:, None]
        block = np.zeros(len(parts), np.int64) if block is None else block
        shape = (self.groups, int(block.max(initial=0)) + 1, parts.shape[1])
        cell = (self.group * shape[1] + block)[chosen]
        sums = [np.bincount(cell, part, shape[0] * shape[1]) for part in parts[chosen].T]
        sums_of = np.stack(sums, axis=1).astype(float).reshape(shape)
        every = sums_of.sum(0, keepdims=True)
        value, without = (np.asarray(of(totals), float) for totals in (every, every - sums_of))
        present = np.unique(self.group[chosen])
        influence = _influence_left_out(
            value, without[:, None], np.isin(np.arange(self.groups), present)[:, None], scale
        )
        clusters = chosen.sum() if self.apart else len(np.unique(self.cluster[chosen]))
        numbers = Numbers(value, np.array([chosen.sum()]), np.array([clusters], float))
        return self.estimates(numbers, influence, nothing, within=within, scale=scale)[0]

    def sums(self, counts: ClusterSums) -> Sums:
        """Values by cluster, summed by group."""
        above, below = self._sum_by_group(counts.above), self._sum_by_group(counts.below)
        of = np.broadcast_to(np.arange(below.shape[1]), above.shape[1])
        whole = _sum_pairwise(below)[of]
        n = whole if counts.many is None else _sum_pairwise(self._sum_by_group(counts.many))[of]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = _sum_pairwise(above) / whole
        clusters = np.count_nonzero(counts.below.reshape(len(counts.below), -1), axis=0)[of].astype(float)
        return Sums(above - np.nan_to_num(value) * below[:, of], below, of, Numbers(value, n, clusters))

    def influence(self, sums: Sums) -> Influence:
        """The influence of each group on the ratios. It is needed for numbers that combine several ratios."""
        known, place = np.unique(sums.of, return_inverse=True)
        below = sums.below[:, known]
        groups, freedom = np.count_nonzero(below, axis=0).astype(float), freedom_of(below)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = (groups - 1) / groups / (below.sum(0) - below)
            parts = sums.above * (each if len(known) == len(place) else each[:, place])
        return Influence(parts, groups[place], freedom[place])

    def estimates(
        self,
        numbers: Numbers,
        influence: Influence,
        nothing: str,
        *,
        few: str | None = None,
        within: Range = ANYTHING,
        scale: Scale = LINEAR,
    ) -> list[Estimate]:
        """Estimates of numbers, with intervals from influence values on `scale`. Limits are on the numbers' own scale.
        A missing value has the reason `few` if `few` is given and the number has units. Otherwise it has the reason
        `nothing`.
        """
        made = self._estimate_arrays(numbers, standard_errors(influence), within, scale)
        return estimates_of(made, nothing, few, self.level)

    def _estimate_arrays(self, numbers: Numbers, spread: StandardErrors, within: Range, scale: Scale) -> EstimateArrays:
        """The numbers with limits by the rule of `gaps`, and with the name of the method."""
        value = numbers.value + 0.0  # no negative zero
        low, high = gaps(spread if scale.skewed else spread._replace(skewness=np.zeros_like(value)), self.level)
        if not scale.linear:
            with np.errstate(divide="ignore", invalid="ignore"):
                on_it = scale.to(value)
                low, high = scale.back(on_it + low) - value, scale.back(on_it + high) - value
        method = np.full(len(value), scale.name.format(unit=self.unit), object)
        error = spread.error if scale.linear else np.full(len(value), np.nan)
        made = (
            EstimateArrays(numbers, value + low, value + high, error, method)
            .possible(spread.error, self.unit)
            .kept(within)
        )
        if scale.linear and np.isfinite(within).all():
            made = made.instead(is_flat(value, spread.error), *self._flat_limits(numbers, within), self._wilson_method)
        return made

    def _flat_limits(self, numbers: Numbers, within: Range) -> tuple[Floats, Floats]:
        """Limits of a number that is the same in all clusters. Wilson's limit gives the proportion of clusters that may
        differ, and a differing cluster may have any value within the range."""
        value = numbers.value
        _, most = wilson_limits(0, numbers.clusters, self.level)
        return value - most * (value - within[0]), value + most * (within[1] - value)

    @property
    def _wilson_method(self) -> str:
        return f"Wilson, over {self.unit}"

    def _estimate_ratios(self, columns: Sums, influence: Influence, nothing: str, within: Range) -> list[Estimate]:
        made = self._ratio_arrays(columns, standard_errors(influence), within)
        if self._jackknife.bootstrap:
            limits = np.clip(self._bootstrap_limits(columns), *within)
            varies = np.isfinite(made.low) & ~is_flat(columns.numbers.value, standard_errors(influence).error)
            name = f"percentiles of {self._jackknife.resamples:,} bootstrap samples of {self.unit}"
            made = made.instead(varies & np.isfinite(limits).all(0), limits[0], limits[1], name)
        return estimates_of(made, nothing, None, self.level)

    def _bootstrap_limits(self, columns: Sums) -> Floats:
        """The lower and upper percentiles [2, K] of ratios over clusters sampled with replacement. NaN if a sample's
        denominator is 0."""
        draws, tail = np.random.default_rng(self._jackknife.seed), (1 - self.level) / 2
        often = draws.multinomial(self.groups, np.full(self.groups, 1 / self.groups), self._jackknife.resamples)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = (often @ columns.above) / (often @ columns.below)[:, columns.of]
        return np.asarray(columns.numbers.value + np.quantile(moved, (tail, 1 - tail), axis=0))

    def _ratio_arrays(self, columns: Sums, spread: StandardErrors, within: Range) -> EstimateArrays:
        made = self._estimate_arrays(columns.numbers, spread, within, LINEAR)
        if within != SHARE:
            return made
        value = columns.numbers.value
        limits = wilson_limits(value, self._effective_clusters(columns.numbers, spread), self.level)
        return made.instead(_pure_shares(columns) & ~is_flat(value, spread.error), *limits, self._wilson_method)

    def _effective_clusters(self, numbers: Numbers, spread: StandardErrors) -> Floats:
        """The effective number of clusters for each proportion that is 0 or 1 in every cluster: so many equally
        weighted clusters would give the same standard error.

        If a few clusters outweigh the others, the effective number is itself uncertain. It is therefore multiplied by
        the squared ratio of Student's quantiles (Korn and Graubard 1998, Surv. Methodol. 24:193), which is 1 for equal
        weights.
        """
        value, groups, tail = numbers.value, np.minimum(numbers.clusters, MOST), (1 + self.level) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            alike = value * (1 - value) / (spread.error**2 * (groups - 1) / groups)
            return np.asarray(
                alike * (scipy.special.stdtrit(groups - 1, tail) / scipy.special.stdtrit(spread.freedom, tail)) ** 2
            )

    def deviations(
        self, sums: Sums, squares: Floats, nothing: str, few: str, within: Range = ANYTHING
    ) -> list[Estimate]:
        """Standard deviations (with divisor n - 1), computed from the sums behind the means, and from `squares`.

        `squares` [groups, K] are sums of squared deviations from the means. `few` is the reason for a missing standard
        deviation if there is only one value.
        """
        below = sums.below[:, sums.of]
        count, total, square = below.sum(0), sums.above.sum(0), squares.sum(0)
        value = _standard_deviation(total, count, square)
        value = np.where(value < _SMALLEST, 0.0, value)
        without = _standard_deviation(total - sums.above, count - below, square - squares)
        influence = _influence_left_out(value, np.where(without < _SMALLEST, 0.0, without), below > 0, LOGARITHM)
        numbers = sums.numbers._replace(value=value)
        most = (within[1] - within[0]) / 2  # reached if half of the values are at each end of the range
        return self.estimates(numbers, influence, nothing, few=few, within=(0.0, most), scale=LOGARITHM)

    def _estimate_differences(
        self, first: Sums, second: Sums, nothing: str
    ) -> list[tuple[Estimate, Estimate, Estimate]]:
        sides, moved = (first, second), [self.influence(side) for side in (first, second)]
        shares = [self._estimate_ratios(*side, nothing, SHARE) for side in zip(sides, moved, strict=True)]
        (p, n, behind), (q, m, others) = first.numbers, second.numbers
        numbers = Numbers(q - p, np.minimum(n, m), np.minimum(behind, others))
        gaps = self.estimates(numbers, moved[1] - moved[0], nothing, within=DIFFERENCE)
        return list(zip(*shares, gaps, strict=True))

    def _as_sums(self, counts: ClusterSums | Sums) -> Sums:
        return counts if isinstance(counts, Sums) else self.sums(counts)

    @property
    def _numbers_at_once(self) -> int:
        return max(1, _AT_ONCE // self.groups)

    def _batches(self, parts: Iterable[_Batched]) -> Iterator[list[_Batched]]:
        """Group parts into batches. Each has about as many ratios as are processed at once."""
        batch: list[_Batched] = []
        width = 0
        for part in parts:
            batch.append(part)
            width += part[0].width
            if width >= self._numbers_at_once:
                yield batch
                batch, width = [], 0
        if batch:
            yield batch

    def _sum_by_group(self, sums: Floats) -> Floats:
        """Sums by group [groups, K], computed from sums by cluster ([clusters] or [clusters, K])."""
        wide = sums.reshape(len(sums), -1)
        if len(wide) == self.groups:
            return wide
        order, starts = self._group_order
        return np.asarray(np.add.reduceat(wide[order], starts, axis=0))

    @cached_property
    def _group_order(self) -> tuple[AnyInts, AnyInts]:
        """The clusters in order of their groups, and the index at which each group starts."""
        order = np.argsort(self._group, kind="stable")
        return order, np.searchsorted(self._group[order], np.arange(self.groups))


def _influence_left_out(value: Floats, without: Floats, present: Flags, scale: Scale) -> Influence:
    """The influence of groups on K numbers, on a scale. `without` [groups, K] has the numbers without each group.

    A group has no influence on a number that is the same without it, even if the number is 0 and the scale logarithmic.
    """
    groups = present.sum(0).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = (scale.to(value) - scale.to(without)) * (groups - 1) / groups
    same: Flags = np.asarray((without == value) | ~present)
    return Influence(np.where(same, 0.0, moved), groups, np.maximum(groups - 1, 1))


def _pure_shares(columns: Sums) -> Flags:
    """Whether each proportion is 0 or 1 in every cluster."""
    below = columns.below[:, columns.of]
    above = columns.above + np.nan_to_num(columns.numbers.value) * below
    return np.asarray(np.einsum("gk,gk->k", above, below - above) < _SMALLEST)


def _sum_pairwise(sums: Floats) -> Floats:
    """Sums over the first axis, with the same rounding errors for any number of columns."""
    return np.asarray(np.ascontiguousarray(sums.T).sum(1))


def _standard_deviation(total: Floats, count: Floats, square: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(square - total**2 / count, 0)
        return np.asarray(np.sqrt(spread / np.where(count > 1, count - 1, np.nan)))


def _split_by_width(flat: Iterable[_Part], widths: Sequence[int]) -> list[list[_Part]]:
    every = iter(flat)
    return [[next(every) for _ in range(width)] for width in widths]
