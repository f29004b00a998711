"""Contributions of items to the measures by which models can be compared.

A number is then a function of sums over items. From that follows the difference of two models' numbers over the items
that both have, with its interval, its verdict and what it would take to decide.
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

    items  ids, each once
    parts  [items, K] what is summed; for a mean or a ratio the numerator and the denominator
    failed_weight   [items] how much of the denominator is missing because calls failed, 0 if nothing is
    refused_weight  [items] how much of it rests on replies that were flagged as refusals
    extreme_values  gives the least [items] and the most [items] that an item's own value could be, if the study knows
                    better than what `failed_weight` and `refused_weight` allow
    why    why there is no number, '' if there is one
    noise  [draws, items] by how much chance moves each item's own value, of a null that is drawn: a difference from it
           is as likely as these say
    corrected  the number over some items corrected by people's labels, if it rests on a judge and people labelled;
           the `NumberOverItems` of `overton.studies.correction`, and `labels` names the labels by which it is corrected
    answers    how many answers, in the mean, each item has in a condition; None if that is not known, or does not
           matter because few answers do not bias the measure
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
        """The row of each item that says something."""
        speaks = self.parts[:, 1:] > 0 if self.measure.of is ratio else self.parts != 0
        says = np.atleast_1d(speaks.any(1)).tolist()
        return {name: row for row, (name, some) in enumerate(zip(self.items, says, strict=True)) if some}

    def over(self, items: Sequence[str], resampling: Resampling) -> Number:
        """The number over those of `items` that it has; the others do not move it."""
        rows, parts = self._rows(items), np.zeros((len(items), self.parts.shape[1]))
        parts[[name in self.place for name in items]] = self.parts[rows]
        made = number(parts, self.measure.of, resampling, self.measure.within)
        if self.noise is None or len(rows) < 2:
            return made
        weight = self.parts[rows, 1] / self.parts[rows, 1].sum()
        return replace(made, sizes=drawn_sizes(self.noise[:, rows], weight))

    def _rows(self, items: Sequence[str]) -> list[int]:
        """The rows of those of `items` that it has."""
        return [self.place[name] for name in items if name in self.place]

    def flaw(self, items: Sequence[str]) -> str:
        """Why the number over those of `items` that it has has no interval, or why there is no number: '' if it has
        both."""
        return "" if self.measure.flaw is None else self.measure.flaw(self.parts[self._rows(items)])

    def shown(self, items: Sequence[str], resampling: Resampling) -> Estimate:
        """The number over some of its items, as a report shows it."""
        if not items:
            return not_computed(self.why or "they share no item that has it", level=resampling.level)
        rows = self.parts[[self.place[name] for name in items]]
        if self.measure.of is not ratio:
            return withhold_interval(self.over(items, resampling).estimate(resampling), self.flaw(items))
        return resampling.ratio(ClusterSums(rows[:, 0], rows[:, 1]), "no item has it", self.measure.within)

    def alone(self, jackknife: Jackknife) -> Estimate:
        """The number over all of its items, as a report shows it."""
        return self.shown(sorted(self.place), jackknife.over(max(len(self.place), 1)))

    def bounds(self, items: Sequence[str]) -> tuple[float, float] | None:
        """The least and the most that the number could be over `items`, whatever failed, was refused or never asked.

        An item of which nothing is known counts as one of median weight. None if there are no such bounds: the measure
        is no mean or ratio, its range is unbounded, or nothing says which calls failed.
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
        """The least and the most that the numerators could be, and the whole denominators."""
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
    """Two models' numbers of a measure over the items that both have, the base first; or, `within_model`, one model's
    under two conditions, each over all its items.

    `flaw` says why their difference has no interval, or why there is no difference at all; '' if it has one.
    """

    items: list[str]
    numbers: tuple[Number, Number]
    flaw: str
    within_model: bool = False

    @property
    def difference(self) -> Number:
        """Candidate minus base."""
        return self.numbers[1].minus(self.numbers[0])

    def gap(self, jackknife: Jackknife, levels: tuple[float, float] | None = None) -> Gap:
        """Its intervals; `levels` replaces the plain pair of levels."""
        return gap(self.difference, jackknife, len(self.items), levels, self.flaw, within_model=self.within_model)


def find_shared_items(
    base: Contribution, candidate: Contribution, jackknife: Jackknife, *, within_model: bool = False
) -> SharedItems:
    """Two models' numbers over the items that both have; or, `within_model`, one model's under two conditions.

    Within a model each number is over all items that it has: both are then those that are reported elsewhere. An item
    is left out of each number that has it, so that what the two share cancels out. There is no difference if either has
    no item.
    """
    of_base, of_candidate = base.place.keys(), candidate.place.keys()
    items = sorted(of_base | of_candidate if within_model and of_base and of_candidate else of_base & of_candidate)
    resampling = jackknife.over(max(len(items), 1))
    absent = base.why or candidate.why
    flaws = [base.flaw(items), candidate.flaw(items)] if items else [absent and NOT_COMPUTED + absent]
    flaw = max(flaws, key=lambda why: (why.startswith(NOT_COMPUTED), bool(why)))
    return SharedItems(items, (base.over(items, resampling), candidate.over(items, resampling)), flaw, within_model)


Sides = Mapping[str, Sequence[Contribution]]
"""By the model's name, or `WHOLE`."""


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
    """A contribution of numerators and denominators [items]; items without a denominator are left out, of `noise`
    [draws, items] as well."""
    both = np.column_stack([above, below]).astype(float)
    use = np.flatnonzero(np.isfinite(both[:, 0]) & (both[:, 1] > 0))
    named = tuple(items[place] for place in use.tolist())
    failed, refused = (None if part is None else part[use] for part in (failed_weight, refused_weight))
    drawn = None if noise is None else noise[:, use]
    return Contribution(measure, named, both[use], failed_weight=failed, refused_weight=refused, noise=drawn)
