"""Krippendorff's alpha for labels without order, if people labelled different units.

Written from the formulas: Krippendorff 2004, 'Content Analysis', chapter 11; 2011, 'Computing Krippendorff's
alpha-reliability', section C.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import inf
from typing import TYPE_CHECKING

from overton.statistics import Estimate
from overton.statistics.estimate import not_computed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["alpha"]


def alpha(
    units: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Krippendorff's alpha of nominal labels; `units` has, for each unit, the labels that it was given by anyone.

    A unit with fewer than two labels says nothing, and `n` counts the others. With o(c) the coincidences of label c
    with itself (a unit of m labels adds its ordered pairs of c, each 1 / (m - 1)), n(c) how often c occurs and n all
    labels of those units:

        alpha = 1 - (n - 1) (n - sum o(c)) / (n^2 - sum n(c)^2)

    The interval leaves units out in turn, or whole clusters of them (see `statistics.resampling`): what is drawn is
    units, and a unit's labels stay together. Not computed if no unit has two labels or only one label occurs, since
    disagreement is then impossible; without an interval if nobody disagrees.

    Raises:
        ValueError: the numbers of clusters and units differ.
    """
    import numpy as np

    from overton.statistics.jackknife import Jackknife

    paired = [place for place, labels in enumerate(units) if len(labels) > 1]
    if clusters is not None and len(clusters) != len(units):
        raise ValueError("one cluster per unit is needed")
    if not paired:
        return not_computed("no unit has two labels", level=level)
    kinds: dict[Hashable, int] = {}
    for place in paired:
        for label in units[place]:
            kinds.setdefault(label, len(kinds))
    if len(kinds) < 2:
        return not_computed("only one label occurs, and nothing can be disagreed on", level=level, n=len(paired))
    parts = np.array([_parts(units[place], kinds) for place in paired])
    numbers: dict[Hashable, int] = {}
    own = [numbers.setdefault(place if clusters is None else clusters[place], len(numbers)) for place in paired]
    jackknife = Jackknife(level, unit="units" if clusters is None else "groups")
    over = jackknife.over(np.array(own))
    return over.statistic(parts, _alpha, "nothing can be disagreed on", within=(-inf, 1.0))


def _parts(labels: Sequence[Hashable], kinds: dict[Hashable, int]) -> list[float]:
    """What a unit adds: its coincidences of equal labels, then how often each label occurs."""
    counts = Counter(labels)
    same = sum(count * (count - 1) for count in counts.values()) / (len(labels) - 1)
    return [same, *(float(counts[kind]) for kind in kinds)]


def _alpha(sums: NDArray[np.floating]) -> NDArray[np.floating]:
    """Alpha of sums of parts [..., blocks, 1 + labels]."""
    import numpy as np

    same, counts = sums[..., 0, 0], sums[..., 0, 1:]
    every = counts.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (every - 1) * (every - same) / (every**2 - (counts**2).sum(-1)))
