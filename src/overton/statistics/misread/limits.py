"""Numbers over clusters whose units' values were corrected: the variation of clusters, and the uncertainty
about the judge's errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, isnan, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from overton.statistics.correction import COVERED, NEEDED
from overton.statistics.estimate import NO_INTERVAL, Estimate, ends_of, not_computed
from overton.statistics.resampling import FEWEST, Counts, Range, Resampling
from overton.statistics.resampling.limits import Influence, gaps, spread_of

__all__ = ["MOST_OF_RANGE", "Gaps", "Moved", "Undone", "corrected_ratio", "gaps_of", "moved_by"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_OF_RANGE = 0.95
"""An interval that covers more of a measure's range says nothing, and is not given. A stricter rule would give only
those that came out narrow by chance, which miss."""


@dataclass(frozen=True)
class Undone:
    """A measure of U units under the counted confusion and under those drawn: the sum of `above` over that of `below`.

    Both are [1 + draws, U]; a unit that says nothing has 0 in both.
    """

    above: Array
    below: Array

    def of(self, units: NDArray[np.bool_]) -> Undone:
        """The same for some units; the others say nothing."""
        return Undone(self.above * units, self.below * units)


@dataclass(frozen=True)
class Gaps:
    """How far an interval reaches on both sides (at most 0, at least 0): for the variation of clusters, and for the
    uncertainty about the judge's errors; and the standard errors of both."""

    value: float
    clusters: tuple[float, float]
    errors: tuple[float, float]
    spread: tuple[float, float]

    @property
    def both(self) -> tuple[float, float]:
        """Both combined, below and above, as for a difference of two estimates (MOVER: Zou and Donner 2008)."""
        low, high = (hypot(*one) for one in zip(self.clusters, self.errors, strict=True))
        return low, high


@dataclass(frozen=True)
class Moved:
    """A corrected number: how far each group of clusters moves it, and how far each drawn confusion does.

    `errors` [draws] is empty if units were labelled whole, and nothing is drawn. `n` units are behind it.
    """

    value: float
    influence: Influence
    errors: Array
    n: int

    def minus(self, other: Moved, *, alike: bool) -> Moved:
        """The difference of two numbers over the same clusters. Those of one judge, corrected by the same labels
        (`alike`), are moved by each draw together; otherwise draws are unrelated."""
        mine, theirs = self.errors, other.errors if alike else np.roll(other.errors, 1)
        if not (mine.size and theirs.size):
            mine, theirs = (one if one.size else np.zeros(max(mine.size, theirs.size)) for one in (mine, theirs))
        moved = self.influence - other.influence
        return Moved(self.value - other.value, moved, mine - theirs, min(self.n, other.n))

    def gaps(self, level: float) -> Gaps:
        """What its interval is made of: the project's rule over clusters (`resampling.limits`), and the quantiles of
        the drawn confusions' effects."""
        spread = spread_of(self.influence)
        between = tuple(float(one[0]) for one in gaps(spread, level))
        if not self.errors.size:
            return Gaps(self.value, (between[0], between[1]), (0.0, 0.0), (float(spread.error[0]), 0.0))
        tail = (1 - level) / 2
        ends = np.nanquantile(self.errors, [tail, 1 - tail])
        off = float(ends[1] - ends[0]) / (2 * float(ndtri(1 - tail)))  # far draws do not measure spread
        errors = (min(float(ends[0]), 0.0), max(float(ends[1]), 0.0))
        return Gaps(self.value, (between[0], between[1]), errors, (float(spread.error[0]), off))

    def estimate(self, level: float, within: Range, name: str) -> Estimate:
        """The number with its interval, before any check withholds it."""
        found = self.gaps(level)
        low, high = found.both
        low, high = max(self.value - low, within[0]), min(self.value + high, within[1])
        return Estimate(self.value, low, high, self.n, name, level, hypot(*found.spread), ends_of(within))


def corrected_ratio(measure: Undone, within: Range, resampling: Resampling, labels: int, flaw: str = "") -> Estimate:
    """The sum of `above` over that of `below`, with limits from both sources of error.

    `flaw` says why it has none, '' if it may have one.
    """
    units, level = int((measure.below[0] > 0).sum()), resampling.level
    if labels < NEEDED:
        return not_computed(f"too few labels ({labels}; {NEEDED} are needed to correct a judge)", level=level, n=units)
    moved = moved_by(measure, resampling)
    if isnan(moved.value):
        return not_computed("corrected, no unit has it", level=level, n=units)
    value = float(np.clip(moved.value, *within)) + 0.0
    if why := flaw or _few(measure, resampling, labels):
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    name = f"the judge's errors undone, over {resampling.unit}"
    made = replace(moved, value=value).estimate(level, within, name)
    if made.high - made.low > MOST_OF_RANGE * (within[1] - within[0]) or isnan(made.high - made.low):
        why = "the judge errs too often for so few labels and units"
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    return made


def _few(measure: Undone, resampling: Resampling, labels: int) -> str:
    """What there is too little of for an interval, '' if there is enough."""
    clusters = len(np.unique(resampling.cluster[measure.below[0] != 0]))
    if clusters < FEWEST:
        return f"too few {resampling.unit} ({clusters}; {FEWEST} are needed)"
    return f"too few labels ({labels}; {COVERED} are needed)" if labels < COVERED else ""


def moved_by(measure: Undone, resampling: Resampling) -> Moved:
    """What moves a measure; NaN if no unit has it."""
    units = int((measure.below[0] > 0).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = measure.above.sum(1) / measure.below.sum(1)
    if not np.isfinite(drawn[0]):
        return Moved(nan, Influence(np.zeros((0, 1)), np.zeros(1), np.ones(1)), np.zeros(0), units)
    many = int(resampling.cluster.max()) + 1
    above, below = (
        np.bincount(resampling.cluster, one[0], many).astype(float) for one in (measure.above, measure.below)
    )
    sums = resampling.sums(Counts(above[:, None], below[:, None]))
    return Moved(float(drawn[0]), resampling.influence(sums), drawn[1:] - drawn[0], units)


def gaps_of(measure: Undone, resampling: Resampling) -> Gaps:
    """What the interval is made of."""
    moved = moved_by(measure, resampling)
    if isnan(moved.value):
        return Gaps(nan, (nan, nan), (nan, nan), (nan, nan))
    return moved.gaps(resampling.level)
