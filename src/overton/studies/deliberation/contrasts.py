"""Proportions and means that are not averages over units, differences between two such numbers, the paper's tests, and
paired tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr
from scipy.stats import mannwhitneyu

from overton.statistics import Estimate
from overton.statistics.arrays import Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import SHARE, Range
from overton.statistics.jackknife import Resampling
from overton.statistics.tests import holm, signed_rank
from overton.studies.frame import EstimateRow
from overton.studies.study_measures import TableRow

NOTHING = "nothing was observed"
"""The reason for an estimate without value: its denominator is empty."""
_PROPORTIONS = "two-proportion z"
_MCNEMAR = "McNemar, exact, over dilemmas"
_MANN_WHITNEY = "Mann-Whitney U"
_SIGNED_RANK = "Wilcoxon signed-rank, over dilemmas"


class Where(NamedTuple):
    """The subject of a number, as in the table of estimates.

    For a difference, `against` is the condition whose number is subtracted.
    """

    measure: str
    model: str | None = None
    facet: str | None = None
    condition: str | None = None
    against: str | None = None

    def row(self, number: Estimate, clusters: int, p: float | None = None) -> EstimateRow:
        """The row of a number about this subject."""
        return EstimateRow(**self._asdict(), number=number, clusters=clusters, p=p)


def rows_of(
    resampling: Resampling,
    sums: Sequence[tuple[Sequence[Where], ClusterSums]],
    nothing: str = NOTHING,
    within: Range = SHARE,
) -> Iterator[EstimateRow]:
    """Yield a row for each of the K ratios of sums [dilemmas, K]."""
    found = resampling.ratios((counts for _, counts in sums), nothing, within)
    for (places, counts), numbers in zip(sums, found, strict=True):
        for where, number, clusters in zip(places, numbers, _clusters(counts), strict=True):
            yield where.row(number, clusters)


def _clusters(counts: ClusterSums) -> list[int]:
    """The number of dilemmas behind each of the K ratios."""
    many = np.count_nonzero(counts.below.reshape(len(counts.below), -1), axis=0)
    every: list[int] = np.broadcast_to(many, counts.above.reshape(len(counts.above), -1).shape[1]).tolist()
    return every


@dataclass(frozen=True)
class Contrast:
    """Two groups to compare. `first` and `second` [dilemmas, K] are K proportions of each group, or one mean of each
    group.

    Each difference is the second group's number minus the first's. `places` gives the keys of the differences' rows.
    `sides` gives the keys of two more rows, with the two groups' own numbers. It is None if these numbers have rows
    elsewhere. If means are compared, `observed` has all observations of both groups.
    """

    places: Sequence[Where]
    first: ClusterSums
    second: ClusterSums
    sides: tuple[Where, Where] | None = None
    observed: tuple[Floats, Floats] | None = None


def compare(
    resampling: Resampling, contrasts: Iterable[Contrast], *, corrected: bool = True
) -> Iterator[EstimateRow | TableRow]:
    """Yield rows for the `sides` of contrasts, then the differences of every contrast, with two tests each.

    Tests go into the table 'tests'.

    If the groups share dilemmas, a difference is over the shared dilemmas. The 'unpaired' test is the paper's, which
    treats all observations as independent. The 'paired' test compares within dilemmas; its p-value is also in the
    difference's row. With `corrected`, tests are corrected for the number of comparisons made together (Holm 1979).
    Weighted counts have no tests (NaN).
    """
    places: list[Where] = []
    clusters: list[tuple[int, int]] = []
    sides: list[tuple[Where, Where] | None] = []
    tests: dict[str, list[tuple[str, float]]] = {"unpaired": [], "paired": []}

    def counts() -> Iterator[tuple[ClusterSums, ClusterSums]]:
        # One at a time, so that not all contrasts' dilemmas are in memory at once.
        for contrast in contrasts:
            places.extend(contrast.places)
            many = list(zip(_clusters(contrast.first), _clusters(contrast.second), strict=True))
            # A difference of means is over shared dilemmas, so the rows of both means count shared dilemmas, too.
            clusters.extend((min(both), min(both)) if contrast.observed else both for both in many)
            sides.extend([contrast.sides] * len(contrast.places))
            for unpaired, paired in _tests(contrast):
                tests["unpaired"].append(unpaired)
                tests["paired"].append(paired)
            yield contrast.first, contrast.second

    estimates = [estimate for made in resampling.differences(counts(), NOTHING) for estimate in made]
    for named, numbers, many in zip(sides, estimates, clusters, strict=True):
        for where, number, dilemmas in zip(named or (), numbers, many, strict=False):
            yield where.row(number, dilemmas)
    adjusted = {kind: _adjusted(found) if corrected else [(p, 1) for _, p in found] for kind, found in tests.items()}
    for place, (where, (_, _, number), many) in enumerate(zip(places, estimates, clusters, strict=True)):
        yield where.row(number, min(many), _known(adjusted["paired"][place][0]))
        for kind, found in tests.items():
            (test, own), (p, of) = found[place], adjusted[kind][place]
            cells = {"kind": kind, "test": test, "p": _known(own), "adjusted": _known(p), "of": of}
            yield TableRow("tests", {**where._asdict(), **cells})


def _adjusted(tests: Sequence[tuple[str, float]]) -> list[tuple[float, int]]:
    """P values corrected for the number of comparisons, and the number of comparisons."""
    of = sum(not isnan(p) for _, p in tests)
    return [(p, of) for p in holm(p for _, p in tests)]


def _known(p: float) -> float | None:
    return None if isnan(p) else p


def _tests(contrast: Contrast) -> Iterator[tuple[tuple[str, float], tuple[str, float]]]:
    """The names and P values of the unpaired and of the paired test of each difference, two-sided."""
    (first, first_n, _), (second, second_n, _) = contrast.first, contrast.second
    names = (_PROPORTIONS, _MCNEMAR)
    if contrast.first.many is not None:  # these tests need counts of independent cases, not weighted sums
        unpaired = paired = np.full(len(contrast.places), nan)
    elif contrast.observed is None:
        wide = [side.reshape(len(side), -1) for side in (first, second)]
        unpaired = proportions(wide[0].sum(0), first_n.sum(), wide[1].sum(0), second_n.sum())
        paired = mcnemar(wide[0], first_n[:, None], wide[1], second_n[:, None])
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = second / second_n - first / first_n
        unpaired, paired = np.array([mann_whitney(*contrast.observed)]), np.array([signed_rank(moved)])
        names = (_MANN_WHITNEY, _SIGNED_RANK)
    for p, q in zip(unpaired.tolist(), paired.tolist(), strict=True):
        yield (names[0], p), (names[1], q)


def proportions(first: Floats, first_n: float, second: Floats, second_n: float) -> Floats:
    """The two-proportion z test with a pooled variance (section 4.4), two-sided; NaN if a group has no cases."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.asarray(first_n, float), np.asarray(second_n, float)
        pooled = (first + second) / (sizes[0] + sizes[1])
        error = np.sqrt(pooled * (1 - pooled) * (1 / sizes[0] + 1 / sizes[1]))
        gap = np.abs(first / sizes[0] - second / sizes[1])
        return np.where(np.isnan(gap), np.nan, np.where(error == 0, 1.0, 2 * ndtr(-gap / error)))


def mcnemar(first: Floats, first_n: Floats, second: Floats, second_n: Floats) -> Floats:
    """McNemar's exact test, two-sided, over the dilemmas (first axis) that both groups have; NaN without such dilemmas.

    With one case per group and dilemma, this is McNemar's test in its usual form. With several cases, a dilemma counts
    for the group with the higher proportion, as in a sign test.
    """
    both = (first_n > 0) & (second_n > 0)
    gap = np.where(both, second * first_n - first * second_n, 0)
    up, down = (gap > 0).sum(0), (gap < 0).sum(0)
    return np.where(both.any(0), np.minimum(1.0, 2 * bdtr(np.minimum(up, down), up + down, 0.5)), np.nan)


def mann_whitney(first: Floats, second: Floats) -> float:
    """The Mann-Whitney U test (figure 5), two-sided; NaN if one side is empty."""
    if not len(first) or not len(second):
        return nan
    return float(mannwhitneyu(first, second, method="asymptotic").pvalue)
