"""A judge's labels, corrected with human labels of some rows: proportions, means, and differences of proportions or
means.

The judge labelled every row. A random sample of rows also has human labels. The judge's errors are measured on the
sample and removed from numbers over all rows (prediction-powered inference: Angelopoulos et al. 2023, Science 382:669).
The correction weights the judge's labels by how well they predict human labels (power tuning: Angelopoulos, Duchi and
Zrnic 2023, arXiv 2311.01453, section 6). For a mean this is the regression estimator of survey sampling (Cochran 1977,
chapter 7). Textbook limits have too low coverage for rare labels and small groups, so proportions have Wilson's limits,
which allow for unobserved errors. If rows were sampled with unequal probabilities, proportions are corrected by stratum
(`statistics.stratified_share`). docs/judge-reference.md has the formulas and the coverage of the intervals.
"""

from __future__ import annotations

from math import hypot, inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np

from overton.statistics.arrays import Flags, Floats
from overton.statistics.estimate import FEWEST, NO_INTERVAL, Estimate, ends_of, not_computed
from overton.statistics.jackknife import StandardErrors, gaps
from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
from overton.statistics.proportions import wilson_limits
from overton.statistics.stratified_share import strata_of, stratified_share

NEEDED = 20
"""The minimum number of labelled rows to correct a judge. With fewer, the judge's accuracy is too uncertain."""

COVERED = 50
"""The minimum number of labelled rows for an interval. With fewer, limits for a rare label that the judge often misses
cover the truth in only 70% to 90% of cases (docs/judge-reference.md)."""

Enough = tuple[int, int]
ENOUGH: Enough = (NEEDED, COVERED)
"""The minimum numbers of labels to correct a judge, and for an interval."""

_UNSEEN_ROWS = 0.5
"""The number of rows that are added to a sample, with the variance of the human values. A judge without errors in the
sample may still make errors elsewhere."""

_BORROWED_ROWS = 10.0
"""The number of rows with the pooled variance of all groups that are added to a group's own rows."""

_ROWS_OF_STRATUM = 5
"""If strata have fewer labelled rows than this on average, they share one variance."""

_ZERO = 1e-18
_FREEDOM_FACTOR = 2.0
"""A factor on the degrees of freedom that follow from the residues' fourth moment (Satterthwaite). If a judge makes
only a few errors, their variance is poorly determined, and these degrees of freedom are few. Without the factor, limits
of rare labels become too wide."""


class JudgeAndHuman(NamedTuple):
    """Three versions of a number: from the judge's labels alone, corrected, and from the human-labelled rows alone."""

    judge: float
    corrected: Estimate
    labelled: Estimate


class _Tuning(NamedTuple):
    """The weight of the judge's labels (`power`, 0 to about 1), the variance that remains, and the number of labels
    behind both."""

    power: float
    variance: float
    labels: int


_DrawAndValues = tuple[LabelDraw, JudgeAndHumanValues]


class _KnownError(NamedTuple):
    """A number's standard error, its degrees of freedom, its skewness, and the level of its interval."""

    error: float
    freedom: float
    skewness: float
    level: float


class _Unexplained(NamedTuple):
    """The part of human values that the judge's values do not explain: residues [n] of the labelled rows, with weights
    [n] that sum to one. `seen` is the observed variance of the residues. `variance` also allows for unobserved errors,
    which `added` rows with the variance `usual` represent. `below` is the proportion of rows that count."""

    residues: Floats
    weight: Floats
    seen: float
    variance: float
    below: float
    usual: float
    added: float


def correct_by_labels(
    draw: LabelDraw, labels: JudgeAndHumanValues, groups: list[Flags], level: float = 0.95, enough: Enough = ENOUGH
) -> tuple[JudgeAndHuman, list[JudgeAndHuman]]:
    """Compute the number over all rows, and over each group (flags [N]). Each number has three versions: from the
    judge's labels alone, corrected, and from human labels alone.

    All groups use the same weight for the judge's labels, and a variance that is partly pooled over groups. `enough`
    has the minimum number of labels for a correction, and the minimum number for an interval.
    """
    whole = np.ones(len(draw.labelled), bool)
    if labels.share and not draw.has_equal_chances:
        return _correct_by_stratum(draw, labels, groups, (level, enough))
    tuned = _tune_power(draw, labels)
    every = _judge_and_human((draw, labels), whole, tuned, None, (level, enough))
    return every, [_judge_and_human((draw, labels), group, tuned, tuned, (level, enough)) for group in groups]


class Moves(NamedTuple):
    """A corrected number, its standard error and degrees of freedom, and the influence of each cluster [clusters] on
    it."""

    value: float
    parts: Floats
    error: float
    freedom: float


def moves(draw: LabelDraw, labels: JudgeAndHumanValues) -> Moves:
    """The number over all rows, and each cluster's influence on it. The influences serve to compute differences over
    the same clusters. The number is NaN if it cannot be computed."""
    tuned = _tune_power(draw, labels)
    value = _corrected_number(draw, labels, tuned.power) if labels.counts[draw.labelled].any() else nan
    parts = np.zeros(int(draw.cluster.max(initial=-1)) + 1)
    if isnan(value):
        return Moves(nan, parts, nan, nan)
    left = _measure_unexplained(draw, labels, value, tuned.power, None)
    people, judged = _row_moves(draw, labels, value, tuned.power, left)
    error = sqrt(_variance(draw, labels, value, tuned.power, left)) / left.below
    free = _freedom(left, draw.independent, tuned.power)
    known = _combine_clusters(draw, (people, judged), _KnownError(error, free, 0.0, 0.95))
    parts += np.bincount(draw.cluster, people + judged, len(parts)) / left.below
    return Moves(value, parts, error, known.freedom)


def difference(a: Estimate, b: Estimate) -> Estimate:
    """The difference `a - b` of two groups, with limits from both intervals (MOVER: Zou and Donner 2008, equation
    7)."""
    value, n = a.value - b.value, a.n + b.n
    if isnan(value):
        why = a.method if isnan(a.value) else b.method
        return Estimate(nan, nan, nan, n, why, a.level)
    if isnan(a.low) or isnan(b.low):
        return Estimate(value, nan, nan, n, a.method if isnan(a.low) else b.method, a.level)
    low = value - hypot(a.value - a.low, b.high - b.value)
    high = value + hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, low, high, n, "from both intervals", a.level)


def _judge_and_human(
    both: _DrawAndValues, rows: Flags, tuned: _Tuning, lent: _Tuning | None, asked: tuple[float, Enough]
) -> JudgeAndHuman:
    level, (needed, covered) = asked
    part, said = both[0].of(rows), both[1].of(rows)
    total = said.judged_counts.sum()
    judge = float(said.judged @ said.judged_counts / total) if total else nan
    alone = _estimate((part, said), _Tuning(0.0, 0.0, 0), None, "labelled rows alone", level)
    if tuned.labels < needed:
        return JudgeAndHuman(judge, _too_few_labels(tuned.labels, needed, level, int(part.labelled.sum())), alone)
    found = _estimate((part, said), tuned, lent, "prediction-powered", level)
    return JudgeAndHuman(judge, found if tuned.labels >= covered else _drop_limits(found, tuned.labels, covered), alone)


def _correct_by_stratum(
    draw: LabelDraw, labels: JudgeAndHumanValues, groups: list[Flags], asked: tuple[float, Enough]
) -> tuple[JudgeAndHuman, list[JudgeAndHuman]]:
    """Like `correct_by_labels`, for a proportion whose rows were sampled with unequal probabilities. If a group has no
    labelled row in a stratum, the stratum's proportion over all groups is used."""
    level, (needed, covered) = asked
    stratum, many = strata_of(draw, labels), int(draw.labelled.sum())
    lent = stratified_share(draw, labels, stratum, level).by_stratum

    def estimate(rows: Flags, name: str, *, alone: bool) -> Estimate:
        part, n = draw.of(rows), int(draw.labelled[rows].sum())
        if not n:
            return not_computed("no labelled row counts here", level=level)
        found = stratified_share(part, labels.of(rows), stratum[rows], level, lent, alone=alone)
        if part.independent < FEWEST:
            return Estimate(found.value, nan, nan, n, _why_few_draws(part.independent), level)
        return Estimate(found.value, found.low, found.high, n, name, level, found.error)

    def three(rows: Flags) -> JudgeAndHuman:
        judge = float(labels.judged[rows].mean()) if rows.any() else nan
        alone = estimate(rows, "labelled rows alone, by stratum", alone=True)
        if many < needed:
            return JudgeAndHuman(judge, _too_few_labels(many, needed, level, int(draw.labelled[rows].sum())), alone)
        found = estimate(rows, "by stratum of the judge's labels", alone=False)
        return JudgeAndHuman(judge, found if many >= covered else _drop_limits(found, many, covered), alone)

    return three(np.ones(len(draw.labelled), bool)), [three(rows) for rows in groups]


def _too_few_labels(labels: int, needed: int, level: float, n: int) -> Estimate:
    return not_computed(f"too few labels ({labels}; {needed} are needed to correct a judge)", level=level, n=n)


def _why_few_draws(draws: int) -> str:
    return f"{NO_INTERVAL}too few labels ({draws}; five are needed)"


def _drop_limits(found: Estimate, labels: int, covered: int) -> Estimate:
    if isnan(found.low):
        return found
    why = f"{NO_INTERVAL}too few labels ({labels}; {covered} are needed)"
    return Estimate(found.value, nan, nan, found.n, why, found.level)


def _tune_power(draw: LabelDraw, labels: JudgeAndHumanValues) -> _Tuning:
    """The regression slope of human values on the judge's values (arXiv 2311.01453, example 6.1), and the variance that
    remains."""
    shown = draw.labelled
    many = int(shown.sum())
    if not many or not labels.counts[shown].any():
        return _Tuning(0.0, 0.0, many)
    weight, value = _row_weights(draw), _corrected_number(draw, labels, 0.0)
    people, judged = _residues(draw, labels, value)
    off = judged - weight @ judged
    spread = weight @ (off * off)
    power = float(weight @ (off * people) / spread) if spread > _ZERO else 0.0
    return _Tuning(power, _measure_unexplained(draw, labels, value, power, None).variance, many)


def _row_weights(draw: LabelDraw) -> Floats:
    """The weight of each labelled row, in proportion to the number of rows that it represents. Weights sum to one."""
    weight = 1 / draw.chance[draw.labelled]
    return np.asarray(weight / weight.sum())


def _corrected_number(draw: LabelDraw, labels: JudgeAndHumanValues, power: float) -> float:
    """The human number of the labelled rows, plus `power` times a difference: the judge's number over all rows minus
    the judge's number over the labelled rows."""
    shown, weight = draw.labelled, _row_weights(draw)
    judged, counts = labels.judged * labels.judged_counts, labels.judged_counts
    above = weight @ (labels.people * labels.counts)[shown] + power * (judged.mean() - weight @ judged[shown])
    below = weight @ labels.counts[shown] + power * (counts.mean() - weight @ counts[shown])
    return float(np.clip(above / below, labels.lowest, labels.highest)) if below > 0 else nan


def _residues(draw: LabelDraw, labels: JudgeAndHumanValues, value: float) -> tuple[Floats, Floats]:
    """Differences from `value` on the labelled rows: of human values, and of the judge's values. Differences are 0 on
    rows that do not count."""
    shown = draw.labelled
    people = ((labels.people - value) * labels.counts)[shown]
    return people, ((labels.judged - value) * labels.judged_counts)[shown]


def _measure_unexplained(
    draw: LabelDraw, labels: JudgeAndHumanValues, value: float, power: float, lent: _Tuning | None
) -> _Unexplained:
    """The part of human values that the judge's values do not explain. A few rows are added to its variance. They have
    the pooled variance (`lent`) or, without `lent`, the variance of the human values."""
    people, judged = _residues(draw, labels, value)
    weight = _row_weights(draw)
    residues = people - power * judged
    residues = residues - weight @ residues
    n, free = len(residues), max(len(residues) - (2 if power and lent is None else 1), 0)
    seen = float(weight @ (residues * residues)) * n / max(free, 1)
    usual, rows = (
        (_variance_without_judge(labels, people, value, n), _UNSEEN_ROWS)
        if lent is None
        else (lent.variance, _BORROWED_ROWS)
    )
    variance = (free * seen + rows * usual) / (free + rows)
    return _Unexplained(residues, weight, seen, variance, float(weight @ labels.counts[draw.labelled]), usual, rows)


def _variance_without_judge(labels: JudgeAndHumanValues, people: Floats, value: float, n: int) -> float:
    """The variance of human values. For a proportion it is always above zero."""
    if not labels.share:
        return float((people * people).mean())
    some = _keep_off_edges(value, n)
    return some * (1 - some)


def _keep_off_edges(share: float, n: int) -> float:
    least = 1 / (2 * n + 4)
    return min(max(share, least), 1 - least)


def _estimate(both: _DrawAndValues, tuned: _Tuning, lent: _Tuning | None, name: str, level: float) -> Estimate:
    """The number with its limits, if enough of these rows have human labels."""
    (draw, labels), power = both, tuned.power
    n = int(draw.labelled.sum())
    if not labels.counts[draw.labelled].any():
        return not_computed("no labelled row counts here", level=level, n=n)
    value = _corrected_number(draw, labels, power)
    if isnan(value):
        return not_computed("judge and labels leave no row that counts", level=level, n=n)
    if n == len(draw.labelled) and draw.these:
        return Estimate(value, value, value, n, "every row is labelled", level, 0.0)
    left, clusters = _measure_unexplained(draw, labels, value, power, lent), draw.independent
    if clusters < FEWEST:
        return Estimate(value, nan, nan, n, _why_few_draws(clusters), level)
    error = sqrt(_variance(draw, labels, value, power, left)) / left.below
    if error**2 < _ZERO:
        return Estimate(value, nan, nan, n, f"{NO_INTERVAL}nothing varies among the labelled rows", level)
    free = lent.labels - 1.0 if lent is not None else _freedom(left, clusters, power)
    known = _KnownError(error, free, _skewness(left.weight * left.residues), level)
    if not (draw.these or labels.share) and lent is None:
        known = _combine_clusters(draw, _row_moves(draw, labels, value, power, left), known)
    low, high = _limits(labels, left, value, known, inf if power else _most_rows(draw, left, clusters))
    return Estimate(value, low, high, n, name, level, error, ends_of((labels.lowest, labels.highest)))


def _variance(draw: LabelDraw, labels: JudgeAndHumanValues, value: float, power: float, left: _Unexplained) -> float:
    """The variance of the number. It comes from sampling rows to label. Unless the number describes exactly `these`
    rows, it also comes from sampling the rows themselves."""
    weight = left.weight
    missed = 1 - draw.chance[draw.labelled] if draw.these else np.ones(len(weight))
    people, judged = _row_moves(draw, labels, value, power, left)
    by_rows = left.seen * float((weight * weight) @ missed)
    unseen = (left.variance - left.seen) * float((weight * weight) @ missed)
    if not draw.has_equal_chances:  # the larger of two variances: each is too small for some samples
        by_rows, unseen = max((by_rows, unseen), _variances_by_stratum(draw, labels, left, missed), key=sum)
    return max(0.0 if draw.by_row else draw.variance(people + judged), by_rows) + unseen


def _variances_by_stratum(
    draw: LabelDraw, labels: JudgeAndHumanValues, left: _Unexplained, missed: Floats
) -> tuple[float, float]:
    """The observed variance and the addition for unobserved errors, both by stratum, for rows with unequal chances. If
    strata have few labelled rows, all rows form one stratum."""
    stratum = strata_of(draw, labels)[draw.labelled]
    rows, n = np.bincount(stratum), len(stratum)
    if _ROWS_OF_STRATUM * len(rows) > n:
        stratum, rows = np.zeros(n, np.int64), np.array([n])
    weights = np.bincount(stratum, left.weight**2 * missed)
    observed = np.bincount(stratum, left.weight**2 * missed * left.residues**2) * n / max(n - 1, 1)
    all_errors = (rows * observed + left.added * left.usual * weights) / (rows + left.added)
    return float(observed.sum()), float((all_errors - observed).sum())


def _row_moves(
    draw: LabelDraw, labels: JudgeAndHumanValues, value: float, power: float, left: _Unexplained
) -> tuple[Floats, Floats]:
    """The influence of each row [N] on the number: through human labels, and through the judge's labels."""
    shown = draw.labelled
    missed = 1 - draw.chance[shown] if draw.these else np.ones(len(left.weight))
    people, judged = np.zeros(len(shown)), np.zeros(len(shown))
    people[shown] = left.weight * left.residues * np.sqrt(missed)
    if not draw.these:
        said = (labels.judged - value) * labels.judged_counts
        judged += power * (said - said.mean()) / len(shown)
    return people, judged


def _combine_clusters(draw: LabelDraw, moved: tuple[Floats, Floats], known: _KnownError) -> _KnownError:
    """Degrees of freedom and skewness of a number that describes the rows' population. Its variance has two parts, from
    human labels and from the judge's labels of all clusters. Their degrees of freedom are combined by Satterthwaite's
    rule."""
    of_labels, of_judge = (float((_sum_by_cluster(draw, part) ** 2).sum()) for part in moved)
    total = _sum_by_cluster(draw, moved[0] + moved[1])
    if of_labels + of_judge < _ZERO:
        return known
    others = len(total) - 1.0
    free = (of_labels + of_judge) ** 2 / (of_labels**2 / known.freedom + of_judge**2 / max(others, 1.0))
    return known._replace(freedom=max(free, known.freedom), skewness=_skewness(total))


def _sum_by_cluster(draw: LabelDraw, moved: Floats) -> Floats:
    return np.bincount(draw.cluster, moved).astype(float)[np.unique(draw.cluster)]


def _freedom(left: _Unexplained, clusters: int, power: float) -> float:
    squares = left.residues * left.residues
    uneven = float(((squares - squares.mean()) ** 2).sum())
    if not power or uneven < _ZERO:
        return clusters - 1.0
    return min(clusters - 1.0, max(_FREEDOM_FACTOR * 2 * float(squares.sum()) ** 2 / uneven, 1.0))


def _most_rows(draw: LabelDraw, left: _Unexplained, clusters: int) -> float:
    """The maximum effective number of rows for human labels alone; infinite if the labels vary. If all labels are
    equal, the similarity within clusters cannot be estimated, so only the clusters count."""
    if left.seen >= _ZERO:
        return inf
    missed = 1 - draw.chance[draw.labelled] if draw.these else np.ones(len(left.weight))
    rows = 1 / max(float((left.weight * left.weight) @ missed), _ZERO)
    return rows * clusters / len(left.weight)


def _limits(
    labels: JudgeAndHumanValues, left: _Unexplained, value: float, known: _KnownError, most: float
) -> tuple[float, float]:
    """Wilson's limits of a proportion, for at most `most` effective rows. A mean has Student's limits, corrected for
    skewness."""
    error, free, skewness, level = known
    if labels.share:
        some = _keep_off_edges(value, len(left.residues))
        low, high = wilson_limits(value, min(some * (1 - some) / error**2, most), level, free)
        return float(low), float(high)
    below, above = gaps(StandardErrors(np.array(error), np.array(skewness), np.array(free)), level)
    return max(labels.lowest, value + float(below)), min(labels.highest, value + float(above))


def _skewness(parts: Floats) -> float:
    second = float((parts**2).sum())
    return float(np.clip((parts**3).sum() / second**1.5, -1, 1)) if second > _ZERO else 0.0
