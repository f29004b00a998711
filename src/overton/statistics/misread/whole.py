"""Units that people labelled whole: the unit's own value, corrected as any number of a judge is.

It assumes only that units were drawn by chance: errors may come together, and be anything.
"""

from __future__ import annotations

from math import isnan

import numpy as np
from numpy.typing import NDArray

from overton.statistics.correction import Draw, Labels, Three, corrected
from overton.statistics.estimate import Estimate
from overton.statistics.proportions import wilson_limits
from overton.statistics.resampling import FEWEST, Range

__all__ = ["WHOLE", "whole_units"]

Array = NDArray[np.float64]

WHOLE = 10
"""So many whole units are enough: with fewer, intervals of prediction-powered means missed more often in simulations,
or there were none."""


def whole_units(draw: Draw, people: Array, judged: Array, within: Range, level: float = 0.95) -> Three:
    """The mean of a measure over N units: by the judge, corrected, by the labelled units alone.

    `people` and `judged` [N] are the unit's value from either's labels, NaN where it has none; people's of units that
    were not labelled is not looked at. Where people's values are all alike, so many others as Wilson's limit allows may
    be anything `within` the measure's range.
    """
    told, said = np.isfinite(people) & draw.labelled, np.isfinite(judged)
    labels = Labels(
        np.where(told, people, 0.0),
        np.where(said, judged, 0.0),
        told.astype(float),
        said.astype(float),
        *within,
        share=False,
    )
    three, _ = corrected(draw, labels, [], level, (WHOLE, WHOLE))
    values = people[told]
    if len(np.unique(draw.cluster[told])) < FEWEST or np.ptp(values) > _FLAT:
        return three
    flat = _alike(float(values[0]), int(told.sum()), within, level)
    return _instead(three, flat)


_FLAT = 1e-12


def _alike(value: float, n: int, within: Range, level: float) -> Estimate:
    _, most = wilson_limits(0, n, level)
    low, high = value - float(most) * (value - within[0]), value + float(most) * (within[1] - value)
    return Estimate(value, low, high, n, "Wilson: alike in all labelled units", level)


def _instead(three: Three, flat: Estimate) -> Three:
    """What stands where labelled units are all alike; too few of them still correct nothing."""
    enough = not isnan(three.corrected.value)
    return three._replace(corrected=flat if enough else three.corrected, labelled=flat)
