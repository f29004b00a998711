"""Contributions of items to the measures by which models can be compared.

A number is a function of sums over items. Overton can therefore compare two models' numbers over their shared items,
with an interval and a verdict. It can also estimate how many items would decide the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from overton.statistics import NOT_COMPUTED, Estimate, not_computed
from overton.statistics.arrays import Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.comparison import Gap, Number, drawn_sizes, gap, number, withhold_interval
from overton.statistics.estimate import ratio
from overton.statistics.jackknife import Jackknife, Resampling
from overton.studies.measures import Measure

if TYPE_CHECKING:
    from overton.studies.correction import NumberOverItems


@dataclass(frozen=True)
class Contribution:
    """The contribution of each item to one model's number of a measure.

    items  ids without repetitions
    parts  [items, K] the parts to be summed; for a mean or a ratio the numerator and the denominator
    failed_weight   [items] the part of the denominator that is missing because calls failed, 0 if nothing is missing
    refused_weight  [items] the part of the denominator that comes from replies flagged as refusals
    extreme_values  returns the smallest [items] and the largest [items] possible value of each item. If None, the
           bounds follow from `failed_weight` and `refused_weight`
    why    the reason why there is no number, '' if there is one
    noise  [draws, items] random deviations of each item's value in a sampled null condition. They serve to compute the
           distribution of a difference
    corrected  returns the number over some items, corrected with human labels (`overton.studies.correction`); None if
           the number depends on no judge, or if there are no human labels. `labels` names these labels
    answers    the mean number of answers per item and condition; None if this number is unknown, or if the measure is
           unbiased even with few answers
    """

    measure: Measure
    items: tuple[str, ...]
    parts: Floats
    failed_weight: Floats | None = None
    refused_weight: Floats | None = None
    extreme_values: Callable[[], tuple[Floats, Floats]] | None = None
    why: str = ""
    noise: Floats | None = None
    corrected: Callable[[Sequence[str], Resampling], NumberOverItems] | None = None
    labels: str = ""
    answers: float | None = None

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each item that contributes to the number."""
        speaks = self.parts[:, 1:] > 0 if self.measure.of is ratio else self.parts != 0
        says = np.atleast_1d(speaks.any(1)).tolist()
        return {name: row for row, (name, some) in enumerate(zip(self.items, says, strict=True)) if some}

    def over(self, items: Sequence[str], resampling: Resampling) -> Number:
        """The number over `items`. Items that do not contribute to it are ignored."""
        rows, parts = self._rows(items), np.zeros((len(items), self.parts.shape[1]))
        parts[[name in self.place for name in items]] = self.parts[rows]
        made = number(parts, self.measure.of, resampling, self.measure.within)
        if self.noise is None or len(rows) < 2:
            return made
        weight = self.parts[rows, 1] / self.parts[rows, 1].sum()
        return replace(made, sizes=drawn_sizes(self.noise[:, rows], weight))

    def _rows(self, items: Sequence[str]) -> list[int]:
        """The rows of `items`, without those that do not contribute."""
        return [self.place[name] for name in items if name in self.place]

    def flaw(self, items: Sequence[str]) -> str:
        """The reason why the number over `items` does not exist, or has no interval; '' otherwise. Items that do not
        contribute are ignored."""
        return "" if self.measure.flaw is None else self.measure.flaw(self.parts[self._rows(items)])

    def shown(self, items: Sequence[str], resampling: Resampling) -> Estimate:
        """The number over some of the contributing items, as a report shows it."""
        if not items:
            return not_computed(self.why or "they share no item that has it", level=resampling.level)
        rows = self.parts[[self.place[name] for name in items]]
        if self.measure.of is not ratio:
            return withhold_interval(self.over(items, resampling).estimate(resampling), self.flaw(items))
        return resampling.ratio(ClusterSums(rows[:, 0], rows[:, 1]), "no item has this number", self.measure.within)

    def alone(self, jackknife: Jackknife) -> Estimate:
        """The number over all contributing items, as a report shows it."""
        return self.shown(sorted(self.place), jackknife.over(max(len(self.place), 1)))

    def bounds(self, items: Sequence[str]) -> tuple[float, float] | None:
        """The smallest and the largest value that the number over `items` could have, whatever the failed, refused or
        missing answers would have been.

        An item without any data counts as an item of median weight. The result is None if the measure is not a mean or
        ratio, if its range is unbounded, or if no item contributes. It is also None if the records do not show which
        calls failed.
        """
        low, high = self.measure.within
        if (
            self.measure.of is not ratio
            or not np.isfinite([low, high]).all()
            or (self.extreme_values is None and self.failed_weight is None)
        ):
            return None
        rows = np.array([self.place[name] for name in items if name in self.place], np.int64)
        if not rows.size:
            return None
        least, most, weight = self._extremes(rows)
        weigh = float(np.median(weight)) * (len(items) - len(rows))
        total = float(weight.sum()) + weigh
        return (
            max((float(least.sum()) + low * weigh) / total, low),
            min((float(most.sum()) + high * weigh) / total, high),
        )

    def _extremes(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """The smallest and the largest possible numerators, and the denominators including the missing parts."""
        low, high = self.measure.within
        above, below = self.parts[rows].T
        if self.extreme_values is not None:
            least, most = self.extreme_values()
            return least[rows] * below, most[rows] * below, below
        failed, refused = (
            np.zeros(len(rows)) if part is None else part[rows] for part in (self.failed_weight, self.refused_weight)
        )
        all_ = below + failed
        least = np.maximum(above - refused * (high - low), low * below) + failed * low
        most = np.minimum(above + refused * (high - low), high * below) + failed * high
        return least, most, all_


@dataclass(frozen=True)
class SharedItems:
    """Two models' numbers of a measure over their shared items, the base model first. With `within_model`, one model's
    numbers in two conditions, each over all items with a value in that condition.

    `flaw` is the reason why the difference does not exist, or has no interval; '' otherwise.
    """

    items: list[str]
    numbers: tuple[Number, Number]
    flaw: str
    within_model: bool = False

    @property
    def difference(self) -> Number:
        """The candidate's number minus the base model's."""
        return self.numbers[1].minus(self.numbers[0])

    def gap(self, jackknife: Jackknife, levels: tuple[float, float] | None = None) -> Gap:
        """The intervals of the difference; `levels` replaces the usual pair of levels."""
        return gap(self.difference, jackknife, len(self.items), levels, self.flaw, within_model=self.within_model)


def find_shared_items(
    base: Contribution, candidate: Contribution, jackknife: Jackknife, *, within_model: bool = False
) -> SharedItems:
    """Two models' numbers over their shared items; with `within_model`, one model's numbers in two conditions.

    Within a model, each number is over all items with a value in its condition. Both numbers therefore equal those
    reported elsewhere. The jackknife leaves each item out of both numbers at once, so that variation common to both
    conditions cancels out. If either condition has no items, the difference is missing.
    """
    of_base, of_candidate = base.place.keys(), candidate.place.keys()
    items = sorted(of_base | of_candidate if within_model and of_base and of_candidate else of_base & of_candidate)
    resampling = jackknife.over(max(len(items), 1))
    absent = base.why or candidate.why
    flaws = [base.flaw(items), candidate.flaw(items)] if items else [absent and NOT_COMPUTED + absent]
    flaw = max(flaws, key=lambda why: (why.startswith(NOT_COMPUTED), bool(why)))
    return SharedItems(items, (base.over(items, resampling), candidate.over(items, resampling)), flaw, within_model)


Sides = Mapping[str, Sequence[Contribution]]
"""Contributions by the model's name. The name `WHOLE` stands for all models together."""


def of_pairs(
    measure: Measure,
    items: Sequence[str],
    above: NDArray[np.generic],
    below: NDArray[np.generic],
    *,
    failed_weight: Floats | None = None,
    refused_weight: Floats | None = None,
    noise: Floats | None = None,
) -> Contribution:
    """Make a contribution from numerators and denominators [items]. Only items with a finite numerator and a positive
    denominator are kept, also in `noise` [draws, items]."""
    both = np.column_stack([above, below]).astype(float)
    use = np.flatnonzero(np.isfinite(both[:, 0]) & (both[:, 1] > 0))
    named = tuple(items[place] for place in use.tolist())
    failed, refused = (None if part is None else part[use] for part in (failed_weight, refused_weight))
    drawn = None if noise is None else noise[:, use]
    return Contribution(measure, named, both[use], failed_weight=failed, refused_weight=refused, noise=drawn)
