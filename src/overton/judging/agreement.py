"""Agreement between judges: shares, Cohen's kappa for two and Fleiss' kappa for more, with their intervals.

Everywhere, `clusters` names the group that each item belongs to (the six paraphrases of one issue, say), since items
of one group are not independent; without it each item stands alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import nan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from overton.statistics import Estimate
from overton.statistics.estimate import not_computed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cohen_kappa", "fleiss_kappa", "share"]

NO_ITEMS = "there is no item"
ONE_CATEGORY = "only one category occurs, on which chance alone agrees fully"


def share(flags: Sequence[bool], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95) -> Estimate:
    """The share of true flags with Wilson's score interval (Wilson 1927).

    With `clusters` the interval is computed for the effective number of flags, n divided by the design effect (Kish
    1965), never more than n; where all flags are equal no design effect can be seen, and the number of clusters stands
    for it. `n` counts the flags.
    """
    import numpy as np

    from overton.statistics.proportions import wilson_limits

    n = len(flags)
    if n == 0:
        return not_computed(NO_ITEMS, level=level)
    values = np.asarray(flags, dtype=float)
    p = float(values.mean())
    effective = n if clusters is None else _effective(values - p, clusters)
    low, high = wilson_limits(p, effective, level)
    return Estimate(p, float(low), float(high), n, "Wilson" if clusters is None else "Wilson, clustered", level)


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
) -> Estimate:
    """Agreement of two judges beyond chance on the same items in the same order (Cohen 1960).

    The interval is the large-sample one of Fleiss, Cohen and Everitt (1969), from each item's linear influence on
    kappa, summed over clusters where they are given. `n` counts the items. Not computed where only one category
    occurs, since chance alone then agrees fully; without an interval where the judges never disagree, since the
    large-sample one has no width there.

    Raises:
        ValueError: the sequences differ in length.
    """
    import numpy as np

    codes, k = _codes([first, second])
    n = len(first)
    if n == 0:
        return not_computed(NO_ITEMS, level=level)
    row, column = (np.bincount(codes[judge], minlength=k) / n for judge in (0, 1))
    agree = (codes[0] == codes[1]).astype(float)
    observed, chance = float(agree.mean()), float(row @ column)
    if k == 1:
        return not_computed(ONE_CATEGORY, level=level, n=n)
    kappa = (observed - chance) / (1 - chance)
    # d kappa / d p_ij for the item's cell (i, j), centred.
    slope = agree * (1 - chance) - (1 - observed) * (column[codes[0]] + row[codes[1]])
    method = "Fleiss-Cohen-Everitt" if clusters is None else "Fleiss-Cohen-Everitt, clustered"
    return _wald(kappa, (slope - slope.mean()) / (1 - chance) ** 2, clusters, method, level)


def fleiss_kappa(
    ratings: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Agreement beyond chance of two judges or more (Fleiss 1971); `ratings[judge][item]`, every item by every judge.

    The interval is the large-sample one from each item's linear influence (Gwet 2008, generalised pi), summed over
    clusters where they are given; it does not assume, as Fleiss' own standard error does, that judges agree by
    chance. `n` counts the items. What cannot be computed is as for `cohen_kappa`.

    Raises:
        ValueError: fewer than two judges, or sequences that differ in length.
    """
    import numpy as np

    if len(ratings) < 2:
        raise ValueError("agreement needs two judges at least")
    codes, k = _codes(ratings)
    judges, n = codes.shape
    if n == 0:
        return not_computed(NO_ITEMS, level=level)
    counts = np.stack([(codes == category).sum(axis=0) for category in range(k)], axis=1)
    agree = (counts * (counts - 1)).sum(axis=1) / (judges * (judges - 1))
    shares = counts.sum(axis=0) / counts.sum()
    observed, chance = float(agree.mean()), float(shares @ shares)
    if k == 1:
        return not_computed(ONE_CATEGORY, level=level, n=n)
    kappa = (observed - chance) / (1 - chance)
    by_chance = counts @ shares / judges
    influence = (agree - observed) / (1 - chance) - 2 * (1 - kappa) * (by_chance - chance) / (1 - chance)
    method = "Gwet" if clusters is None else "Gwet, clustered"
    return _wald(kappa, influence, range(n) if clusters is None else clusters, method, level)


def _codes(ratings: Sequence[Sequence[Hashable]]) -> tuple[NDArray[Any], int]:
    """Categories as numbers from 0, `[judge, item]`, and how many there are."""
    import numpy as np

    if len({len(judge) for judge in ratings}) > 1:
        raise ValueError("the judges must rate the same items in the same order")
    numbers: dict[Hashable, int] = {}
    return np.array([[numbers.setdefault(label, len(numbers)) for label in judge] for judge in ratings], int), len(
        numbers
    )


def _wald(
    kappa: float, influence: NDArray[Any], clusters: Sequence[Hashable] | None, method: str, level: float
) -> Estimate:
    n = len(influence)
    sums = influence if clusters is None else _sums(influence, clusters)
    error = float((sums**2).sum()) ** 0.5 / n
    if error <= 1e-12 or len(sums) < 2:
        return Estimate(kappa, nan, nan, n, f"{method}: no interval from such uniform data", level)
    margin = _z(level) * error * (1 if clusters is None else (len(sums) / (len(sums) - 1)) ** 0.5)
    return Estimate(kappa, max(-1.0, kappa - margin), min(1.0, kappa + margin), n, method, level)


def _effective(deviations: NDArray[Any], clusters: Sequence[Hashable]) -> float:
    """How many independent items the clustered ones are worth, between 1 and their number."""
    sums, n = _sums(deviations, clusters), len(deviations)
    if not deviations.any():
        return len(sums)
    if len(sums) < 2:
        return 1.0
    design_effect = float((sums**2).sum() / (deviations**2).sum()) * len(sums) / (len(sums) - 1)
    return max(1.0, n / max(design_effect, 1.0))


def _sums(values: NDArray[Any], clusters: Sequence[Hashable]) -> NDArray[Any]:
    import numpy as np

    if len(clusters) != len(values):
        raise ValueError("one cluster an item is needed")
    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    return np.bincount(index, weights=values)


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
