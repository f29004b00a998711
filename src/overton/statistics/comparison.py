"""Comparisons of numbers over the same items: differences, verdicts, joint levels, and the variance between means.

For a difference, the jackknife leaves each item out of both numbers at once. A difference between two models has
Student's interval. A difference within a model has the wider of Overton's usual interval (`statistics.jackknife`) and
Student's. Nothing here depends on the meaning of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, isnan, nan
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import scipy
from msgspec import structs
from numpy.typing import NDArray

from overton.statistics.arrays import AnyFloats, Floats
from overton.statistics.cluster_sums import ClusterSums, Numbers
from overton.statistics.estimate import ANYTHING, NOT_COMPUTED, Estimate, Range, not_computed, ratio
from overton.statistics.jackknife import STUDENT, Influence, Jackknife, Resampling


def widened(estimate: Estimate, level: float, freedom: float) -> Estimate:
    """The estimate with limits for another `level`: the interval is widened by the ratio of Student's quantiles.

    The distance of each limit from the value is multiplied by the ratio of the two quantiles, so that corrections for
    skewness are preserved. If the standard error is known, however, no limit is nearer to the value than Student's
    limit. Limits stay within the estimate's range. `freedom` are Student's degrees of freedom. With the level 1 - a/k,
    k intervals jointly cover their true values with probability at least 1 - a (Bonferroni). Estimates without an
    interval are returned unchanged.
    """
    if isnan(estimate.low) or isnan(estimate.high):
        return estimate
    quantile = float(scipy.special.stdtrit(freedom, (1 + level) / 2))
    ratio = quantile / float(scipy.special.stdtrit(freedom, (1 + estimate.level) / 2))
    least = quantile * (estimate.error or 0.0)
    low = estimate.value - max(ratio * (estimate.value - estimate.low), least)
    high = estimate.value + max(ratio * (estimate.high - estimate.value), least)
    lowest, highest = estimate.within
    low = low if lowest is None else max(low, min(lowest, estimate.low))
    high = high if highest is None else min(high, max(highest, estimate.high))
    return msgspec.structs.replace(estimate, low=low, high=high, level=level)


class VarianceOfMeans(NamedTuple):
    """The sample variance (divisor k - 1) of k means, its limits, and its expectation if the true means were equal."""

    value: float
    low: float
    high: float
    by_chance: float


def variance_of_means(means: Floats, parts: Floats, groups: int, level: float) -> VarianceOfMeans:
    """The variance of k means [k] with influence values `parts` [groups, k]. Its limits are NaN if each group has the
    same influence on all means.

    Let r be the square root of the sum of the means' squared deviations from their average. The limits are derived from
    Student's limits of r, with a standard error by linearisation. The lower limit is above 0 only if an F test with the
    degrees of freedom of Greenhouse and Geisser (1959) finds the means different. For two means, the limits are half
    the squares of Student's limits of the difference.
    """
    k = len(means)
    away = means - means.mean()
    centred = parts - parts.mean(1, keepdims=True)
    covariance = centred.T @ centred * groups / (groups - 1)
    expected, length = float(np.trace(covariance)), float(np.sqrt(away @ away))
    value, by_chance = length**2 / (k - 1), expected / (k - 1)
    if expected <= 0:
        return VarianceOfMeans(value, float("nan"), float("nan"), by_chance)
    worth = expected**2 / float((covariance * covariance).sum())
    apart = value / by_chance > scipy.special.fdtri(worth, worth * (groups - 1), level)
    along = max(float(away @ covariance @ away), 0.0) / length**2 if length else by_chance
    margin = float(scipy.special.stdtrit(groups - 1, (1 + level) / 2)) * along**0.5
    low = max(0.0, length - margin) ** 2 / (k - 1) if apart else 0.0
    return VarianceOfMeans(value, low, (length + margin) ** 2 / (k - 1), by_chance)


Verdict = Literal["higher", "lower", "equivalent", "undecided"]

POWER = 0.8
"""`items_needed` plans for a verdict with this probability."""

_WIDER_METHOD = "Student's t over {unit}, the wider of with and without correction for skewness"

_DRAWS_OF_T = 4000
"""The number of random draws of t under the null hypothesis. The true probability of exceeding the estimated 95%
quantile is then 4.3% to 5.7%."""

_NO_SHARED_ITEM = "they share no item that has it"


def equivalence_level(level: float) -> float:
    """The level of the interval that must lie within a margin for equivalence: 0.9 if `level` is 0.95.

    Each end of the interval is one of two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657).
    """
    return round(2 * level - 1, 12)


@dataclass(frozen=True)
class Number:
    """A number over items [1], the influence of each group of items, and the number's range (`within`).

    `sizes` [draws] is a sample from the null distribution of |t| for differences from this number (see `drawn_sizes`).
    It is None if this distribution is unknown.
    """

    numbers: Numbers
    influence: Influence
    within: Range
    sizes: Floats | None = None

    @property
    def value(self) -> float:
        """The number itself, NaN if it cannot be computed."""
        return float(self.numbers.value[0])

    def minus(self, other: Number) -> Number:
        """The difference of two numbers over the same items; the jackknife leaves each item out of both."""
        (value, n, clusters), (less, m, others) = self.numbers, other.numbers
        low, high = self.within[0] - other.within[1], self.within[1] - other.within[0]
        numbers = Numbers(value - less, np.minimum(n, m), np.minimum(clusters, others))
        return Number(numbers, self.influence - other.influence, (low, high), other.sizes)

    def estimate(self, resampling: Resampling) -> Estimate:
        """The number with Overton's usual interval."""
        if not self.influence.parts.size:
            return not_computed(_NO_SHARED_ITEM, level=resampling.level)
        return resampling.estimates(self.numbers, self.influence, _NO_SHARED_ITEM, within=self.within)[0]

    def student(self, resampling: Resampling) -> Estimate:
        """The number with Student's limits, not corrected for skewness, for a difference between two models.

        If two models do not differ, their values for an item are exchangeable, so the differences are symmetric. The
        skewness of a few differences is poorly determined. Limits corrected for skewness would find a difference in one
        in ten pairs of equal models (docs/compare.md).
        """
        if not self.influence.parts.size:
            return not_computed(_NO_SHARED_ITEM, level=resampling.level)
        return resampling.estimates(self.numbers, self.influence, _NO_SHARED_ITEM, within=self.within, scale=STUDENT)[0]

    def wider(self, resampling: Resampling) -> Estimate:
        """The number with two limits. At each end, the usual limit and Student's limit are computed, and the wider one
        is used. This is for differences between two numbers of one model.

        If the null distribution of |t| is known, each limit's distance from the number, in standard errors, is at least
        the quantile of |t| at the level. This is the studentized permutation test (Janssen 1997, Stat. Probab. Lett.
        36:9). If chance changes only a few items, a sample may contain none of these items. Student's t does not allow
        for this case.
        """
        corrected, plain = self.estimate(resampling), self.student(resampling)
        if isnan(corrected.low) or corrected.error is None:
            return corrected
        reach = 0.0
        if self.sizes is not None:  # some values are infinite, so do not interpolate
            reach = corrected.error * float(np.quantile(self.sizes, resampling.level, method="higher"))
        return structs.replace(
            corrected,
            low=min(corrected.low, plain.low, max(corrected.value - reach, self.within[0])),
            high=max(corrected.high, plain.high, min(corrected.value + reach, self.within[1])),
            method=_WIDER_METHOD.format(unit=resampling.unit),
        )


def drawn_sizes(noise: AnyFloats, weight: AnyFloats) -> Floats:
    """A sample from the null distribution of |t|, where t is a weighted mean over items divided by its standard error.
    `noise` [draws, items] has draws of the effect of chance on each item. For each sampled t, the value of each item is
    taken from a random draw. `weight` [items] sums to 1."""
    draws, items = noise.shape
    rows = np.random.default_rng((draws, items)).integers(draws, size=(_DRAWS_OF_T, items))
    drawn = noise[rows, np.arange(items)]
    mean = drawn @ weight
    parts = weight * (drawn - mean[:, None])
    error = np.sqrt((parts * parts).sum(1) * items / (items - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.abs(mean) > _ZERO, np.abs(mean) / error, 0.0))


def number(
    parts: Floats, of: Callable[[AnyFloats], AnyFloats], resampling: Resampling, within: Range = ANYTHING
) -> Number:
    """The number that the function `of` computes from the sums of `parts` [items, K] over items. One such function is
    `ratio`, which divides a numerator by a denominator.

    Items whose parts are all 0 do not contribute and are not counted. Degrees of freedom are the number of counted
    items minus one. A ratio has fewer degrees of freedom if a few items outweigh the other items.
    """
    if not len(parts):
        return number_from_left_out(np.array([nan]), np.empty(0), 0, within)
    if of is ratio:
        sums = resampling.sums(ClusterSums(parts[:, 0], parts[:, 1]))
        items = sums.numbers.clusters
        return Number(sums.numbers._replace(n=items), resampling.influence(sums), within)
    sums_of = np.stack([np.bincount(resampling.group, column, resampling.groups) for column in parts.T], axis=1)
    every = sums_of.sum(0, keepdims=True)
    value, without = (np.asarray(of(sums), float) for sums in (every, every - sums_of))
    speaks = (parts != 0).any(1)
    present = np.bincount(resampling.group, speaks, resampling.groups) > 0
    return number_from_left_out(value, without, int(speaks.sum()), within, present)


def number_from_left_out(
    value: Floats, without: Floats, items: int, within: Range, present: NDArray[np.bool_] | None = None
) -> Number:
    """A number [1], given its values when each group of items is left out (`without` [groups]). `items` is the number
    of items. `present` [groups] marks the groups that contain an item (None: all groups)."""
    groups = float(len(without) if present is None else present.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = (value - without) * (groups - 1) / groups
    if present is not None:
        parts = np.where(present, parts, 0.0)
    count = np.array([float(items)])
    influence = Influence(parts[:, None], np.array([groups]), np.array([max(groups - 1, 1.0)]))
    return Number(Numbers(value, count, count), influence, within)


def withhold_interval(estimate: Estimate, why: str) -> Estimate:
    """The estimate without its interval, for the reason `why`. The value is also removed if `why` states that the value
    is not computed. If `why` is '', the estimate is unchanged."""
    if not why:
        return estimate
    value = nan if why.startswith(NOT_COMPUTED) else estimate.value
    return structs.replace(estimate, value=value, low=nan, high=nan, method=why, error=None)


@dataclass(frozen=True)
class Gap:
    """A difference with two intervals: `own` at the requested level, and `equivalence` at the level for a test of
    equivalence."""

    own: Estimate
    equivalence: Estimate


def gap(
    difference: Number,
    jackknife: Jackknife,
    items: int,
    levels: tuple[float, float] | None = None,
    flaw: str = "",
    *,
    within_model: bool = False,
) -> Gap:
    """The intervals of a difference over this number of `items`. `levels` replaces the usual pair of levels. `flaw` is
    a reason to withhold the intervals, otherwise ''. With `within_model`, the difference is between two conditions of
    one model, such as a condition and its null condition. Otherwise it is between two models."""
    level, inner = levels or (jackknife.level, equivalence_level(jackknife.level))
    limits = difference.wider if within_model else difference.student
    made = [limits(replace(jackknife, level=coverage).over(max(items, 1))) for coverage in (level, inner)]
    return Gap(*(withhold_interval(estimate, flaw) for estimate in made))


def verdict_of(found: Sequence[Gap], margin: float) -> Verdict:
    """The verdict on a difference, given its intervals before and after correction for all tests.

    The verdict is 'equivalent' if the interval for equivalence lies within the margin. Otherwise it is 'higher' or
    'lower' if the interval at the requested level excludes 0. In all other cases it is 'undecided'. It is also
    'undecided' if the intervals before and after correction give different verdicts.
    """
    said = {_verdict_alone(intervals, margin) for intervals in found}
    return said.pop() if len(said) == 1 else "undecided"


def _verdict_alone(found: Gap, margin: float) -> Verdict:
    own, inner = found.own, found.equivalence
    if not isnan(inner.low) and -margin <= inner.low and inner.high <= margin:
        return "equivalent"
    if own.lies_above():
        return "higher"
    return "lower" if own.lies_below() else "undecided"


FEW = 30
"""With fewer items, joint intervals use Bonferroni's correction, because correlations estimated from m items have rank
m - 1. For ten equal models and five items, max-t intervals covered all differences jointly in 72% of cases
(docs/compare.md)."""

_DRAWS = 20_000
_ZERO = 1e-12

Differences = Sequence[tuple[Number, Sequence[int]]]


def joint_differences(differences: Differences, level: float, seed: int) -> float:
    """The level that single intervals need, so that the intervals of all differences jointly cover at `level`. It comes
    from max-t (Hothorn, Bretz and Westfall 2008, Biom. J. 50:346) if `max_t_holds`, otherwise from Bonferroni's
    correction.

    Each difference comes with the indices of its items, so that items shared by several differences are known. For
    max-t, the largest t value of all differences is sampled from a multivariate t distribution, whose correlations are
    those of the items' influence. The result is at least `level`, and at most Bonferroni's level.
    """
    many = len(differences)
    bonferroni = 1 - (1 - level) / max(many, 1)
    if not max_t_holds(differences):
        return bonferroni
    known = [(difference, items) for difference, items in differences if _varies(difference)]
    wide = np.zeros((1 + max(max(items) for _, items in known), len(known)))
    for place, (difference, items) in enumerate(known):
        wide[list(items), place] = difference.influence.parts[:, 0]
    norms = np.sqrt((wide * wide).sum(0))
    values, vectors = np.linalg.eigh((wide / norms).T @ (wide / norms))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    freedom = max(min(float(difference.influence.freedom[0]) for difference, _ in known), 1.0)
    rng = np.random.default_rng((seed, many))
    drawn = rng.standard_normal((_DRAWS, len(known))) @ root.T
    largest = np.abs(drawn).max(1) / np.sqrt(rng.chisquare(freedom, _DRAWS) / freedom)
    critical = float(np.quantile(largest, level))
    return min(max(ceil(1000 * (2 * float(scipy.special.stdtr(freedom, critical)) - 1)) / 1000, level), bonferroni)


def max_t_holds(differences: Differences) -> bool:
    """Whether joint intervals of several differences can use their correlations. This requires that at least two
    differences vary, that each has at least `FEW` - 1 degrees of freedom, and that the jackknife leaves out single
    items, not groups."""
    known = [(difference, items) for difference, items in differences if _varies(difference)]
    return len(known) > 1 and all(
        len(difference.influence.parts) == len(items) and float(difference.influence.freedom[0]) >= FEW - 1
        for difference, items in known
    )


def _varies(difference: Number) -> bool:
    parts = difference.influence.parts
    return bool(parts.size and np.isfinite(parts).all() and np.abs(parts).max() > _ZERO)


class ItemsToDecide(NamedTuple):
    """The total number of items that would give a verdict if the difference stays the same, and that verdict. `error`
    is the standard error that is needed."""

    items: int
    verdict: Verdict
    error: float


def items_needed(found: Gap, margin: float, items: int) -> ItemsToDecide | None:
    """The number of similar items that give a verdict with probability `POWER`, if the true difference is the observed
    one. The verdict is a difference or equivalence, whichever needs fewer items. The result is None if the number
    cannot be computed or is impractical.

    By normal theory the number is ((z_level + z_power) s / d)^2. Here s is the standard deviation of one item, and d is
    the distance from the difference to 0, or to the margin.
    """
    value = found.own.value
    # If the difference is 0, both ends must lie within the margin, each with half of the allowed failures.
    central = (1 + POWER) / 2 if value == 0 else POWER
    other: Verdict = "higher" if value > 0 else "lower"
    asked: list[tuple[float, Verdict]] = [
        (_error_to_detect(abs(value), (1 + found.own.level) / 2, POWER), other),
        (_error_to_detect(margin - abs(value), (1 + found.equivalence.level) / 2, central), "equivalent"),
    ]
    wanted, verdict = max(asked, key=lambda choice: choice[0])
    total = _items_for_error(found.own, wanted, items)
    return None if total is None else ItemsToDecide(total, verdict, wanted)


def items_to_pass(found: Gap, lowest: float, highest: float, items: int) -> int | None:
    """The number of similar items that decide with probability `POWER` whether a difference lies between `lowest` and
    `highest`, if the true difference is the observed one. The limits may be infinite. The result is None if the number
    cannot be computed or is impractical.

    By normal theory, as in `items_needed`. Inside the limits, the interval for equivalence decides, and outside, the
    usual interval.
    """
    above, below = found.own.value - lowest, highest - found.own.value
    inside = min(above, below)
    level = (found.equivalence if inside > 0 else found.own).level
    # Halfway between two limits, each end may fail, so each gets half of the allowed failures.
    power = (1 + POWER) / 2 if above == below else POWER
    return _items_for_error(found.own, _error_to_detect(abs(inside), (1 + level) / 2, power), items)


def _items_for_error(own: Estimate, wanted: float, items: int) -> int | None:
    """The number of items, more than `items`, at which the standard error of a number over `items` items falls to
    `wanted`. None if this cannot be computed or is impractical."""
    if own.error is None or isnan(own.value) or not isfinite(own.error) or items < 2 or not wanted > 0:
        return None
    factor = (own.error / wanted) ** 2
    return max(ceil(items * factor), items + 1) if factor < _MOST_TIMES_ITEMS else None


_MOST_TIMES_ITEMS = 1e6
"""Multiplying the number of items by this much is never practical. A plan must then change something else."""


def _error_to_detect(distance: float, level: float, power: float) -> float:
    """The standard error at which an interval excludes a value at this distance with probability `power`."""
    return max(distance, 0.0) / float(scipy.special.ndtri(level) + scipy.special.ndtri(power))


class PossibleRanks(NamedTuple):
    """The possible ranks of one of several numbers; rank 1 is the highest number."""

    best: int
    worst: int


def possible_ranks(names: Sequence[str], differences: Mapping[tuple[str, str], Estimate]) -> dict[str, PossibleRanks]:
    """The possible ranks of each name, from simultaneous intervals of all differences (Mogstad, Romano, Shaikh and
    Wilhelm 2024, Rev. Econ. Stud. 91:476).

    Each difference is the second number minus the first. All ranks hold jointly at the intervals' level. A pair without
    an interval cannot be ordered.
    """
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for (first, second), difference in differences.items():
        if difference.lies_above():
            above[first], below[second] = above[first] + 1, below[second] + 1
        elif difference.lies_below():
            above[second], below[first] = above[second] + 1, below[first] + 1
    return {name: PossibleRanks(1 + above[name], len(names) - below[name]) for name in names}
