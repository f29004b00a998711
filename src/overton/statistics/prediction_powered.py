"""A judge's labels, corrected by people's labels of some of the rows: shares, means, and differences of both.

The judge has read every row, people a random draw of them. The judge's errors are measured on the draw and removed
everywhere (prediction-powered inference: Angelopoulos et al. 2023, Science 382:669), as far as the judge deserves
trust (power tuning: Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, section 6); for a mean that is the regression
estimator of survey sampling (Cochran 1977, chapter 7). Textbook limits miss for rare labels and small groups, so those
of shares are Wilson's, allowing for errors that were never seen. If rows were drawn with unequal chances, shares are
corrected by stratum (`statistics.stratified_share`). docs/judges.md has the formulas and the coverage of the limits.
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
"""The fewest labelled rows that correct a judge: with fewer, how far it can be trusted is not known well enough."""

COVERED = 50
"""The fewest labelled rows with an interval: with fewer, limits for a rare label that the judge often misses cover the
truth in only 70% to 90% of cases (docs/judges.md)."""

Enough = tuple[int, int]
ENOUGH: Enough = (NEEDED, COVERED)
"""How many labels correct a judge, and how many have an interval."""

_UNSEEN_ROWS = 0.5
"""The number of rows added whose spread is that of labels without a judge: a judge without an error in the draw may
have some elsewhere."""

_BORROWED_ROWS = 10.0
"""The number of rows with all groups' spread that are added to a group's own."""

_ROWS_OF_STRATUM = 5
"""Strata with fewer labelled rows on average than this have no variances of their own."""

_ZERO = 1e-18
_FREEDOM_FACTOR = 2.0
"""The factor on the degrees of freedom from the residues' fourth moment (Satterthwaite): a judge's few errors say less
about their spread than as many even values, but taken in full, limits of rare labels become too wide."""


class JudgeAndHuman(NamedTuple):
    """A number three times: by the judge alone, corrected, and by the labelled rows alone."""

    judge: float
    corrected: Estimate
    labelled: Estimate


class _Tuning(NamedTuple):
    """How far the judge is trusted (0 to about 1), the variance that is left, and how many labels both rest on."""

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
    """The part of labelled rows that judge and labels leave unexplained: residues [n] and weights [n] that sum to one,
    their variance as observed and with unobserved errors, and what share of the rows counts. `added` rows of the
    `usual` variance stand for the unobserved errors."""

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
    """The number over all rows, and over each group (flags [N]): by the judge, corrected, by labelled rows alone.

    Groups share the judge's trust, and lend each other their spread. `enough` says how many labels correct anything,
    and how many have an interval.
    """
    whole = np.ones(len(draw.labelled), bool)
    if labels.share and not draw.has_equal_chances:
        return _correct_by_stratum(draw, labels, groups, (level, enough))
    tuned = _tune_power(draw, labels)
    every = _judge_and_human((draw, labels), whole, tuned, None, (level, enough))
    return every, [_judge_and_human((draw, labels), group, tuned, tuned, (level, enough)) for group in groups]


class Moves(NamedTuple):
    """A corrected number, how far each cluster moves it [clusters], its standard error and degrees of freedom."""

    value: float
    parts: Floats
    error: float
    freedom: float


def moves(draw: LabelDraw, labels: JudgeAndHumanValues) -> Moves:
    """The number over all rows and what moves it, for a difference over the same clusters; NaN if there is none."""
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
    """`a - b` of two groups, with limits from both intervals (MOVER: Zou and Donner 2008, equation 7)."""
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
    """The same for a share whose rows were drawn with unequal chances; a group without a label of some stratum is
    lent its share in all groups."""
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
    """The slope of people's numbers on the judge's (arXiv 2311.01453, example 6.1), and the variance that it leaves."""
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
    """The weight of each labelled row, by how many rows it represents; together one."""
    weight = 1 / draw.chance[draw.labelled]
    return np.asarray(weight / weight.sum())


def _corrected_number(draw: LabelDraw, labels: JudgeAndHumanValues, power: float) -> float:
    """The labelled rows' number, moved by `power` times what the judge says of all rows beyond these."""
    shown, weight = draw.labelled, _row_weights(draw)
    judged, counts = labels.judged * labels.judged_counts, labels.judged_counts
    above = weight @ (labels.people * labels.counts)[shown] + power * (judged.mean() - weight @ judged[shown])
    below = weight @ labels.counts[shown] + power * (counts.mean() - weight @ counts[shown])
    return float(np.clip(above / below, labels.lowest, labels.highest)) if below > 0 else nan


def _residues(draw: LabelDraw, labels: JudgeAndHumanValues, value: float) -> tuple[Floats, Floats]:
    """How far people's and the judge's numbers of the labelled rows are from `value`; 0 for rows that do not count."""
    shown = draw.labelled
    people = ((labels.people - value) * labels.counts)[shown]
    return people, ((labels.judged - value) * labels.judged_counts)[shown]


def _measure_unexplained(
    draw: LabelDraw, labels: JudgeAndHumanValues, value: float, power: float, lent: _Tuning | None
) -> _Unexplained:
    """The variance of what is left; added are a few rows as they are without a judge, or as all groups' are."""
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
    """The variance of people's labels; that of a share is never zero."""
    if not labels.share:
        return float((people * people).mean())
    some = _keep_off_edges(value, n)
    return some * (1 - some)


def _keep_off_edges(share: float, n: int) -> float:
    least = 1 / (2 * n + 4)
    return min(max(share, least), 1 - least)


def _estimate(both: _DrawAndValues, tuned: _Tuning, lent: _Tuning | None, name: str, level: float) -> Estimate:
    """The number with its limits, if people labelled enough of these rows."""
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
    """The variance of the number: of the draw alone, or with that of `these` rows as a draw from others like them."""
    weight = left.weight
    missed = 1 - draw.chance[draw.labelled] if draw.these else np.ones(len(weight))
    people, judged = _row_moves(draw, labels, value, power, left)
    by_rows = left.seen * float((weight * weight) @ missed)
    unseen = (left.variance - left.seen) * float((weight * weight) @ missed)
    if not draw.has_equal_chances:  # the larger of two: each is too small for some draws
        by_rows, unseen = max((by_rows, unseen), _variances_by_stratum(draw, labels, left, missed), key=sum)
    return max(0.0 if draw.by_row else draw.variance(people + judged), by_rows) + unseen


def _variances_by_stratum(
    draw: LabelDraw, labels: JudgeAndHumanValues, left: _Unexplained, missed: Floats
) -> tuple[float, float]:
    """The same two variances if chances were unequal: as observed in each stratum, and what unobserved errors in each
    add. With hardly more labelled rows than strata all rows are one."""
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
    """How far each row [N] moves the number: through people's labels, and through the judge's."""
    shown = draw.labelled
    missed = 1 - draw.chance[shown] if draw.these else np.ones(len(left.weight))
    people, judged = np.zeros(len(shown)), np.zeros(len(shown))
    people[shown] = left.weight * left.residues * np.sqrt(missed)
    if not draw.these:
        said = (labels.judged - value) * labels.judged_counts
        judged += power * (said - said.mean()) / len(shown)
    return people, judged


def _combine_clusters(draw: LabelDraw, moved: tuple[Floats, Floats], known: _KnownError) -> _KnownError:
    """Degrees of freedom and skewness of a number over rows like these, whose variation includes clusters that nobody
    labelled: those of the labelled rows are only a part of it (Satterthwaite)."""
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
    """As how many rows labels alone can count if they are all alike: as many as there are clusters, since how alike
    rows of one cluster are cannot be seen."""
    if left.seen >= _ZERO:
        return inf
    missed = 1 - draw.chance[draw.labelled] if draw.these else np.ones(len(left.weight))
    rows = 1 / max(float((left.weight * left.weight) @ missed), _ZERO)
    return rows * clusters / len(left.weight)


def _limits(
    labels: JudgeAndHumanValues, left: _Unexplained, value: float, known: _KnownError, most: float
) -> tuple[float, float]:
    """Wilson's limits of a share, for at most `most` rows with this error; a mean's are Student's, corrected for its
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
