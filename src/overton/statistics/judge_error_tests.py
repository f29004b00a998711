"""Tests of two assumptions behind corrected numbers: a judge errs equally often everywhere, and its errors do not
cluster.

Overton corrects each model's numbers by the judge's error rates in the labels of all models. If the judge errs more
often for one of two models, the corrected numbers show a difference that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.statistics.misclassification import DoublyLabelled
from overton.statistics.proportions import difference_limits

_SIGNIFICANCE = 0.05


class EqualErrors(msgspec.Struct, frozen=True):
    """A permutation test of whether a judge's error rate, given each row's true label, differs between groups of rows.

    `by` is the kind of group, in the singular ('model'). `rates` has each group's proportion of wrong labels, and
    `labels` has each group's number of labels. The test exchanges whole units (such as conversations) between groups.
    Its p-value `p` is corrected for the number of tests (Holm 1979). `p` is NaN if fewer than two groups have labels.
    It is also NaN if, for each true label, the judge errs in all rows or in none. `most` is a 95% upper bound on the
    difference between the error rate of any group and the error rate of all other groups together.
    """

    by: str
    rates: dict[str, float]
    labels: dict[str, int]
    p: float
    most: float

    @property
    def fails(self) -> bool:
        """Whether errors depend on the group, at 5%."""
        return self.p < _SIGNIFICANCE

    @property
    def why(self) -> str:
        """The reason why Overton does not compare groups by corrected numbers; '' if errors do not depend on the
        group."""
        return f"the judge's errors depend on the {self.by} (p = {self.p:.3f})" if self.fails else ""

    def sentence(self, *, by_units: bool) -> str:
        """The test's result, and its consequence for correction by whole units (`by_units`) or by single labels."""
        if isnan(self.p):
            return f"These labels cannot show whether the judge's errors depend on the {self.by}."
        if not self.fails:
            return (
                f"These labels do not show that the judge's errors depend on the {self.by} (p = {self.p:.2f}), but"
                f" error rates could still differ by up to {100 * self.most:.0f} points."
            )
        rates = ", ".join(
            f"{name}: {100 * rate:.0f}% of {self.labels[name]:,} labels" for name, rate in self.rates.items()
        )
        found = f"The judge's errors depend on the {self.by} ({rates}; p = {self.p:.3f})"
        if by_units:
            return f"{found}. Numbers that are corrected by whole units take this into account."
        return (
            f"{found}, so Overton does not correct differences between these groups. Label whole units (overton judge"
            f" sample --whole), or give each {self.by} its own run and labels."
        )


_PERMUTATIONS = 2_000
_ZERO = 1e-12


def equal_errors(
    readings: DoublyLabelled, groups: Mapping[str, Sequence[str]], seed: int = 0
) -> tuple[EqualErrors, ...]:
    """Test, for each kind of group, whether error rates differ. `groups` maps each kind to the group of each labelled
    row [n].

    All rows of a unit (`readings.group`) belong to one group. A residual is an error minus the error rate for the row's
    true label. For each group, the squared sum of its residuals is divided by its number of rows. The test statistic is
    the sum of these quotients. Its null distribution comes from exchanging whole units between groups, because errors
    may cluster in units.
    """
    random = np.random.default_rng(seed)
    found = [_test_groups(readings, kind, names, random) for kind, names in groups.items()]
    known = sorted((result.p, place) for place, result in enumerate(found) if not isnan(result.p))
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        found[place] = msgspec.structs.replace(found[place], p=least)
    return tuple(found)


def _test_groups(readings: DoublyLabelled, by: str, names: Sequence[str], random: np.random.Generator) -> EqualErrors:
    kinds, code = np.unique(np.array(names, str), return_inverse=True)
    labels = np.bincount(code, minlength=len(kinds))
    wrong = np.bincount(code, readings.errors, len(kinds))
    rates = {str(name): float(rate) for name, rate in zip(kinds, wrong / np.maximum(labels, 1), strict=True)}
    counts = {str(name): int(many) for name, many in zip(kinds, labels, strict=True)}
    residues = readings.residues
    if len(kinds) < 2 or float(residues @ residues) < _ZERO:
        return EqualErrors(by, rates, counts, nan, nan)
    _, first, unit = np.unique(readings.group, return_index=True, return_inverse=True)
    sums, sizes = np.asarray(np.bincount(unit, residues), float), np.bincount(unit)
    own = code[first]
    exchanged = random.permuted(np.tile(own, (_PERMUTATIONS, 1)), axis=1)
    seen = float(_statistic(own[None], sums, sizes, len(kinds))[0])
    as_much = int((_statistic(exchanged, sums, sizes, len(kinds)) >= seen - 1e-9).sum())
    alike = max(1.0, float(sums @ sums) / float(residues @ residues))
    most = max(
        _furthest_limit(wrong[group], labels[group], wrong.sum(), labels.sum(), alike) for group in range(len(kinds))
    )
    return EqualErrors(by, rates, counts, (as_much + 1) / (_PERMUTATIONS + 1), most)


def _statistic(groups: Ints, sums: Floats, sizes: Ints, many: int) -> Floats:
    """The statistic of `equal_errors` for each assignment of units to groups [some, U]."""
    total = np.zeros(len(groups))
    for number in range(many):
        inside = groups == number
        total += (inside @ sums) ** 2 / np.maximum(inside @ sizes, 1)
    return total


def _furthest_limit(wrong: float, labels: int, all_wrong: float, all_labels: int, alike: float) -> float:
    """The limit furthest from 0 of the difference between one group's error rate and that of all others (Newcombe
    1998). Numbers of labels are divided by the design effect `alike`, because labels of a unit may be similar."""
    others = all_labels - labels
    low, high = difference_limits(wrong / labels, labels / alike, (all_wrong - wrong) / others, others / alike)
    return max(abs(float(low)), abs(float(high)))


class ErrorClustering(msgspec.Struct, frozen=True):
    """The correlation of errors within groups, given the true label of each row.

    `correlation` is the correlation between two labelled rows of one group, over `pairs` pairs in `groups` groups. `p`
    is the p-value of a permutation test that exchanges errors between rows with the same true label, in any group.
    `correlation` and `p` are NaN if no group has two labelled rows. They are also NaN if, for each true label, the
    judge errs in all rows or in none.
    """

    correlation: float
    p: float
    pairs: int
    groups: int = 0

    @property
    def fails(self) -> bool:
        """Whether errors cluster more than by chance, at 5%."""
        return self.p < _SIGNIFICANCE

    def __str__(self) -> str:
        if np.isnan(self.p):
            return "These labels cannot show whether the judge's errors cluster in groups."
        said = f"correlation {self.correlation:.2f} over {self.pairs} pairs, p = {self.p:.3f}"
        if self.fails:
            return (
                f"The judge's errors cluster in groups ({said}): numbers corrected from single labels are then wrong."
                " Label whole groups."
            )
        return f"No clustering of the judge's errors in groups was found ({said})."


def error_clustering(readings: DoublyLabelled, seed: int = 0) -> ErrorClustering:
    """The correlation of errors within groups: the mean product of two rows' residuals, divided by the variance of
    residuals. A residual is an error (0 to 1) minus the error rate for the row's true label."""
    truth = readings.people.argmax(1)
    residue = readings.residues
    sizes = np.bincount(readings.group).astype(float)
    pairs, variance = int((sizes * (sizes - 1) / 2).sum()), float((residue**2).mean())
    several = int((sizes > 1).sum())
    if not pairs or variance < 1e-12:
        return ErrorClustering(nan, nan, pairs, several)
    seen = _sum_pair_products(residue[None], readings.group)[0]
    order = np.argsort(truth, kind="stable")
    random = np.random.default_rng(seed)
    keys = truth[order] + random.random((_PERMUTATIONS, len(truth)))  # sorting shuffles rows within each true label
    shuffled = np.empty((_PERMUTATIONS, len(truth)))
    shuffled[:, order] = residue[order][np.argsort(keys, axis=1)]
    as_much = int((_sum_pair_products(shuffled, readings.group) >= seen - 1e-9).sum())
    return ErrorClustering(float(seen / pairs / variance), (as_much + 1) / (_PERMUTATIONS + 1), pairs, several)


def _sum_pair_products(residues: Floats, group: NDArray[np.int64]) -> Floats:
    """For each set of residuals [some, n], the sum [some] of products of two rows' residuals, over all pairs of rows in
    one group."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sums = np.add.reduceat(residues[:, order], starts, axis=1)
    return np.asarray(((sums**2).sum(1) - (residues**2).sum(1)) / 2)
