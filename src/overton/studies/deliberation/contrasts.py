"""Shares and means that are no means of units as rows, and two of them compared: the paper's tests, and their paired
counterparts.
"""

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
from overton.statistics.jackknife import SHARE, Range, Resampling
from overton.statistics.tests import holm, signed_rank
from overton.studies.frame import EstimateRow
from overton.studies.study_measures import TableRow

_PROPORTIONS = "two-proportion z"
_MCNEMAR = "McNemar, exact, over dilemmas"
_MANN_WHITNEY = "Mann-Whitney U"
_SIGNED_RANK = "Wilcoxon signed-rank, over dilemmas"

NOTHING = "nothing was observed"
"""Why an estimate has no value: its denominator is empty."""


class Where(NamedTuple):
    """What a number is of, as in the table of estimates; a difference is from `against`."""

    measure: str
    model: str | None = None
    facet: str | None = None
    condition: str | None = None
    against: str | None = None

    def row(self, number: Estimate, clusters: int, p: float | None = None) -> EstimateRow:
        """Its row."""
        return EstimateRow(**self._asdict(), number=number, clusters=clusters, p=p)


def rows_of(
    resampling: Resampling,
    sums: Sequence[tuple[Sequence[Where], ClusterSums]],
    nothing: str = NOTHING,
    within: Range = SHARE,
) -> Iterator[EstimateRow]:
    """A row for each of the K numbers of sums [dilemmas, K]."""
    found = resampling.ratios((counts for _, counts in sums), nothing, within)
    for (places, counts), numbers in zip(sums, found, strict=True):
        for where, number, clusters in zip(places, numbers, _clusters(counts), strict=True):
            yield where.row(number, clusters)


def _clusters(counts: ClusterSums) -> list[int]:
    """How many dilemmas are behind each of the K numbers."""
    many = np.count_nonzero(counts.below.reshape(len(counts.below), -1), axis=0)
    every: list[int] = np.broadcast_to(many, counts.above.reshape(len(counts.above), -1).shape[1]).tolist()
    return every


@dataclass(frozen=True)
class Contrast:
    """K shares of two groups, `first` and `second` [dilemmas, K], or two means with every observation.

    `places` say what each difference is: the second group's number against the first's. `sides` say what both numbers
    of a single difference are, if they have rows nowhere else. `observed` are both sides' observations if means are
    compared.
    """

    places: Sequence[Where]
    first: ClusterSums
    second: ClusterSums
    sides: tuple[Where, Where] | None = None
    observed: tuple[Floats, Floats] | None = None


class Significance(NamedTuple):
    """A test of no difference, two-sided: its `name`, and the P value. It is NaN if there is nothing to compare."""

    name: str
    p: float


class Difference(NamedTuple):
    """The second number minus the first, on the same dilemmas if they share any, and both numbers.

    `unpaired` is the paper's test, which treats all observations as independent; `paired` is its counterpart, which
    compares within dilemmas.
    """

    where: Where
    first: Estimate
    second: Estimate
    number: Estimate
    clusters: int
    unpaired: Significance
    paired: Significance


def compare(resampling: Resampling, contrasts: Iterable[Contrast]) -> list[Difference]:
    """The differences of every contrast, in order, K of them for a contrast of K. There are no tests (NaN) of counts
    with weights."""
    places: list[Where] = []
    clusters: list[int] = []
    tests: list[tuple[Significance, Significance]] = []

    def counts() -> Iterator[tuple[ClusterSums, ClusterSums]]:
        # One at a time, so that not all contrasts' dilemmas are in memory at once.
        for contrast in contrasts:
            places.extend(contrast.places)
            clusters.extend(map(min, _clusters(contrast.first), _clusters(contrast.second)))
            tests.extend(_tests(contrast))
            yield contrast.first, contrast.second

    estimates = [estimate for made in resampling.differences(counts(), NOTHING) for estimate in made]
    return [
        Difference(where, *numbers, many, *both)
        for where, numbers, many, both in zip(places, estimates, clusters, tests, strict=True)
    ]


def _tests(contrast: Contrast) -> list[tuple[Significance, Significance]]:
    (first, first_n, _), (second, second_n, _) = contrast.first, contrast.second
    if contrast.first.many is not None:  # weighted counts are no sample for these tests
        unpaired = paired = np.full(len(contrast.places), nan)
        names = (_PROPORTIONS, _MCNEMAR)
    elif contrast.observed is None:
        wide = [side.reshape(len(side), -1) for side in (first, second)]
        unpaired = proportions(wide[0].sum(0), first_n.sum(), wide[1].sum(0), second_n.sum())
        paired = mcnemar(wide[0], first_n[:, None], wide[1], second_n[:, None])
        names = (_PROPORTIONS, _MCNEMAR)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = second / second_n - first / first_n
        unpaired, paired = np.array([mann_whitney(*contrast.observed)]), np.array([signed_rank(moved)])
        names = (_MANN_WHITNEY, _SIGNED_RANK)
    return [
        (Significance(names[0], p), Significance(names[1], q))
        for p, q in zip(unpaired.tolist(), paired.tolist(), strict=True)
    ]


def proportions(first: Floats, first_n: float, second: Floats, second_n: float) -> Floats:
    """The two-proportion z test with a pooled variance (section 4.4), two-sided; NaN if a side has no cases."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.asarray(first_n, float), np.asarray(second_n, float)
        pooled = (first + second) / (sizes[0] + sizes[1])
        error = np.sqrt(pooled * (1 - pooled) * (1 / sizes[0] + 1 / sizes[1]))
        gap = np.abs(first / sizes[0] - second / sizes[1])
        return np.where(np.isnan(gap), np.nan, np.where(error == 0, 1.0, 2 * ndtr(-gap / error)))


def mcnemar(first: Floats, first_n: Floats, second: Floats, second_n: Floats) -> Floats:
    """McNemar's exact test over the dilemmas (first axis) that both sides have, two-sided; NaN if there is none.

    With one case per side and dilemma it is McNemar's; with several, a dilemma counts for the side with the higher
    share, as in a sign test.
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


def sides_of(contrasts: Sequence[Contrast], differences: Sequence[Difference]) -> Iterator[EstimateRow]:
    """The rows of both numbers of each difference, if its contrast says what they are."""
    single = [contrast for contrast in contrasts for _ in contrast.places]
    for contrast, found in zip(single, differences, strict=True):
        if contrast.sides is not None:
            first, second = contrast.sides
            yield first.row(found.first, _clusters(contrast.first)[0])
            yield second.row(found.second, _clusters(contrast.second)[0])


def together(differences: Sequence[Difference]) -> Iterator[EstimateRow | TableRow]:
    """Differences as rows, and both tests of each in the table 'tests'. Tests are corrected for the number of
    comparisons made together (Holm 1979). A row's P value is that of the paired test."""
    unpaired, paired = [found.unpaired for found in differences], [found.paired for found in differences]
    return _rows(differences, _adjust(unpaired), _adjust(paired))


def apart(differences: Sequence[Difference]) -> Iterator[EstimateRow | TableRow]:
    """The same for differences that are separate questions: each test stands for itself."""
    unpaired, paired = [(found.unpaired.p, 1) for found in differences], [(found.paired.p, 1) for found in differences]
    return _rows(differences, unpaired, paired)


def _adjust(tests: Sequence[Significance]) -> list[tuple[float, int]]:
    """P values corrected for the number of comparisons, and that number."""
    of = sum(not isnan(test.p) for test in tests)
    return [(adjusted, of) for adjusted in holm(test.p for test in tests)]


def _rows(
    differences: Sequence[Difference], unpaired: Sequence[tuple[float, int]], paired: Sequence[tuple[float, int]]
) -> Iterator[EstimateRow | TableRow]:
    for found, *adjusted in zip(differences, unpaired, paired, strict=True):
        yield found.where.row(found.number, found.clusters, _known(adjusted[1][0]))
        for kind, test, (p, of) in zip(("unpaired", "paired"), (found.unpaired, found.paired), adjusted, strict=True):
            cells = {"kind": kind, "test": test.name, "p": _known(test.p), "adjusted": _known(p), "of": of}
            yield TableRow("tests", {**found.where._asdict(), **cells})


def _known(p: float) -> float | None:
    return None if isnan(p) else p
