"""How well a judge agrees with the person who filled in a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import msgspec

from overton.judging.agreement import NO_ITEMS, ONE_CATEGORY, cohen_kappa, share
from overton.judging.sheets import Answers, Key
from overton.statistics import Estimate
from overton.statistics.estimate import not_computed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SheetAgreement", "agree", "leniency"]


class SheetAgreement(msgspec.Struct, frozen=True):
    """Agreement of a judge with a person.

    `same` is the share of units that both label alike and `kappa` Cohen's; where the sheet was stratified both are for
    the population that it was drawn from. `by_label` is the share of a judge's label that the person confirms.
    `confusion[judge][person]` counts rows; `drawn` of them there were, `blank` were left empty.
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


def agree(key: Key, answers: Answers, *, level: float = 0.95) -> SheetAgreement:
    """The agreement on the rows that were filled in.

    A plain sheet has intervals that take units of one group (turns of a conversation) as alike. A stratified sheet
    weighs each label by how often the judge gives it; its intervals are large-sample ones for stratified draws
    (Cochran 1977, section 5.9, on each row's linear influence).
    """
    rows = [(row, said) for row, said in zip(key.rows, answers.labels, strict=True) if said is not None]
    judged, said = [row.label for row, _ in rows], [one for _, one in rows]
    if key.stratified:
        same, kappa = _weighted(judged, said, key, level)
    else:
        groups = [row.group for row, _ in rows]
        same = share([one == two for one, two in zip(judged, said, strict=True)], groups, level=level)
        kappa = cohen_kappa(judged, said, groups, level=level)
    confusion = {one: dict.fromkeys(key.labels, 0) for one in key.labels}
    for one, two in zip(judged, said, strict=True):
        confusion[one][two] += 1
    by_label = {
        label: share([two == label for one, two in zip(judged, said, strict=True) if one == label], level=level)
        for label in key.labels
        if label in judged
    }
    what = (key.sheet, key.study, key.what, key.judge, key.stratified, len(key.rows), answers.blank)
    return SheetAgreement(*what, same, kappa, by_label, confusion)


def leniency(found: SheetAgreement, label: str) -> Estimate:
    """Of the rows on which judge and person differ, the share to which the judge alone gives `label`, with Wilson's
    interval: 1 where all its errors are to see it where it is not (PluralEval, appendix A.5)."""
    apart = [
        judge == label
        for judge, said in found.confusion.items()
        for person, count in said.items()
        if judge != person
        for _ in range(count)
    ]
    return share(apart, level=found.same.level)


def _weighted(judged: Sequence[str], said: Sequence[str], key: Key, level: float) -> tuple[Estimate, Estimate]:
    """Share and kappa in the population, from as many of each label as there happen to be."""
    import numpy as np

    n, known = len(judged), {label: number for number, label in enumerate(key.labels)}
    lost = [label for label, count in key.population.items() if count and label not in judged]
    if n == 0 or lost:
        reason = NO_ITEMS if n == 0 else f"no row that the judge calls {lost[0]} was filled in"
        return (not_computed(reason, level=level, n=n),) * 2
    first, second = (np.array([known[label] for label in labels]) for labels in (judged, said))
    drawn = np.bincount(first, minlength=len(known))
    strata = np.array([key.population.get(label, 0) for label in key.labels], float) / sum(key.population.values())
    weight = (strata / np.maximum(drawn, 1))[first]
    same = (first == second).astype(float)
    observed, chance = float(weight @ same), float(strata @ np.bincount(second, weight, minlength=len(known)))
    agreed = _agreed(observed, _variance(same, weight, first), weight, level)
    if chance > 1 - 1e-12:
        return agreed, not_computed(ONE_CATEGORY, level=level, n=n)
    # As for a plain draw (see `cohen_kappa`), but the judge's own shares are known.
    influence = (same * (1 - chance) - (1 - observed) * strata[second]) / (1 - chance) ** 2
    kappa, variance = (observed - chance) / (1 - chance), _variance(influence, weight, first)
    if variance <= _NOTHING:
        return agreed, Estimate(kappa, nan, nan, n, f"{_METHOD}: no interval from such uniform data", level)
    margin = _z(level) * variance**0.5
    return agreed, Estimate(kappa, max(-1.0, kappa - margin), min(1.0, kappa + margin), n, _METHOD, level)


_METHOD = "stratified, large-sample"
_NOTHING = 1e-24


def _variance(influence: NDArray[Any], weight: NDArray[Any], stratum: NDArray[Any]) -> float:
    """The variance of a stratified mean of `influence`, whose weights sum to one."""
    import numpy as np

    parts = [(influence[inside], weight[inside]) for inside in (stratum == code for code in np.unique(stratum))]
    return sum(
        float(one.sum()) ** 2 * float(values.var(ddof=1)) / len(values) for values, one in parts if len(values) > 1
    )


def _agreed(observed: float, variance: float, weight: NDArray[Any], level: float) -> Estimate:
    """A weighted share; where all rows are alike it has Wilson's interval for so many equally weighted ones (Kish)."""
    from overton.statistics.proportions import wilson_limits

    n = len(weight)
    if variance <= _NOTHING:
        low, high = wilson_limits(round(observed), 1 / float((weight**2).sum()), level)
        return Estimate(observed, min(float(low), observed), max(float(high), observed), n, "Wilson, stratified", level)
    margin = _z(level) * variance**0.5
    return Estimate(observed, max(0.0, observed - margin), min(1.0, observed + margin), n, _METHOD, level)


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
