"""A judge's labels, corrected by people's labels of some of the rows: shares, means, and differences of both.

The judge has read every row, people a random draw of them. The judge's errors are measured on the draw and removed
everywhere (prediction-powered inference: Angelopoulos et al. 2023, Science 382:669), as far as the judge deserves
trust (power tuning: Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, section 6); for a mean that is the regression
estimator of survey sampling (Cochran 1977, chapter 7). Textbook limits miss for rare labels and small groups, so those
of shares are Wilson's, allowing for errors that were never seen; docs/judges.md has the formulas and the coverage of
the limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.estimate import NO_INTERVAL, Estimate, not_computed
from overton.statistics.proportions import wilson_limits
from overton.statistics.resampling.limits import FEWEST, Spread, gaps

__all__ = ["COVERED", "NEEDED", "Draw", "Labels", "Moves", "Three", "corrected", "difference", "moves"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEEDED = 20
"""The fewest labelled rows that correct a judge: with fewer, how far it can be trusted is not known well enough."""

COVERED = 50
"""The fewest labelled rows with an interval: with fewer, limits for a rare label that the judge often misses cover the
truth in only 70% to 90% of cases (docs/judges.md)."""

Enough = tuple[int, int]
ENOUGH: Enough = (NEEDED, COVERED)
"""How many labels correct a judge, and how many have an interval."""

_UNSEEN = 0.5
"""The number of rows added whose spread is that of labels without a judge: a judge without an error in the draw may
have some elsewhere."""

_BORROWED = 10.0
"""The number of rows with all groups' spread that are added to a group's own."""

_NOTHING = 1e-18
_OF_TAILS = 2.0
"""The factor on the degrees of freedom from the residues' fourth moment (Satterthwaite): a judge's few errors say less
about their spread than as many even values, but taken in full, limits of rare labels become too wide."""


@dataclass(frozen=True)
class Draw:
    """Which of N rows people labelled.

    labelled  [N]
    chance    [N] how likely each row was to be drawn, in (0, 1]
    cluster   [N] rows of one cluster (a conversation) are alike; numbers from 0
    these     the numbers describe these N rows; otherwise rows like these
    """

    labelled: Flags
    chance: Array
    cluster: NDArray[np.int64]
    these: bool = False

    def of(self, rows: Flags) -> Draw:
        """The part of the draw that lies in some rows."""
        return replace(self, labelled=self.labelled[rows], chance=self.chance[rows], cluster=self.cluster[rows])

    @cached_property
    def whole_clusters(self) -> bool:
        """Whether clusters of several rows were drawn, each labelled whole or not at all."""
        sizes, drawn = np.bincount(self.cluster), np.bincount(self.cluster, self.labelled)
        return bool(((drawn == 0) | (drawn == sizes)).all()) and bool((sizes > 1).any())

    @cached_property
    def by_row(self) -> bool:
        """Whether each labelled row is an independent draw, however alike rows of one cluster are."""
        return self.these and not self.whole_clusters


@dataclass(frozen=True)
class Labels:
    """What people and judge say of N rows, as numbers [N]; people's values of rows without a label are ignored.

    A share has 1 if the label is given, otherwise 0, and values between if people differ. A mean is over the rows that
    count: `counts` and `judged_counts` are 0 if a label has no number. `lowest` and `highest` are the range of a
    value.
    """

    people: Array
    judged: Array
    counts: Array
    judged_counts: Array
    lowest: float = 0.0
    highest: float = 1.0
    share: bool = True

    def of(self, rows: Flags) -> Labels:
        """The same for some rows."""
        return replace(
            self,
            people=self.people[rows],
            judged=self.judged[rows],
            counts=self.counts[rows],
            judged_counts=self.judged_counts[rows],
        )


class Three(NamedTuple):
    """A number three times: by the judge alone, corrected, and by the labelled rows alone."""

    judge: float
    corrected: Estimate
    labelled: Estimate


class _Tuned(NamedTuple):
    """How far the judge is trusted (0 to about 1), the variance that is left, and how many labels both rest on."""

    power: float
    variance: float
    labels: int


_Both = tuple[Draw, Labels]


class _Known(NamedTuple):
    """A number's standard error, its degrees of freedom, its skewness, and the level of its interval."""

    error: float
    freedom: float
    skewness: float
    level: float


class _Left(NamedTuple):
    """What judge and labels leave unexplained in the labelled rows: residues [n] and weights [n] that add up to one,
    their variance as observed and with unobserved errors, and what share of the rows counts."""

    residues: Array
    weight: Array
    seen: float
    variance: float
    below: float


def corrected(
    draw: Draw, labels: Labels, groups: list[Flags], level: float = 0.95, enough: Enough = ENOUGH
) -> tuple[Three, list[Three]]:
    """The number over all rows, and over each group (flags [N]): by the judge, corrected, by labelled rows alone.

    Groups share the judge's trust, and lend each other their spread. `enough` says how many labels correct anything,
    and how many have an interval.
    """
    whole = np.ones(len(draw.labelled), bool)
    tuned = _tuned(draw, labels)
    every = _three((draw, labels), whole, tuned, None, (level, enough))
    return every, [_three((draw, labels), group, tuned, tuned, (level, enough)) for group in groups]


class Moves(NamedTuple):
    """A corrected number, how far each cluster moves it [clusters], its standard error and degrees of freedom."""

    value: float
    parts: Array
    error: float
    freedom: float


def moves(draw: Draw, labels: Labels) -> Moves:
    """What moves the number over all rows, for a difference of two over the same clusters; NaN if there is none."""
    tuned = _tuned(draw, labels)
    value = _number(draw, labels, tuned.power) if labels.counts[draw.labelled].any() else nan
    parts = np.zeros(int(draw.cluster.max(initial=-1)) + 1)
    if isnan(value):
        return Moves(nan, parts, nan, nan)
    left = _left(draw, labels, value, tuned.power, None)
    people, judged = _moved(draw, labels, value, tuned.power, left)
    error = sqrt(_spread(draw, labels, value, tuned.power, left)) / left.below
    free = _freedom(left, _clusters(draw), tuned.power)
    known = _of_both(draw, (people, judged), _Known(error, free, 0.0, 0.95))
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


def _three(both: _Both, rows: Flags, tuned: _Tuned, lent: _Tuned | None, asked: tuple[float, Enough]) -> Three:
    level, (needed, covered) = asked
    part, said = both[0].of(rows), both[1].of(rows)
    total = said.judged_counts.sum()
    judge = float(said.judged @ said.judged_counts / total) if total else nan
    alone = _estimate((part, said), _Tuned(0.0, 0.0, 0), None, "labelled rows alone", level)
    if tuned.labels < needed:
        why = f"too few labels ({tuned.labels}; {needed} are needed to correct a judge)"
        return Three(judge, not_computed(why, level=level, n=int(part.labelled.sum())), alone)
    found = _estimate((part, said), tuned, lent, "prediction-powered", level)
    return Three(judge, found if tuned.labels >= covered else _without_limits(found, tuned.labels, covered), alone)


def _without_limits(found: Estimate, labels: int, covered: int) -> Estimate:
    if isnan(found.low):
        return found
    why = f"{NO_INTERVAL}too few labels ({labels}; {covered} are needed)"
    return Estimate(found.value, nan, nan, found.n, why, found.level)


def _tuned(draw: Draw, labels: Labels) -> _Tuned:
    """The slope of people's numbers on the judge's (arXiv 2311.01453, example 6.1), and the variance that it leaves."""
    shown = draw.labelled
    many = int(shown.sum())
    if not many or not labels.counts[shown].any():
        return _Tuned(0.0, 0.0, many)
    weight, value = _weights(draw), _number(draw, labels, 0.0)
    people, judged = _residues(draw, labels, value)
    off = judged - weight @ judged
    spread = weight @ (off * off)
    power = float(weight @ (off * people) / spread) if spread > _NOTHING else 0.0
    return _Tuned(power, _left(draw, labels, value, power, None).variance, many)


def _weights(draw: Draw) -> Array:
    """The weight of each labelled row, by how many rows it represents; together one."""
    weight = 1 / draw.chance[draw.labelled]
    return np.asarray(weight / weight.sum())


def _number(draw: Draw, labels: Labels, power: float) -> float:
    """The labelled rows' number, moved by `power` times what the judge says of all rows beyond these."""
    shown, weight = draw.labelled, _weights(draw)
    judged, counts = labels.judged * labels.judged_counts, labels.judged_counts
    above = weight @ (labels.people * labels.counts)[shown] + power * (judged.mean() - weight @ judged[shown])
    below = weight @ labels.counts[shown] + power * (counts.mean() - weight @ counts[shown])
    return float(np.clip(above / below, labels.lowest, labels.highest)) if below > 0 else nan


def _residues(draw: Draw, labels: Labels, value: float) -> tuple[Array, Array]:
    """How far people's and the judge's numbers of the labelled rows are from `value`; 0 for rows that do not count."""
    shown = draw.labelled
    people = ((labels.people - value) * labels.counts)[shown]
    return people, ((labels.judged - value) * labels.judged_counts)[shown]


def _left(draw: Draw, labels: Labels, value: float, power: float, lent: _Tuned | None) -> _Left:
    """The variance of what is left; added are a few rows as they are without a judge, or as all groups' are."""
    people, judged = _residues(draw, labels, value)
    weight = _weights(draw)
    residues = people - power * judged
    residues = residues - weight @ residues
    n, free = len(residues), max(len(residues) - (2 if power and lent is None else 1), 0)
    seen = float(weight @ (residues * residues)) * n / max(free, 1)
    usual, rows = (_usual(labels, people, value, n), _UNSEEN) if lent is None else (lent.variance, _BORROWED)
    variance = (free * seen + rows * usual) / (free + rows)
    return _Left(residues, weight, seen, variance, float(weight @ labels.counts[draw.labelled]))


def _usual(labels: Labels, people: Array, value: float, n: int) -> float:
    """The variance of people's labels; that of a share is never zero."""
    if not labels.share:
        return float((people * people).mean())
    some = _off_the_edge(value, n)
    return some * (1 - some)


def _off_the_edge(share: float, n: int) -> float:
    least = 1 / (2 * n + 4)
    return min(max(share, least), 1 - least)


def _estimate(both: _Both, tuned: _Tuned, lent: _Tuned | None, name: str, level: float) -> Estimate:
    """The number with its limits, if people labelled enough of these rows."""
    (draw, labels), power = both, tuned.power
    n = int(draw.labelled.sum())
    if not labels.counts[draw.labelled].any():
        return not_computed("no labelled row counts here", level=level, n=n)
    value = _number(draw, labels, power)
    if isnan(value):
        return not_computed("judge and labels leave no row that counts", level=level, n=n)
    if n == len(draw.labelled) and draw.these:
        return Estimate(value, value, value, n, "every row is labelled", level, 0.0)
    left, clusters = _left(draw, labels, value, power, lent), _clusters(draw)
    if clusters < FEWEST:
        return Estimate(value, nan, nan, n, f"{NO_INTERVAL}too few labels ({clusters}; five are needed)", level)
    error = sqrt(_spread(draw, labels, value, power, left)) / left.below
    if error**2 < _NOTHING:
        return Estimate(value, nan, nan, n, f"{NO_INTERVAL}nothing varies among the labelled rows", level)
    free = lent.labels - 1.0 if lent is not None else _freedom(left, clusters, power)
    known = _Known(error, free, _skewness(left.weight * left.residues), level)
    if not (draw.these or labels.share) and lent is None:
        known = _of_both(draw, _moved(draw, labels, value, power, left), known)
    low, high = _limits(labels, left, value, known, inf if power else _most(draw, left, clusters))
    return Estimate(value, low, high, n, name, level, error, (labels.lowest, labels.highest))


def _clusters(draw: Draw) -> int:
    """How many independent draws the labels are: clusters if rows of one are alike or were drawn together."""
    if draw.by_row:
        return int(draw.labelled.sum())
    return len(np.unique(draw.cluster[draw.labelled]))


def _spread(draw: Draw, labels: Labels, value: float, power: float, left: _Left) -> float:
    """The variance of the number: of the draw alone, or with that of `these` rows as a draw from others like them."""
    weight = left.weight
    missed = 1 - draw.chance[draw.labelled] if draw.these else np.ones(len(weight))
    by_rows = left.seen * float((weight * weight) @ missed)
    people, judged = _moved(draw, labels, value, power, left)
    unseen = (left.variance - left.seen) * float((weight * weight) @ missed)
    return max(_over_clusters(draw, people + judged), by_rows) + unseen


def _moved(draw: Draw, labels: Labels, value: float, power: float, left: _Left) -> tuple[Array, Array]:
    """How far each row [N] moves the number: through people's labels, and through the judge's."""
    shown = draw.labelled
    missed = 1 - draw.chance[shown] if draw.these else np.ones(len(left.weight))
    people, judged = np.zeros(len(shown)), np.zeros(len(shown))
    people[shown] = left.weight * left.residues * np.sqrt(missed)
    if not draw.these:
        said = (labels.judged - value) * labels.judged_counts
        judged += power * (said - said.mean()) / len(shown)
    return people, judged


def _of_both(draw: Draw, moved: tuple[Array, Array], known: _Known) -> _Known:
    """Degrees of freedom and skewness of a number over rows like these, whose variation includes clusters that nobody
    labelled: those of the labelled rows are only a part of it (Satterthwaite)."""
    of_labels, of_judge = (float((_by_cluster(draw, one) ** 2).sum()) for one in moved)
    total = _by_cluster(draw, moved[0] + moved[1])
    if of_labels + of_judge < _NOTHING:
        return known
    others = len(total) - 1.0
    free = (of_labels + of_judge) ** 2 / (of_labels**2 / known.freedom + of_judge**2 / max(others, 1.0))
    return known._replace(freedom=max(free, known.freedom), skewness=_skewness(total))


def _by_cluster(draw: Draw, moved: Array) -> Array:
    return np.bincount(draw.cluster, moved).astype(float)[np.unique(draw.cluster)]


def _over_clusters(draw: Draw, moved: Array) -> float:
    """The variance of a sum of each row's moves [N], adding up rows of one cluster."""
    if draw.by_row:
        return 0.0
    within = draw.labelled if draw.these else np.ones(len(moved), bool)
    sums = np.bincount(draw.cluster[within], moved[within])[np.unique(draw.cluster[within])]
    drawn = len(np.unique(draw.cluster[draw.labelled]))
    return float(((sums - sums.mean()) ** 2).sum()) * drawn / (drawn - 1)


def _freedom(left: _Left, clusters: int, power: float) -> float:
    squares = left.residues * left.residues
    uneven = float(((squares - squares.mean()) ** 2).sum())
    if not power or uneven < _NOTHING:
        return clusters - 1.0
    return min(clusters - 1.0, max(_OF_TAILS * 2 * float(squares.sum()) ** 2 / uneven, 1.0))


def _most(draw: Draw, left: _Left, clusters: int) -> float:
    """As how many rows labels alone can count if they are all alike: as many as there are clusters, since how alike
    rows of one cluster are cannot be seen."""
    if left.seen >= _NOTHING:
        return inf
    missed = 1 - draw.chance[draw.labelled] if draw.these else np.ones(len(left.weight))
    rows = 1 / max(float((left.weight * left.weight) @ missed), _NOTHING)
    return rows * clusters / len(left.weight)


def _limits(labels: Labels, left: _Left, value: float, known: _Known, most: float) -> tuple[float, float]:
    """Wilson's limits of a share, for at most `most` rows with this error; a mean's are Student's, corrected for its
    skewness."""
    error, free, skewness, level = known
    if labels.share:
        some = _off_the_edge(value, len(left.residues))
        low, high = wilson_limits(value, min(some * (1 - some) / error**2, most), level, free)
        return float(low), float(high)
    below, above = gaps(Spread(np.array(error), np.array(skewness), np.array(free)), level)
    return max(labels.lowest, value + float(below)), min(labels.highest, value + float(above))


def _skewness(parts: Array) -> float:
    second = float((parts**2).sum())
    return float(np.clip((parts**3).sum() / second**1.5, -1, 1)) if second > _NOTHING else 0.0
