"""How many labels bring a measure's interval to a width."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, hypot, sqrt

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from overton.statistics.correction import COVERED
from overton.statistics.misread.limits import Gaps
from overton.statistics.misread.whole import WHOLE

__all__ = ["Plan", "rows_for_share", "rows_for_width", "units_for_width"]

Array = NDArray[np.float64]


class Plan(msgspec.Struct, frozen=True):
    """A number of labels of a unit ('rows', or whole 'units') and the width that they are expected to give.

    `labels` counts single labels, `units` whole units (0 if rows are drawn). `least` is the width that labelling
    everything would leave, since items vary; `why` says why a width cannot be reached, '' if it can.
    """

    unit: str
    labels: int
    units: int
    width: float
    least: float
    why: str = ""


def rows_for_width(gaps: Gaps, labelled: int, rows: int, width: float) -> Plan:
    """How many single labels of `rows` in all: the uncertainty about the judge's errors shrinks with the root of their
    number, the variation of items does not. `gaps` are those of `labelled` labels so far."""

    def expected(labels: float) -> float:
        shrunk = sqrt(labelled / labels)
        return sum(hypot(a, b * shrunk) for a, b in zip(gaps.clusters, gaps.errors, strict=True))

    least = gaps.clusters[1] - gaps.clusters[0]
    if width <= least:
        return Plan("rows", 0, 0, expected(rows), least, _MORE_ITEMS)
    needed = _fewest(expected, COVERED, rows, width)
    if needed is None:
        return Plan("rows", 0, 0, expected(rows), least, f"all {rows} labels leave a wider one")
    return Plan("rows", needed, 0, expected(needed), least)


def rows_for_share(  # noqa: PLR0917
    people: Array, judged: Array, every: Array, cluster: NDArray[np.int64], width: float, level: float = 0.95
) -> Plan:
    """How many single labels bring a share's corrected interval to a width.

    `people` and `judged` [n] are what both say of the rows labelled so far (1 for the label, otherwise 0), `every` [N]
    what the judge says of all rows, each of which belongs to a `cluster` [N]. The variance is as in `units_for_width`,
    that of the judge's part over clusters; that of the labels is never less than one row in n would make it.
    """
    n = len(people)
    varies = float(judged.var(ddof=1)) if n > 1 else 0.0
    power = float(np.cov(people, judged)[0, 1] / varies) if varies > 0 else 0.0
    seen = float((people - power * judged).var(ddof=1)) if n > 1 else 0.25
    left = max(seen, 1 / (n + 2) * (1 - 1 / (n + 2)))
    sums = np.bincount(cluster, every - every.mean())
    explained = power**2 * float((sums**2).sum()) / len(every) ** 2

    def expected(labels: float) -> float:
        return 2 * float(stdtrit(max(labels - 1, 1), (1 + level) / 2)) * sqrt(left / labels + explained)

    least = expected(len(every))
    needed = _fewest(expected, COVERED, len(every), width)
    if needed is None:
        return Plan("rows", 0, 0, least, least, _MORE_ITEMS)
    return Plan("rows", needed, 0, expected(needed), least)


def units_for_width(
    people: Array, judged: Array, every: Array, width: float, *, size: float, level: float = 0.95
) -> Plan:
    """How many whole units, each of `size` labels: `people` and `judged` [n] are values of those labelled so far,
    `every` [N] the judge's of all. With power tuning the variance is that of what the judge leaves unexplained, over
    the units labelled, and of what it explains, over all of them (PPI++, section 6)."""
    n, of_all = len(people), len(every)
    varies = float(judged.var(ddof=1)) if n > 1 else 0.0
    power = float(np.cov(people, judged)[0, 1] / varies) if varies > 0 else 0.0
    left = float((people - power * judged).var(ddof=2 if power and n > 2 else 1))
    explained = power**2 * float(every.var(ddof=1)) / of_all

    def expected(units: float) -> float:
        freedom = max(units - 1, 1)
        return 2 * float(stdtrit(freedom, (1 + level) / 2)) * sqrt(left / units + explained)

    least = expected(of_all)
    needed = _fewest(expected, WHOLE, of_all, width)
    if needed is None:
        return Plan("units", 0, 0, least, least, _MORE_ITEMS)
    return Plan("units", ceil(needed * size), needed, expected(needed), least)


_MORE_ITEMS = "items vary too much: more items are needed, not more labels"


def _fewest(expected: Callable[[float], float], least: int, most: int, width: float) -> int | None:
    """The fewest from `least` to `most` whose expected width is enough; None if none is."""
    low, high = min(least, most), most
    if expected(high) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        if expected(middle) <= width:
            high = middle
        else:
            low = middle + 1
    return low
