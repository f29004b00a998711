"""Units that people labelled whole: the unit's own value, corrected as any number by a judge is.

It assumes only that units were drawn at random: errors may cluster, and be of any kind.
"""

from __future__ import annotations

from math import isnan, sqrt

import numpy as np
from numpy.typing import NDArray

from overton.statistics.correction import Draw, Labels, Three, corrected, moves
from overton.statistics.estimate import Estimate
from overton.statistics.misread.limits import Moved
from overton.statistics.proportions import wilson_limits
from overton.statistics.resampling import FEWEST, SHARE, Range
from overton.statistics.resampling.limits import Influence

__all__ = ["WHOLE", "moved_by_units", "whole_units"]

Array = NDArray[np.float64]

WHOLE = 10
"""This many whole units are enough: with fewer, intervals of prediction-powered means missed more often in simulations,
or did not exist."""


def whole_units(draw: Draw, people: Array, judged: Array, within: Range, level: float = 0.95) -> Three:
    """The mean of a measure over N units: by the judge, corrected, by the labelled units alone.

    `people` and `judged` [N] are the unit's value from either's labels, NaN if it has none; people's values of units
    that were not labelled are ignored. If people's values are all alike, as many others as Wilson's limit allows may be
    anything `within` the measure's range.
    """
    known = np.isfinite(people) & draw.labelled
    three, _ = corrected(draw, _labels(draw, people, judged, within), [], level, (WHOLE, WHOLE))
    values = people[known]
    if len(np.unique(draw.cluster[known])) < FEWEST or np.ptp(values) > _FLAT:
        return three
    flat = _alike(float(values[0]), int(known.sum()), within, level)
    return _instead(three, flat)


def moved_by_units(draw: Draw, people: Array, judged: Array, within: Range) -> Moved:
    """What moves the corrected mean, by cluster: for a difference of two over the same clusters.

    Each part is scaled so that together they have the number's standard error, including what was not observed.
    """
    found = moves(draw, _labels(draw, people, judged, within))
    many = len(np.unique(draw.cluster))
    seen = sqrt(float((found.parts**2).sum()) * many / max(many - 1, 1))
    parts = found.parts * (found.error / seen) if seen > 0 else found.parts
    influence = Influence(parts[:, None], np.array([float(many)]), np.array([found.freedom]))
    return Moved(found.value, influence, np.zeros(0), int(draw.labelled.sum()))


def _labels(draw: Draw, people: Array, judged: Array, within: Range) -> Labels:
    """Units' values as numbers; those without a value do not count. A judge's that are 0 or 1 form strata, if units
    were drawn with unequal chances."""
    known, said = np.isfinite(people) & draw.labelled, np.isfinite(judged)
    in_strata = within == SHARE and bool(np.isin(judged, (0, 1)).all()) and bool((known == draw.labelled).all())
    return Labels(
        np.where(known, people, 0.0),
        np.where(said, judged, 0.0),
        known.astype(float),
        said.astype(float),
        *within,
        share=in_strata and not draw.has_equal_chances,
    )


_FLAT = 1e-12


def _alike(value: float, n: int, within: Range, level: float) -> Estimate:
    _, most = wilson_limits(0, n, level)
    low, high = value - float(most) * (value - within[0]), value + float(most) * (within[1] - value)
    return Estimate(value, low, high, n, "Wilson: alike in all labelled units", level)


def _instead(three: Three, flat: Estimate) -> Three:
    """The interval if labelled units are all alike; too few of them still correct nothing."""
    enough = not isnan(three.corrected.value)
    return three._replace(corrected=flat if enough else three.corrected, labelled=flat)
