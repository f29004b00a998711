"""Agreement on the same rows: between judges, between a judge and people, and between people.

The formulas are from Krippendorff 2004, 'Content Analysis', chapter 11, and 2011, 'Computing Krippendorff's
alpha-reliability', section C.

Each measure has an interval. `cohen_kappa` is for two annotators of the same rows. `krippendorff_alpha` is for any
number of annotators, and labels may be missing. `fleiss_kappa` is for any number of annotators without missing labels.
`share` is a proportion, and `overlap` a mean Jaccard index. `clusters` names each row's group (for example, the issue
of six paraphrases), because rows of one group are not independent. Without `clusters`, all rows are treated as
independent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from math import isnan
from typing import TYPE_CHECKING, Any

import msgspec

from overton.statistics import Estimate
from overton.statistics.estimate import not_computed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from overton.statistics.arrays import AnyFloats, Floats


Label = Hashable | Mapping[str, float]
"""One label of a row or, if several people differ on the row, the part of the row that each label has."""

_ByChance = Callable[["AnyFloats", "AnyFloats"], "AnyFloats"]
"""A function for the disagreement by chance. Its arguments are sums over rows: the count of each label [..., K], and
the number of labels or pairs [...]."""


def cohen_kappa(
    first: Sequence[Label],
    second: Sequence[Label],
    clusters: Sequence[Hashable] | None = None,
    *,
    weights: Sequence[float] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Agreement beyond chance between two annotators of the same rows in the same order (Cohen 1960).

    Kappa is 1 - o / e. Here o is the proportion of rows (by `weights`) with different labels, and e the proportion
    expected by chance from the frequency of each annotator's labels. An annotator may give a row several labels,
    with weights that sum to 1. `n` counts the rows. Kappa is not computed if only one label occurs, because chance
    alone then gives full agreement. The interval is that of `_beyond_chance`.

    Raises:
        ValueError: the sequences differ in length.
    """
    import numpy as np

    if len(first) != len(second):
        raise ValueError("the judges must rate the same items in the same order")
    if not first:
        return not_computed(_NO_ITEMS, level=level)
    numbers: dict[Hashable, int] = {}
    for label in (*first, *second):
        for name in label if isinstance(label, Mapping) else (label,):
            numbers.setdefault(name, len(numbers))
    by_first, by_second = (_label_parts(said, numbers) for said in (first, second))
    weight = np.ones(len(first)) if weights is None else np.asarray(weights, float)
    differ = 1 - (by_first * by_second).sum(1)
    parts = np.column_stack([differ, np.ones(len(first)), by_first, by_second]) * weight[:, None]

    def by_chance(counts: AnyFloats, pairs: AnyFloats) -> AnyFloats:
        of_first, of_second = counts[..., : len(numbers)], counts[..., len(numbers) :]
        return np.asarray(1 - (of_first * of_second).sum(-1) / pairs**2)

    return _beyond_chance(parts, by_chance, clusters, level)


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Krippendorff's alpha of nominal labels; `units` has all labels of each unit.

    Units with fewer than two labels are left out, and `n` counts the others. Let m(u) be the number of labels of unit
    u, and d(u) the number of ordered pairs of different labels in u. Let n(c) be the frequency of label c in these
    units, and N the number of all their labels:

        alpha = 1 - o / e,    o = sum d(u) / (m(u) - 1) / N,    e = (N^2 - sum n(c)^2) / (N (N - 1))

    Alpha is not computed if no unit has two labels, or if all labels are equal. The interval is that of
    `_beyond_chance`.

    Raises:
        ValueError: the numbers of clusters and units differ.
    """
    import numpy as np

    if clusters is not None and len(clusters) != len(units):
        raise ValueError("one cluster per unit is needed")
    paired = [place for place, labels in enumerate(units) if len(labels) > 1]
    if not paired:
        return not_computed("no unit has two labels", level=level)

    def by_chance(counts: AnyFloats, labels: AnyFloats) -> AnyFloats:
        return np.asarray((labels**2 - (counts**2).sum(-1)) / (labels * (labels - 1)))

    own = None if clusters is None else [clusters[place] for place in paired]
    return _beyond_chance(_unit_parts([units[place] for place in paired]), by_chance, own, level)


def fleiss_kappa(
    ratings: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Agreement beyond chance between two or more judges (Fleiss 1971). `ratings[judge][item]` is a judge's label of an
    item.

    The formula is that of Krippendorff's alpha with e = 1 - sum (n(c) / N)^2. `n` counts the items. As with
    `cohen_kappa`, kappa is not computed if only one label occurs, and the interval is that of `_beyond_chance`.

    Raises:
        ValueError: fewer than two judges, or sequences that differ in length.
    """
    import numpy as np

    if len(ratings) < 2:
        raise ValueError("agreement needs at least two judges")
    if len({len(judge) for judge in ratings}) > 1:
        raise ValueError("the judges must rate the same items in the same order")
    if not ratings[0]:
        return not_computed(_NO_ITEMS, level=level)

    def by_chance(counts: AnyFloats, labels: AnyFloats) -> AnyFloats:
        return np.asarray(1 - (counts**2).sum(-1) / labels**2)

    return _beyond_chance(_unit_parts(list(zip(*ratings, strict=True))), by_chance, clusters, level)


def _label_parts(said: Sequence[Label], numbers: Mapping[Hashable, int]) -> Floats:
    """The part of each row that each label has [rows, labels]."""
    import numpy as np

    table = np.zeros((len(said), len(numbers)))
    for row, label in enumerate(said):
        for name, part in label.items() if isinstance(label, Mapping) else ((label, 1.0),):
            table[row, numbers[name]] = part
    return table


def _unit_parts(units: Sequence[Sequence[Hashable]]) -> Floats:
    """For each unit d / (m - 1), m, and the count of each label [units, 2 + labels]. `krippendorff_alpha` defines d and
    m."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    cells = [(row, numbers.setdefault(label, len(numbers))) for row, labels in enumerate(units) for label in labels]
    counts = np.zeros((len(units), len(numbers)))
    np.add.at(counts, tuple(zip(*cells, strict=True)), 1)
    many = counts.sum(1)
    return np.column_stack([(many**2 - (counts**2).sum(1)) / (many - 1), many, counts])


def _beyond_chance(parts: Floats, by_chance: _ByChance, clusters: Sequence[Hashable] | None, level: float) -> Estimate:
    """Agreement beyond chance, 1 - o / e, with the interval of all coefficients in this module.

    `parts` [rows, 2 + K] has each row's disagreement, the number of labels or pairs that could disagree, and K counts
    of labels. The sum of the first column divided by that of the second is o. `by_chance` computes e from the sums of
    the counts and of the second column.

    Each limit is the further of two candidates. The first comes from leaving out each cluster in turn
    (`statistics.jackknife`). The second is 1 - w / e, where w is Wilson's limit for o. For w, the number of independent
    pairs follows from the standard error of o over clusters. If o is the same in all clusters, that number is the
    effective number of clusters. Leaving out clusters gives no interval if all clusters are alike, or if all labels
    outside a single cluster are equal. Then only the second limits are used. With fewer than five clusters there is no
    interval. docs/judge-reference.md has the coverage.
    """
    import numpy as np

    from overton.statistics.cluster_sums import ClusterSums
    from overton.statistics.estimate import DIFFERENCE, FEWEST
    from overton.statistics.jackknife import Jackknife, is_flat, standard_errors
    from overton.statistics.proportions import wilson_limits

    own: Sequence[Hashable] = range(len(parts)) if clusters is None else clusters
    if len(own) != len(parts):
        raise ValueError("one cluster per row is needed")
    numbers: dict[Hashable, int] = {}
    cluster = np.array([numbers.setdefault(name, len(numbers)) for name in own])
    unit = "units" if clusters is None else "groups"
    over = Jackknife(level, unit=unit).over(cluster)

    def expected(sums: AnyFloats) -> AnyFloats:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = by_chance(sums[..., 2:], sums[..., 1])
        return np.where(found > _NO_CHANCE, found, np.nan)

    def coefficient(sums: AnyFloats) -> AnyFloats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - sums[..., 0, 0] / sums[..., 0, 1] / expected(sums[..., 0, :]))

    found = over.statistic(parts, coefficient, _ONE_LABEL)
    if isnan(found.value) or len(numbers) < FEWEST:
        return found
    differ, pairs = (np.bincount(cluster, column).astype(float) for column in parts[:, :2].T)
    sums = over.sums(ClusterSums(differ, pairs))
    observed, spread = sums.numbers.value, standard_errors(over.influence(sums))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = observed * (1 - observed) / spread.error**2
    rows = np.where(is_flat(observed, spread.error), spread.freedom + 1, alike)
    least, most = (float(limit.item()) for limit in wilson_limits(observed, rows, level))
    chance = float(expected(parts.sum(0)))
    low, high = np.fmin(found.low, 1 - most / chance), np.fmax(found.high, 1 - least / chance)
    return msgspec.structs.replace(
        found,
        low=min(found.value, max(-1.0, round(float(low), _DIGITS))),
        high=max(found.value, min(1.0, round(float(high), _DIGITS))),
        method=f"Wilson, over {unit}" if isnan(found.low) else _FURTHER.format(unit=unit),
        within=DIFFERENCE,
    )


_FURTHER = "the further of Student's t over {unit}, corrected for skewness, and Wilson"
_ONE_LABEL = "only one label occurs, on which chance alone agrees fully"
_NO_CHANCE = 1e-12
"""A disagreement by chance of at most this is rounding error, because only one label occurs."""
_DIGITS = 10
"""Decimals of limits, as in `statistics.jackknife`."""


_NO_ITEMS = "there is no item"


def share(flags: Sequence[bool], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95) -> Estimate:
    """The proportion of true flags with Wilson's score interval (Wilson 1927).

    With `clusters`, the interval uses the effective number of flags. This is their number n divided by the design
    effect (Kish 1965), but at most n. If all flags are equal, the design effect cannot be estimated, and the interval
    uses the number of clusters.
    """
    import numpy as np

    from overton.statistics.proportions import wilson_limits

    n = len(flags)
    if n == 0:
        return not_computed(_NO_ITEMS, level=level)
    values = np.asarray(flags, dtype=float)
    p = float(values.mean())
    effective = n if clusters is None else _effective_items(values - p, clusters)
    low, high = wilson_limits(p, effective, level)
    return Estimate(p, float(low), float(high), n, "Wilson" if clusters is None else "Wilson, clustered", level)


def overlap(
    first: Sequence[Set[Hashable]],
    second: Sequence[Set[Hashable]],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> Estimate:
    """The mean over items of the Jaccard index of two sets: the size of their intersection divided by the size of their
    union (Jaccard 1912). The index is 1 if both sets are empty. `n` counts the items.

    The interval is over clusters, and needs at least five of them.

    Raises:
        ValueError: the sequences differ in length.
    """
    from overton.statistics.estimate import SHARE
    from overton.statistics.jackknife import Jackknife

    sums: dict[Hashable, list[float]] = {}
    for labels, other, cluster in zip(first, second, clusters, strict=True):
        either = labels | other
        sums.setdefault(cluster, []).append(len(labels & other) / len(either) if either else 1.0)
    if not sums:
        return not_computed(_NO_ITEMS, level=level)
    jackknife = Jackknife(level, unit="items")
    found = jackknife.ratio([sum(some) for some in sums.values()], [len(some) for some in sums.values()], SHARE)
    return msgspec.structs.replace(found, n=len(first))


def _effective_items(deviations: NDArray[Any], clusters: Sequence[Hashable]) -> float:
    """The effective number of independent items, between 1 and the number of items."""
    sums, n = _cluster_sums(deviations, clusters), len(deviations)
    if not deviations.any():
        return len(sums)
    if len(sums) < 2:
        return 1.0
    design_effect = float((sums**2).sum() / (deviations**2).sum()) * len(sums) / (len(sums) - 1)
    return max(1.0, n / max(design_effect, 1.0))


def _cluster_sums(values: NDArray[Any], clusters: Sequence[Hashable]) -> NDArray[Any]:
    import numpy as np

    if len(clusters) != len(values):
        raise ValueError("one cluster per item is needed")
    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    return np.bincount(index, weights=values)
