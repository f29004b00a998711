"""How well judges agree with each other, and a judge with the person who filled in a sheet.

Written from the formulas: Krippendorff 2004, 'Content Analysis', chapter 11; 2011, 'Computing Krippendorff's
alpha-reliability', section C.

Shares, Cohen's kappa for two and Fleiss' kappa for more, with their intervals. Throughout, `clusters` names the group
that each item belongs to (the six paraphrases of one issue, say), since items of one group are not independent; without
it each item is independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from math import inf, nan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.judging.sheets import SheetAnswers, SheetKey
from overton.statistics import Estimate
from overton.statistics.estimate import not_computed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Krippendorff's alpha of nominal labels; `units` has, for each unit, the labels that it was given by anyone.

    A unit with fewer than two labels says nothing, and `n` counts the others. With o(c) the coincidences of label c
    with itself (a unit of m labels adds its ordered pairs of c, each 1 / (m - 1)), n(c) how often c occurs and n all
    labels of those units:

        alpha = 1 - (n - 1) (n - sum o(c)) / (n^2 - sum n(c)^2)

    The interval leaves units out in turn, or whole clusters of them (see `statistics.jackknife`): what is drawn is
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
    parts = np.array([_unit_parts(units[place], kinds) for place in paired])
    numbers: dict[Hashable, int] = {}
    own = [numbers.setdefault(place if clusters is None else clusters[place], len(numbers)) for place in paired]
    jackknife = Jackknife(level, unit="units" if clusters is None else "groups")
    over = jackknife.over(np.array(own))
    return over.statistic(parts, _alpha_of_parts, "nothing can be disagreed on", within=(-inf, 1.0))


def _unit_parts(labels: Sequence[Hashable], kinds: dict[Hashable, int]) -> list[float]:
    """The parts of a unit: its coincidences of equal labels, then how often each label occurs."""
    counts = Counter(labels)
    same = sum(count * (count - 1) for count in counts.values()) / (len(labels) - 1)
    return [same, *(float(counts[kind]) for kind in kinds)]


def _alpha_of_parts(sums: NDArray[np.floating]) -> NDArray[np.floating]:
    """Alpha of sums of parts [..., blocks, 1 + labels]."""
    import numpy as np

    same, counts = sums[..., 0, 0], sums[..., 0, 1:]
    every = counts.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (every - 1) * (every - same) / (every**2 - (counts**2).sum(-1)))


_NO_ITEMS = "there is no item"
_ONE_CATEGORY = "only one category occurs, on which chance alone agrees fully"


def share(flags: Sequence[bool], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95) -> Estimate:
    """The share of true flags with Wilson's score interval (Wilson 1927).

    With `clusters` the interval is computed for the effective number of flags, n divided by the design effect (Kish
    1965), never more than n; if all flags are equal the design effect cannot be estimated, and the number of clusters
    is used instead. `n` counts the flags.
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


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
) -> Estimate:
    """Agreement of two judges beyond chance on the same items in the same order (Cohen 1960).

    The interval is the large-sample one of Fleiss, Cohen and Everitt (1969), from each item's linear influence on
    kappa, summed over clusters if they are given. `n` counts the items. Not computed if only one category occurs, since
    chance alone then agrees fully; without an interval if the judges never disagree, since the large-sample one then
    has no width.

    Raises:
        ValueError: the sequences differ in length.
    """
    import numpy as np

    codes, k = _code_categories([first, second])
    n = len(first)
    if n == 0:
        return not_computed(_NO_ITEMS, level=level)
    row, column = (np.bincount(codes[judge], minlength=k) / n for judge in (0, 1))
    agree = (codes[0] == codes[1]).astype(float)
    observed, chance = float(agree.mean()), float(row @ column)
    if k == 1:
        return not_computed(_ONE_CATEGORY, level=level, n=n)
    kappa = (observed - chance) / (1 - chance)
    # d kappa / d p_ij for the item's cell (i, j), centred.
    slope = agree * (1 - chance) - (1 - observed) * (column[codes[0]] + row[codes[1]])
    method = "Fleiss-Cohen-Everitt" if clusters is None else "Fleiss-Cohen-Everitt, clustered"
    return _wald_estimate(kappa, (slope - slope.mean()) / (1 - chance) ** 2, clusters, method, level)


def fleiss_kappa(
    ratings: Sequence[Sequence[Hashable]], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Agreement beyond chance of two judges or more (Fleiss 1971); `ratings[judge][item]`, every item by every judge.

    The interval is the large-sample one from each item's linear influence (Gwet 2008, generalised pi), summed over
    clusters if they are given; unlike Fleiss' own standard error, it does not assume that judges agree by chance. `n`
    counts the items. The same cases as for `cohen_kappa` are not computed.

    Raises:
        ValueError: fewer than two judges, or sequences that differ in length.
    """
    import numpy as np

    if len(ratings) < 2:
        raise ValueError("agreement needs at least two judges")
    codes, k = _code_categories(ratings)
    judges, n = codes.shape
    if n == 0:
        return not_computed(_NO_ITEMS, level=level)
    counts = np.stack([(codes == category).sum(axis=0) for category in range(k)], axis=1)
    agree = (counts * (counts - 1)).sum(axis=1) / (judges * (judges - 1))
    shares = counts.sum(axis=0) / counts.sum()
    observed, chance = float(agree.mean()), float(shares @ shares)
    if k == 1:
        return not_computed(_ONE_CATEGORY, level=level, n=n)
    kappa = (observed - chance) / (1 - chance)
    by_chance = counts @ shares / judges
    influence = (agree - observed) / (1 - chance) - 2 * (1 - kappa) * (by_chance - chance) / (1 - chance)
    method = "Gwet" if clusters is None else "Gwet, clustered"
    return _wald_estimate(kappa, influence, range(n) if clusters is None else clusters, method, level)


def overlap(
    first: Sequence[Set[Hashable]],
    second: Sequence[Set[Hashable]],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> Estimate:
    """The mean Jaccard index of two sets for each item: the size of their intersection over that of their union
    (Jaccard 1912); 1 if both are empty. `n` counts the items.

    The interval is over clusters, by the one rule for intervals over items, and so needs five of them.

    Raises:
        ValueError: the sequences differ in length.
    """
    from overton.statistics.jackknife import SHARE, Jackknife

    sums: dict[Hashable, list[float]] = {}
    for labels, other, cluster in zip(first, second, clusters, strict=True):
        either = labels | other
        sums.setdefault(cluster, []).append(len(labels & other) / len(either) if either else 1.0)
    if not sums:
        return not_computed(_NO_ITEMS, level=level)
    jackknife = Jackknife(level, unit="items")
    found = jackknife.ratio([sum(some) for some in sums.values()], [len(some) for some in sums.values()], SHARE)
    return msgspec.structs.replace(found, n=len(first))


def _code_categories(ratings: Sequence[Sequence[Hashable]]) -> tuple[NDArray[Any], int]:
    """Categories as numbers from 0, `[judge, item]`, and how many there are."""
    import numpy as np

    if len({len(judge) for judge in ratings}) > 1:
        raise ValueError("the judges must rate the same items in the same order")
    numbers: dict[Hashable, int] = {}
    return np.array([[numbers.setdefault(label, len(numbers)) for label in judge] for judge in ratings], int), len(
        numbers
    )


def _wald_estimate(
    kappa: float, influence: NDArray[Any], clusters: Sequence[Hashable] | None, method: str, level: float
) -> Estimate:
    n = len(influence)
    sums = influence if clusters is None else _cluster_sums(influence, clusters)
    error = float((sums**2).sum()) ** 0.5 / n
    if error <= 1e-12 or len(sums) < 2:
        return Estimate(kappa, nan, nan, n, f"{method}: no interval from such uniform data", level)
    margin = _normal_quantile(level) * error * (1 if clusters is None else (len(sums) / (len(sums) - 1)) ** 0.5)
    return _kappa_estimate(kappa, margin, n, method, level)


def _kappa_estimate(kappa: float, margin: float, n: int, method: str, level: float) -> Estimate:
    return Estimate(kappa, max(-1.0, kappa - margin), min(1.0, kappa + margin), n, method, level, within=(-1.0, 1.0))


def _effective_items(deviations: NDArray[Any], clusters: Sequence[Hashable]) -> float:
    """How many independent items the clustered ones are worth, between 1 and their number."""
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


def _normal_quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


class SheetAgreement(msgspec.Struct, frozen=True):
    """Agreement of a judge with a person.

    `same` is the share of units that both label alike and `kappa` Cohen's; if the sheet was stratified both are for the
    population that it was drawn from. `by_label` is the share of a judge's label that the person confirms.
    `confusion[judge][person]` counts rows; `drawn` of them were on the sheet, `blank` were left empty.
    """

    sheet: str
    study: str
    what: str
    judge: str
    stratified: bool
    drawn: int
    blank: int
    same: Estimate
    kappa: Estimate
    by_label: dict[str, Estimate]
    confusion: dict[str, dict[str, int]]


def sheet_agreement(key: SheetKey, answers: SheetAnswers, *, level: float = 0.95) -> SheetAgreement:
    """The agreement on the rows that were filled in.

    Intervals of a plain sheet treat units of one group (turns of a conversation) as alike. A stratified sheet weights
    each label by how often the judge gives it; its intervals are large-sample ones for stratified draws (Cochran 1977,
    section 5.9, on each row's linear influence).

    Raises:
        InputError: the key is of another kind of sheet.
    """
    if any(row.label not in key.labels for row in key.rows) or (key.stratified and sum(key.population.values()) < 1):
        raise InputError([Problem("key", key.sheet, "is not the key of a sheet on which a judge's labels are checked")])
    rows = [(row, said) for row, said in zip(key.rows, answers.labels, strict=True) if said is not None]
    judged, said = [row.label for row, _ in rows], [label for _, label in rows]
    if key.stratified:
        same, kappa = _population_agreement(judged, said, key, level)
    else:
        groups = [row.group for row, _ in rows]
        same = share([judge == person for judge, person in zip(judged, said, strict=True)], groups, level=level)
        kappa = cohen_kappa(judged, said, groups, level=level)
    confusion = {label: dict.fromkeys(key.labels, 0) for label in key.labels}
    for judge, person in zip(judged, said, strict=True):
        confusion[judge][person] += 1
    by_label = {
        label: share(
            [person == label for judge, person in zip(judged, said, strict=True) if judge == label], level=level
        )
        for label in key.labels
        if label in judged
    }
    what = (key.sheet, key.study, key.what, key.judge, key.stratified, len(key.rows), answers.blank)
    return SheetAgreement(*what, same, kappa, by_label, confusion)


def leniency(found: SheetAgreement, label: str) -> Estimate:
    """Of the rows on which judge and person differ, the share to which the judge alone gives `label`, with Wilson's
    interval: 1 if all its errors are to see the label where it is absent (PluralEval, appendix A.5)."""
    apart = [
        judge == label
        for judge, said in found.confusion.items()
        for person, count in said.items()
        if judge != person
        for _ in range(count)
    ]
    return share(apart, level=found.same.level)


def _population_agreement(
    judged: Sequence[str], said: Sequence[str], key: SheetKey, level: float
) -> tuple[Estimate, Estimate]:
    """Share and kappa in the population, from the numbers of each label that happened to be drawn."""
    import numpy as np

    n, known = len(judged), {label: number for number, label in enumerate(key.labels)}
    missing = [label for label, count in key.population.items() if count and label not in judged]
    if n == 0 or missing:
        reason = _NO_ITEMS if n == 0 else f"no row that the judge calls {missing[0]} was filled in"
        return (not_computed(reason, level=level, n=n),) * 2
    first, second = (np.array([known[label] for label in labels]) for labels in (judged, said))
    drawn = np.bincount(first, minlength=len(known))
    strata = np.array([key.population.get(label, 0) for label in key.labels], float) / sum(key.population.values())
    weight = (strata / np.maximum(drawn, 1))[first]
    same = (first == second).astype(float)
    observed, chance = float(weight @ same), float(strata @ np.bincount(second, weight, minlength=len(known)))
    agreed = _stratified_agreement(observed, _stratified_variance(same, weight, first), weight, level)
    if chance > 1 - 1e-12:
        return agreed, not_computed(_ONE_CATEGORY, level=level, n=n)
    # As for a plain draw (see `cohen_kappa`), except that the judge's own shares are known.
    influence = (same * (1 - chance) - (1 - observed) * strata[second]) / (1 - chance) ** 2
    kappa, variance = (observed - chance) / (1 - chance), _stratified_variance(influence, weight, first)
    if variance <= _ZERO_VARIANCE:
        return agreed, Estimate(kappa, nan, nan, n, f"{_STRATIFIED_METHOD}: no interval from such uniform data", level)
    margin = _normal_quantile(level) * variance**0.5
    return agreed, _kappa_estimate(kappa, margin, n, _STRATIFIED_METHOD, level)


_STRATIFIED_METHOD = "stratified, large-sample"
_ZERO_VARIANCE = 1e-24


def _stratified_variance(influence: NDArray[Any], weight: NDArray[Any], stratum: NDArray[Any]) -> float:
    """The variance of a stratified mean of `influence`, whose weights sum to one."""
    import numpy as np

    parts = [(influence[inside], weight[inside]) for inside in (stratum == code for code in np.unique(stratum))]
    return sum(
        float(weights.sum()) ** 2 * float(values.var(ddof=1)) / len(values)
        for values, weights in parts
        if len(values) > 1
    )


def _stratified_agreement(observed: float, variance: float, weight: NDArray[Any], level: float) -> Estimate:
    """A weighted share; if all rows are alike, with Wilson's interval for as many equally weighted ones (Kish)."""
    from overton.statistics.proportions import wilson_limits

    n = len(weight)
    if variance <= _ZERO_VARIANCE:
        low, high = wilson_limits(round(observed), 1 / float((weight**2).sum()), level)
        return Estimate(observed, min(float(low), observed), max(float(high), observed), n, "Wilson, stratified", level)
    margin = _normal_quantile(level) * variance**0.5
    ends = max(0.0, observed - margin), min(1.0, observed + margin)
    return Estimate(observed, *ends, n, _STRATIFIED_METHOD, level, within=(0.0, 1.0))
