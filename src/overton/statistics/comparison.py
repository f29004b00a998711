"""Numbers over the same items compared: differences, verdicts, joint levels, and the variance between means.

Each item is left out of both numbers. The difference between two models has Student's interval; one within a model has
the one rule's (`statistics.jackknife`), and at least Student's. Nothing here knows what the numbers measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, isnan, nan
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
    """The estimate with its limits for another `level`, widened by the ratio of Student's quantiles.

    Each limit keeps its own distance from the value, so that corrections for skewness are preserved; but if the
    standard error is known, neither is nearer than Student's t has it: for the skewness of such a far tail there is too
    little data. Limits stay within the estimate's range. `freedom` are Student's degrees of freedom. With `level` =
    1 - a / k, all of k such intervals cover in at least 1 - a of cases (Bonferroni). Estimates without an interval are
    returned unchanged.
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
    """The variance (sample, k - 1) of k means, its limits, and its expectation if the true means were equal."""

    value: float
    low: float
    high: float
    by_chance: float


def variance_of_means(means: Floats, parts: Floats, groups: int, level: float) -> VarianceOfMeans:
    """The variance of k means [k] whose influence values are `parts` [groups, k], of so many groups; NaN for the limits
    if no mean varies.

    Limits are those of the root of the sum of squares about the mean of the means, by Student's t with the standard
    error that it has in its own direction; the lower one is 0 unless an F test separates the means, whose degrees of
    freedom are Greenhouse and Geisser's (1959). For two means they are Student's limits of the difference, squared.
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
"""The probability of a verdict that `items_needed` plans for."""

_WIDER_METHOD = "Student's t over {unit}, the wider of with and without correction for skewness"

_DRAWS_OF_T = 4000
"""Draws of a t by chance: its 95% quantile is then exceeded by 4.3 to 5.7% of all draws."""

_NO_SHARED_ITEM = "they share no item that has it"


def equivalence_level(level: float) -> float:
    """The coverage of the interval that has to lie within a margin: each of its ends is a test (0.95 gives 0.9).

    Two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657).
    """
    return round(2 * level - 1, 12)


@dataclass(frozen=True)
class Number:
    """A number over items [1], and how far each group of items moves it; `within` is its range.

    `sizes` [draws] are those of t, the difference over its standard error, that chance gives a difference from it, if
    they are known from elsewhere than the items.
    """

    numbers: Numbers
    influence: Influence
    within: Range
    sizes: Floats | None = None

    @property
    def value(self) -> float:
        """The number itself, NaN if there is none."""
        return float(self.numbers.value[0])

    def minus(self, other: Number) -> Number:
        """The difference of two numbers over the same items, each item left out of both."""
        (value, n, clusters), (less, m, others) = self.numbers, other.numbers
        low, high = self.within[0] - other.within[1], self.within[1] - other.within[0]
        numbers = Numbers(value - less, np.minimum(n, m), np.minimum(clusters, others))
        return Number(numbers, self.influence - other.influence, (low, high), other.sizes)

    def estimate(self, resampling: Resampling) -> Estimate:
        """The number with its interval, by the one rule."""
        if not self.influence.parts.size:
            return not_computed(_NO_SHARED_ITEM, level=resampling.level)
        return resampling.estimates(self.numbers, self.influence, _NO_SHARED_ITEM, within=self.within)[0]

    def student(self, resampling: Resampling) -> Estimate:
        """The number with Student's limits, not corrected for skewness: for two models that are exchangeable.

        If two models do not differ, exchanging their values of an item changes nothing, so that the differences are
        symmetric. The skewness of a few of them is a guess, and by limits corrected for it one pair in ten of equal
        models is called different (docs/compare.md).
        """
        if not self.influence.parts.size:
            return not_computed(_NO_SHARED_ITEM, level=resampling.level)
        return resampling.estimates(self.numbers, self.influence, _NO_SHARED_ITEM, within=self.within, scale=STUDENT)[0]

    def wider(self, resampling: Resampling) -> Estimate:
        """The number with the wider of the rule's limits and Student's own at each end: for a difference within one
        model, whose two numbers need not be exchangeable.

        Nor are the limits nearer than where chance, if it is known, stays as often as the level says: if few items flip
        by chance, the sample may contain none that did, and Student's t knows nothing of that (the studentized
        permutation test; Janssen 1997, Stat. Probab. Lett. 36:9).
        """
        corrected, plain = self.estimate(resampling), self.student(resampling)
        if isnan(corrected.low) or corrected.error is None:
            return corrected
        reach = 0.0
        if self.sizes is not None:  # a quantile between two values would be between infinite ones
            reach = corrected.error * float(np.quantile(self.sizes, resampling.level, method="higher"))
        return structs.replace(
            corrected,
            low=min(corrected.low, plain.low, max(corrected.value - reach, self.within[0])),
            high=max(corrected.high, plain.high, min(corrected.value + reach, self.within[1])),
            method=_WIDER_METHOD.format(unit=resampling.unit),
        )


def drawn_sizes(noise: AnyFloats, weight: AnyFloats) -> Floats:
    """The sizes of t by chance [many]: of means weighted by `weight` [items], which sums to 1, over their standard
    errors, recombining the draws of the effect of chance on each item, `noise` [draws, items]."""
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
    """A function `of` sums over items of `parts` [items, K]; `ratio` of a numerator and a denominator is one.

    Items whose parts are all 0 say nothing and are not counted. Degrees of freedom are one less than the other items;
    for a ratio fewer, if few items outweigh the others.
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
    """A number [1] known with each group of items left out, `without` [groups]; `present` [groups] says which groups
    have one of the `items`, by default all."""
    groups = float(len(without) if present is None else present.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = (value - without) * (groups - 1) / groups
    if present is not None:
        parts = np.where(present, parts, 0.0)
    count = np.array([float(items)])
    influence = Influence(parts[:, None], np.array([groups]), np.array([max(groups - 1, 1.0)]))
    return Number(Numbers(value, count, count), influence, within)


def withhold_interval(estimate: Estimate, why: str) -> Estimate:
    """The estimate without its interval, or without its value too if `why` says that it is not computed; unchanged if
    nothing is wrong with it."""
    if not why:
        return estimate
    value = nan if why.startswith(NOT_COMPUTED) else estimate.value
    return structs.replace(estimate, value=value, low=nan, high=nan, method=why, error=None)


@dataclass(frozen=True)
class Gap:
    """A difference: at the requested level, and at that of equivalence."""

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
    """The intervals of a difference over so many items; `levels` replaces the plain pair, `flaw` says why there are
    none. It is between two models, unless it is `within_model`: between two conditions of one, or from its null."""
    level, inner = levels or (jackknife.level, equivalence_level(jackknife.level))
    limits = difference.wider if within_model else difference.student
    made = [limits(replace(jackknife, level=coverage).over(max(items, 1))) for coverage in (level, inner)]
    return Gap(*(withhold_interval(estimate, flaw) for estimate in made))


def verdict_of(found: Sequence[Gap], margin: float) -> Verdict:
    """The verdict on a difference, given its intervals: alone, and jointly with all that were looked at together.

    Equivalent: the inner interval lies within the margin. Otherwise higher or lower: the outer one excludes 0.
    Otherwise undecided. All of `found` have to agree.
    """
    said = {_verdict_alone(intervals, margin) for intervals in found}
    return said.pop() if len(said) == 1 else "undecided"


def _verdict_alone(found: Gap, margin: float) -> Verdict:
    own, inner = found.own, found.equivalence
    if not isnan(inner.low) and -margin <= inner.low and inner.high <= margin:
        return "equivalent"
    if not isnan(own.low) and own.low > 0:
        return "higher"
    return "lower" if not isnan(own.high) and own.high < 0 else "undecided"


FEW = 30
"""With fewer items, joint intervals are Bonferroni's. Correlations that are estimated from m items have rank m - 1: of
ten equal models over five items, max-t intervals covered all differences jointly in 72% of cases (docs/compare.md)."""

_DRAWS = 20_000
_ZERO = 1e-12

Differences = Sequence[tuple[Number, Sequence[int]]]


def joint_differences(differences: Differences, level: float, seed: int) -> float:
    """The level at which all intervals of several differences cover jointly at `level`: max-t (Hothorn, Bretz and
    Westfall 2008, Biom. J. 50:346) if `max_t_holds`, otherwise Bonferroni's.

    Each difference comes with the places of its items, so that what they share is known. The largest of their t values
    is drawn from a multivariate t distribution whose correlations are those of the items' influence; never less strict
    than one alone, never stricter than Bonferroni.
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
    """Whether joint intervals of several differences can rest on their correlations: two or more of them vary, none has
    fewer than `FEW` items (or as few degrees of freedom), and items are not left out in groups."""
    known = [(difference, items) for difference, items in differences if _varies(difference)]
    return len(known) > 1 and all(
        len(difference.influence.parts) == len(items) and float(difference.influence.freedom[0]) >= FEW - 1
        for difference, items in known
    )


def _varies(difference: Number) -> bool:
    parts = difference.influence.parts
    return bool(parts.size and np.isfinite(parts).all() and np.abs(parts).max() > _ZERO)


class ItemsToDecide(NamedTuple):
    """How many items in all would decide, and what, if the difference stays as it is; `error` is the standard error
    that would."""

    items: int
    verdict: Verdict
    error: float


def items_needed(found: Gap, margin: float, items: int) -> ItemsToDecide | None:
    """With so many items like these a verdict is reached with probability `POWER`, if the true difference is the one
    found and items vary as these do; the cheaper of the two verdicts. None if nothing can be said.

    Plain normal theory: (z_level + z_power) s / distance, squared, where distance is that to 0, or to the margin.
    """
    value, error = found.own.value, found.own.error
    if error is None or isnan(value) or not isfinite(error) or items < 2:
        return None
    # With the truth in the middle both ends have to lie inside, each with half of the allowed failures.
    central = (1 + POWER) / 2 if value == 0 else POWER
    other: Verdict = "higher" if value > 0 else "lower"
    asked: list[tuple[float, Verdict]] = [
        (_error_to_detect(abs(value), (1 + found.own.level) / 2, POWER), other),
        (_error_to_detect(margin - abs(value), (1 + found.equivalence.level) / 2, central), "equivalent"),
    ]
    wanted, verdict = max(asked, key=lambda choice: choice[0])
    factor = (error / wanted) ** 2 if wanted > 0 else inf
    if factor >= _MOST_TIMES_ITEMS:
        return None
    return ItemsToDecide(max(ceil(items * factor), items + 1), verdict, wanted)


_MOST_TIMES_ITEMS = 1e6
"""Nobody asks this many times the items: more items are then not what is needed."""


def _error_to_detect(distance: float, level: float, power: float) -> float:
    """The standard error with which a value this far away is excluded with probability `power`."""
    return max(distance, 0.0) / float(scipy.special.ndtri(level) + scipy.special.ndtri(power))


class PossibleRanks(NamedTuple):
    """The places that one of several could have, 1 for the highest number."""

    best: int
    worst: int


def possible_ranks(names: Sequence[str], differences: Mapping[tuple[str, str], Estimate]) -> dict[str, PossibleRanks]:
    """Each one's places from simultaneous intervals of all differences (second minus first) (Mogstad, Romano, Shaikh
    and Wilhelm 2024, Rev. Econ. Stud. 91:476).

    All of them hold jointly with the intervals' level. A pair without an interval separates nothing.
    """
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for (first, second), difference in differences.items():
        if difference.low > 0:
            above[first], below[second] = above[first] + 1, below[second] + 1
        elif difference.high < 0:
            above[second], below[first] = above[second] + 1, below[first] + 1
    return {name: PossibleRanks(1 + above[name], len(names) - below[name]) for name in names}
