"""Numbers over clusters whose units' values were corrected: what clusters vary by, and what is not known
of the judge's errors."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, isnan, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from overton.statistics.correction import COVERED, NEEDED
from overton.statistics.estimate import NO_INTERVAL, Estimate, not_computed
from overton.statistics.resampling import FEWEST, Counts, Range, Resampling
from overton.statistics.resampling.limits import gaps, spread_of

__all__ = ["MOST_OF_RANGE", "Gaps", "Undone", "corrected_ratio", "gaps_of"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_OF_RANGE = 0.95
"""An interval that covers more of what a measure can be says nothing, and is not given. A stricter rule would give
only those that came out narrow by chance, which miss."""


@dataclass(frozen=True)
class Undone:
    """A measure of U units under the counted confusion and under those drawn: the sum of `above` over that of `below`.

    Both are [1 + draws, U]; a unit that says nothing has 0 in both.
    """

    above: Array
    below: Array

    def of(self, units: NDArray[np.bool_]) -> Undone:
        """The same of some units; the others say nothing."""
        return Undone(self.above * units, self.below * units)


@dataclass(frozen=True)
class Gaps:
    """How far an interval reaches on both sides (at most 0, at least 0): for what clusters vary by, and for what is not
    known of the judge's errors; and the standard errors of both."""

    value: float
    clusters: tuple[float, float]
    errors: tuple[float, float]
    spread: tuple[float, float]


def corrected_ratio(measure: Undone, within: Range, resampling: Resampling, labels: int) -> Estimate:
    """The sum of `above` over that of `below`, with limits from both sources of error.

    Clusters move it by the project's rule (`resampling.limits`); the judge's errors by the quantiles of what drawn
    confusions make of it. Both gaps are put together as for a difference of two estimates (MOVER: Zou and Donner 2008).
    """
    units, level = int((measure.below[0] > 0).sum()), resampling.level
    if labels < NEEDED:
        return not_computed(f"too few labels ({labels}; {NEEDED} are needed to correct a judge)", level=level, n=units)
    found = gaps_of(measure, resampling)
    if isnan(found.value):
        return not_computed("corrected, no unit has it", level=level, n=units)
    value = float(np.clip(found.value, *within)) + 0.0
    clusters = len(np.unique(resampling.cluster[measure.below[0] != 0]))
    if clusters < FEWEST:
        why = f"too few {resampling.unit} ({clusters}; {FEWEST} are needed)"
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    if labels < COVERED:
        why = f"too few labels ({labels}; {COVERED} are needed)"
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    low, high = (hypot(*both) for both in zip(found.clusters, found.errors, strict=True))
    low, high = max(value - low, within[0]), min(value + high, within[1])
    if high - low > MOST_OF_RANGE * (within[1] - within[0]) or isnan(high - low):
        why = "the judge errs too often for so few labels and units"
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    name = f"the judge's errors undone, over {resampling.unit}"
    return Estimate(value, low, high, units, name, level, hypot(*found.spread))


def gaps_of(measure: Undone, resampling: Resampling) -> Gaps:
    """What the interval is made of."""
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = measure.above.sum(1) / measure.below.sum(1)
    value = float(drawn[0])
    if not np.isfinite(value):
        return Gaps(nan, (nan, nan), (nan, nan), (nan, nan))
    many = int(resampling.cluster.max()) + 1
    above, below = (
        np.bincount(resampling.cluster, one[0], many).astype(float) for one in (measure.above, measure.below)
    )
    sums = resampling.sums(Counts(above[:, None], below[:, None]))
    spread = spread_of(resampling.influence(sums))
    between = tuple(float(one[0]) for one in gaps(spread, resampling.level))
    tail = (1 - resampling.level) / 2
    ends = np.nanquantile(drawn[1:], [tail, 1 - tail]) - value
    off = float(ends[1] - ends[0]) / (2 * float(ndtri(1 - tail)))  # far draws are no measure of spread
    errors = (min(float(ends[0]), 0.0), max(float(ends[1]), 0.0))
    return Gaps(value, (between[0], between[1]), errors, (float(spread.error[0]), off))
