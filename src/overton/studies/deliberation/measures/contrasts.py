"""Two numbers compared: the paper's tests, and their paired counterparts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from scipy.special import bdtr, ndtr
from scipy.stats import mannwhitneyu

from overton.statistics.arrays import Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.statistics.tests import holm, signed_rank
from overton.studies.deliberation.measures.results import Contrast, Significance

Key = TypeVar("Key")

_PROPORTIONS = "two-proportion z"
_MCNEMAR = "McNemar, exact, over dilemmas"
_MANN_WHITNEY = "Mann-Whitney U"
_SIGNED_RANK = "Wilcoxon signed-rank, over dilemmas"


NOTHING = "nothing was observed"
"""Why an estimate has no value: its denominator is empty."""


class SharePair(NamedTuple, Generic[Key]):
    """Two shares to compare, or K of them where `above` is [dilemmas, K]; or two means, with every observation.

    `key` says what is compared. `observed` are both sides' observations if means are compared.
    """

    key: Key
    names: tuple[str, str]
    first: ClusterSums
    second: ClusterSums
    observed: tuple[Floats, Floats] | None = None


def two(sides: Iterable[ClusterSums]) -> tuple[ClusterSums, ClusterSums]:
    """Both sides of a pair."""
    first, second = sides
    return first, second


def compared(resampling: Resampling, pairs: Iterable[SharePair[Key]]) -> list[tuple[Key, Contrast]]:
    """Every pair's contrast, in order, K of them for a pair of K; tests are not yet corrected for their number.

    There are no tests (NaN) of counts with weights.
    """
    keys: list[Key] = []
    tests: list[tuple[tuple[str, str], Significance, Significance]] = []

    def counts() -> Iterable[tuple[ClusterSums, ClusterSums]]:
        # One at a time, so that not all pairs' dilemmas are in memory at once.
        for pair in pairs:
            found = _tests(pair)
            keys.extend([pair.key] * len(found))
            tests.extend((pair.names, *both) for both in found)
            yield pair.first, pair.second

    estimates = [estimate for made in resampling.differences(counts(), NOTHING) for estimate in made]
    return [
        (key, Contrast(*names, *three, unpaired, paired))
        for key, (names, unpaired, paired), three in zip(keys, tests, estimates, strict=True)
    ]


def _tests(pair: SharePair[Key]) -> list[tuple[Significance, Significance]]:
    (first, first_n, _), (second, second_n, _) = pair.first, pair.second
    if pair.first.many is not None:  # weighted counts are no sample for these tests
        unpaired = paired = np.full(first.reshape(len(first), -1).shape[1], nan)
        names = (_PROPORTIONS, _MCNEMAR)
    elif pair.observed is None:
        wide = [side.reshape(len(side), -1) for side in (first, second)]
        unpaired = proportions(wide[0].sum(0), first_n.sum(), wide[1].sum(0), second_n.sum())
        paired = mcnemar(wide[0], first_n[:, None], wide[1], second_n[:, None])
        names = (_PROPORTIONS, _MCNEMAR)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = second / second_n - first / first_n
        unpaired, paired = np.array([mann_whitney(*pair.observed)]), np.array([signed_rank(moved)])
        names = (_MANN_WHITNEY, _SIGNED_RANK)
    return [
        (Significance(names[0], p, p, 1), Significance(names[1], q, q, 1))
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


def corrected(pairs: Sequence[tuple[Key, Contrast]]) -> tuple[tuple[Key, Contrast], ...]:
    """The contrasts with both of their tests adjusted for the number of contrasts."""
    columns = []
    for field in ("unpaired", "paired"):
        tests: list[Significance] = [getattr(contrast, field) for _, contrast in pairs]
        of = sum(test.p == test.p for test in tests)
        adjusted = holm(test.p for test in tests)
        columns.append(
            [Significance(test.name, test.p, value, of) for test, value in zip(tests, adjusted, strict=True)]
        )
    return tuple(
        (key, msgspec.structs.replace(contrast, unpaired=unpaired, paired=paired))
        for (key, contrast), unpaired, paired in zip(pairs, *columns, strict=True)
    )
