"""Measures that depend on many of a judge's labels, corrected for the judge's errors.

The effect of a judge's errors on the proportion of a label is proportional to the frequency of errors. The effect is
much larger on measures of several labels, such as a change of stance. If whole units (such as conversations) have human
labels, `whole_units` corrects the mean of the units' values. It assumes only a random sample: errors may be of any
kind, and may cluster. If single rows have human labels, `DoublyLabelled` estimates the judge's confusion matrix, and
`error_weights` computes weights that invert the matrix. `corrected_ratio` turns sums of products of such weights into
numbers with intervals. `statistics.judge_error_tests` tests the assumptions. `rows_for_width`, `rows_for_share` and
`units_for_width` compute the number of labels for a given width. docs/judge-reference.md has the formulas and the
coverage of the intervals.

For a row whose true label is x, the judge gives label j with probability C[x, j]. Take weights A such that C A is the
identity matrix. Then A[j, x], averaged over the judge's possible labels, is 1 if x is the true label and 0 otherwise.
So a product of such weights over the rows of a unit is, on average, 1 for the true sequence of labels and 0 for any
other. Sums over sequences, weighted by these products, are therefore right on average. The correction needs no model of
the true labels or their order. It assumes that errors of rows are independent, given the truth, and equally frequent
everywhere. (Corrected scores under misclassification: Akazawa, Kinukawa and Nakamura 1998, J. Japan Statist. Soc.
28:115; for a single proportion, this is the estimate of Rogan and Gladen 1978, Am. J. Epidemiol. 107:71.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, hypot, isnan, nan, sqrt

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from overton.statistics.arrays import Floats, Ints
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import FEWEST, NO_INTERVAL, SHARE, Estimate, Range, ends_of, not_computed
from overton.statistics.jackknife import Influence, Resampling, gaps, standard_errors
from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
from overton.statistics.prediction_powered import COVERED, NEEDED, JudgeAndHuman, correct_by_labels, moves
from overton.statistics.proportions import wilson_limits

_UNSEEN_ERRORS = 0.5
"""The number of errors added to the observed ones when confusion matrices are sampled, as in Jeffreys' prior of a
rate."""

_BORROWED_ROWS = 10.0
"""If people gave a label to fewer rows than this, rows with the error rate of all labels are added to reach this
number. Otherwise the judge's errors for rare labels would be too uncertain to invert the confusion matrix."""

_TRACE = 1e-3
_TELLS_APART = 0.1
"""If the confusion matrix has a smaller singular value, the judge hardly distinguishes the labels."""

_DRAWS = 100
_LEVEL = 0.95
"""The level of the interval whose width is requested."""


@dataclass(frozen=True)
class DoublyLabelled:
    """n rows with a human label and a judge's label.

    people  [n, S] for each label, the proportion of people who gave it to the row; these sum to one
    judged  [n] the index of the judge's outcome, below `outcomes`; indices from S on are not labels ('unread')
    weight  [n] the number of rows that each row represents (1 / chance), on any scale
    group   [n] the index, from 0, of each row's group of similar rows (such as a conversation)
    """

    people: Floats
    judged: Ints
    weight: Floats
    group: Ints
    outcomes: int

    @property
    def labels(self) -> int:
        """The number of possible labels, S."""
        return int(self.people.shape[1])

    @property
    def counts(self) -> Floats:
        """The weighted number of rows for each true label and each outcome of the judge [S, outcomes]. Weights are
        scaled to a mean of 1."""
        return np.asarray(self._counts_by_group.sum(0))

    @property
    def errors(self) -> Floats:
        """The judge's error on each row [n], from 0 to 1."""
        inside = np.append(self.people, np.zeros((len(self.judged), 1)), axis=1)
        return np.asarray(1 - inside[np.arange(len(self.judged)), np.minimum(self.judged, self.labels)])

    @property
    def residues(self) -> Floats:
        """Each row's error minus the error rate for its true label [n]."""
        truth, errors = self.people.argmax(1), self.errors
        return np.asarray(errors - (np.bincount(truth, errors) / np.maximum(np.bincount(truth), 1))[truth])

    @property
    def _counts_by_group(self) -> Floats:
        """`counts` by group [groups, S, outcomes]."""
        weight = self.weight / self.weight.mean()
        cells = np.zeros((int(self.group.max()) + 1, self.outcomes, self.labels))
        np.add.at(cells, (self.group, self.judged), self.people * weight[:, None])
        return cells.swapaxes(1, 2)

    def confusions(self, draws: int = _DRAWS, seed: int = 0) -> Floats:
        """The observed confusion matrix, then random draws from its posterior given the labels [1 + draws, S,
        outcomes].

        Each draw gives every group a random weight with an exponential distribution (Rubin's Bayesian bootstrap, 1981;
        for single rows, the Dirichlet posterior). Each draw also adds random errors that were not observed, with an
        expected total weight of half a row. They are divided among the true labels by the labels' frequencies.
        """
        groups = self._counts_by_group
        counts, random = groups.sum(0), np.random.default_rng(seed)
        many = counts.sum()
        same, other = np.eye(*counts.shape), 1 - np.eye(*counts.shape)
        right = (np.trace(counts) + _UNSEEN_ERRORS) / (many + 2 * _UNSEEN_ERRORS)
        usual = right * same + (1 - right) / other.sum(1, keepdims=True) * other
        behind = np.maximum(_BORROWED_ROWS - counts.sum(1), _TRACE)[:, None]
        share = (counts.sum(1) + _TRACE) / (many + _TRACE * len(counts))
        unseen = other * (_UNSEEN_ERRORS * share / other.sum(1))[:, None]
        drawn = np.tensordot(random.exponential(size=(draws, len(groups))), groups, 1)
        drawn += random.gamma(np.broadcast_to(unseen + behind * usual, drawn.shape))
        made = np.concatenate([(counts + behind * usual)[None], drawn])
        return np.asarray(made / made.sum(2, keepdims=True))


@dataclass(frozen=True)
class ErrorWeights:
    """Weights that invert a judge's confusion matrix: first for the observed matrix, then for each sampled matrix.

    `weights` are [1 + draws, outcomes, S]. `why` is the reason if there are no weights, otherwise ''.
    """

    weights: Floats
    why: str = ""

    @property
    def draws(self) -> int:
        """The number of weight matrices, including that for the observed confusion matrix."""
        return len(self.weights)

    def of(self, judged: Ints, known: Sequence[Ints], people: Floats, most: int = 2**21) -> Iterator[Floats]:
        """Yield the weights of every row, for a few sampled confusion matrices at a time [some, *rows, S].

        `judged` [*rows] are the judge's labels. `known` has the indices, by axis, of rows with human labels. For these
        rows, the human values `people` [n, S] replace the weights.
        """
        rows = np.ravel_multi_index(tuple(known), judged.shape)
        step = max(1, most // max(judged.size * self.weights.shape[2], 1))
        for start in range(0, self.draws, step):
            made = self.weights[start : start + step][:, judged]
            made.reshape(len(made), judged.size, -1)[:, rows] = people
            yield made


def error_weights(readings: DoublyLabelled, given: Floats, draws: int = _DRAWS, seed: int = 0) -> ErrorWeights:
    """The weights that invert a judge's confusion matrix. `given` [outcomes] has the frequency of each outcome over all
    rows.

    If some outcomes are not labels, many sets of weights invert the confusion matrix, and the set with the smallest
    variance is used.
    """
    confusions = readings.confusions(draws, seed)
    if np.linalg.svd(confusions[0], compute_uv=False).min() < _TELLS_APART:
        return ErrorWeights(np.zeros((0, *confusions.shape[:0:-1])), "the judge hardly distinguishes the labels")
    scaled = confusions.swapaxes(1, 2) / np.maximum(given / given.sum(), _TRACE)[:, None]
    return ErrorWeights(np.asarray(scaled @ np.linalg.pinv(confusions @ scaled)))


MOST_OF_RANGE = 0.95
"""Overton withholds an interval that covers a larger proportion of the measure's range, because it is useless. A
stricter rule would mostly keep intervals that are narrow by chance, and these miss the truth more often."""


@dataclass(frozen=True)
class CorrectedSums:
    """A measure of U units under the observed and the sampled confusion matrices: the sum of `above` divided by the sum
    of `below`.

    Both are [1 + draws, U]; a unit that does not contribute has 0 in both.
    """

    above: Floats
    below: Floats

    def of(self, units: NDArray[np.bool_]) -> CorrectedSums:
        """The same measure for some units; the others do not contribute."""
        return CorrectedSums(self.above * units, self.below * units)


@dataclass(frozen=True)
class Gaps:
    """The distances from a number to its limits, by source: the variation of clusters, and the uncertainty about the
    judge's errors.

    `clusters` and `errors` each have the distances to the lower limit (at most 0) and to the upper limit (at least 0).
    `spread` has the standard error of each source.
    """

    value: float
    clusters: tuple[float, float]
    errors: tuple[float, float]
    spread: tuple[float, float]

    @property
    def both(self) -> tuple[float, float]:
        """The distances to the lower and the upper limit. The parts from clusters and from the judge's errors are
        combined as for a difference of two estimates (MOVER: Zou and Donner 2008)."""
        low, high = (hypot(*pair) for pair in zip(self.clusters, self.errors, strict=True))
        return low, high


@dataclass(frozen=True)
class CorrectedInfluence:
    """A corrected number, the influence of each group of clusters, and the effect of each sampled confusion matrix.

    `errors` [draws] is empty if whole units were labelled, because no confusion matrix is then sampled. `n` is the
    number of units behind the number.
    """

    value: float
    influence: Influence
    errors: Floats
    n: int

    def minus(self, other: CorrectedInfluence, *, alike: bool) -> CorrectedInfluence:
        """The difference of two numbers over the same clusters. If both numbers are corrected by the same labels of one
        judge (`alike`), each sampled confusion matrix affects both numbers. Otherwise each number has its own,
        independent sample of confusion matrices."""
        mine, theirs = self.errors, other.errors if alike else np.roll(other.errors, 1)
        if not (mine.size and theirs.size):
            mine, theirs = (
                errors if errors.size else np.zeros(max(mine.size, theirs.size)) for errors in (mine, theirs)
            )
        moved = self.influence - other.influence
        return CorrectedInfluence(self.value - other.value, moved, mine - theirs, min(self.n, other.n))

    def gaps(self, level: float) -> Gaps:
        """The interval's distances from each source: by the usual rule over clusters (`jackknife.gaps`), and by
        quantiles of the effects of sampled confusion matrices."""
        spread = standard_errors(self.influence)
        between = tuple(float(gap[0]) for gap in gaps(spread, level))
        if not self.errors.size:
            return Gaps(self.value, (between[0], between[1]), (0.0, 0.0), (float(spread.error[0]), 0.0))
        tail = (1 - level) / 2
        ends = np.nanquantile(self.errors, [tail, 1 - tail])
        off = float(ends[1] - ends[0]) / (2 * float(ndtri(1 - tail)))  # from quantiles, because of extreme draws
        errors = (min(float(ends[0]), 0.0), max(float(ends[1]), 0.0))
        return Gaps(self.value, (between[0], between[1]), errors, (float(spread.error[0]), off))

    def estimate(self, level: float, within: Range, name: str) -> Estimate:
        """The number with its interval, without the checks that may withhold the interval."""
        found = self.gaps(level)
        low, high = found.both
        low, high = max(self.value - low, within[0]), min(self.value + high, within[1])
        return Estimate(self.value, low, high, self.n, name, level, hypot(*found.spread), ends_of(within))


def corrected_ratio(
    measure: CorrectedSums, within: Range, resampling: Resampling, labels: int, flaw: str = ""
) -> Estimate:
    """The sum of `above` divided by the sum of `below`. The interval includes both sources of uncertainty in `Gaps`.

    `labels` is the number of human labels. `flaw` is a reason to withhold the interval, otherwise ''.
    """
    units, level = int((measure.below[0] > 0).sum()), resampling.level
    if labels < NEEDED:
        return not_computed(f"too few labels ({labels}; {NEEDED} are needed to correct a judge)", level=level, n=units)
    moved = moved_by(measure, resampling)
    if isnan(moved.value):
        return not_computed("corrected, no unit has it", level=level, n=units)
    value = float(np.clip(moved.value, *within)) + 0.0
    if why := flaw or _why_too_few(measure, resampling, labels):
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    name = f"the judge's errors undone, over {resampling.unit}"
    made = replace(moved, value=value).estimate(level, within, name)
    if made.high - made.low > MOST_OF_RANGE * (within[1] - within[0]) or isnan(made.high - made.low):
        why = "the judge errs too often for so few labels and units"
        return Estimate(value, nan, nan, units, NO_INTERVAL + why, level)
    return made


def _why_too_few(measure: CorrectedSums, resampling: Resampling, labels: int) -> str:
    """The reason if there are too few clusters or labels for an interval, otherwise ''."""
    clusters = len(np.unique(resampling.cluster[measure.below[0] != 0]))
    if clusters < FEWEST:
        return f"too few {resampling.unit} ({clusters}; {FEWEST} are needed)"
    return f"too few labels ({labels}; {COVERED} are needed)" if labels < COVERED else ""


def moved_by(measure: CorrectedSums, resampling: Resampling) -> CorrectedInfluence:
    """A measure's value and its influences; NaN if no unit has the measure."""
    units = int((measure.below[0] > 0).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = measure.above.sum(1) / measure.below.sum(1)
    if not np.isfinite(drawn[0]):
        return CorrectedInfluence(nan, Influence(np.zeros((0, 1)), np.zeros(1), np.ones(1)), np.zeros(0), units)
    many = int(resampling.cluster.max()) + 1
    above, below = (
        np.bincount(resampling.cluster, sums_of[0], many).astype(float) for sums_of in (measure.above, measure.below)
    )
    sums = resampling.sums(ClusterSums(above[:, None], below[:, None]))
    return CorrectedInfluence(float(drawn[0]), resampling.influence(sums), drawn[1:] - drawn[0], units)


def gaps_of(measure: CorrectedSums, resampling: Resampling) -> Gaps:
    """The distances from a measure to its limits, by source."""
    moved = moved_by(measure, resampling)
    if isnan(moved.value):
        return Gaps(nan, (nan, nan), (nan, nan), (nan, nan))
    return moved.gaps(resampling.level)


WHOLE = 10
"""The minimum number of labelled whole units. In a simulation (60 conversations, 300 data sets of each kind, limits
with the labelled units' skewness alone), intervals from ten units covered the truth in 91 to 99% of data sets. With
five units, 28 to 37% of data sets gave no interval. The intervals of the other data sets covered the truth in 87 to 99%
of cases."""


def whole_units(
    draw: LabelDraw, people: Floats, judged: Floats, within: Range, level: float = 0.95, *, share: bool = False
) -> JudgeAndHuman:
    """Three versions of a measure's mean over N units: from the judge's labels alone, corrected, and from human labels
    alone.

    `people` and `judged` [N] are the units' values from human and judge labels (NaN: the unit has no value). Human
    values of unlabelled units are ignored. If all human values are the same, unlabelled units may still have other
    values. Wilson's limit then gives the largest proportion of such units, and the interval allows these units any
    value in the measure's range (`within`). With `share` the mean is a proportion of units, and has Wilson's limits.
    """
    known = np.isfinite(people) & draw.labelled
    three, _ = correct_by_labels(
        draw, _unit_values(draw, people, judged, within, share=share), [], level, (WHOLE, WHOLE)
    )
    values = people[known]
    if len(np.unique(draw.cluster[known])) < FEWEST or np.ptp(values) > _FLAT:
        return three
    flat = _wilson_if_alike(float(values[0]), int(known.sum()), within, level)
    return _replace_by_flat(three, flat)


def moved_by_units(
    draw: LabelDraw, people: Floats, judged: Floats, within: Range, *, share: bool = False
) -> CorrectedInfluence:
    """The corrected mean, and each cluster's influence on it. The influences serve to compute differences over
    the same clusters.

    The influences are scaled to match the mean's standard error, which allows for errors outside the sample.
    """
    found = moves(draw, _unit_values(draw, people, judged, within, share=share))
    many = len(np.unique(draw.cluster))
    seen = sqrt(float((found.parts**2).sum()) * many / max(many - 1, 1))
    parts = found.parts * (found.error / seen) if seen > 0 else found.parts
    influence = Influence(parts[:, None], np.array([float(many)]), np.array([found.freedom]))
    return CorrectedInfluence(found.value, influence, np.zeros(0), int(draw.labelled.sum()))


def _unit_values(draw: LabelDraw, people: Floats, judged: Floats, within: Range, *, share: bool) -> JudgeAndHumanValues:
    """Units' values for the correction. Units without a value do not count. If units were sampled with unequal chances
    and all judge's values are 0 or 1, these values form strata."""
    known, said = np.isfinite(people) & draw.labelled, np.isfinite(judged)
    in_strata = within == SHARE and bool(np.isin(judged, (0, 1)).all()) and bool((known == draw.labelled).all())
    return JudgeAndHumanValues(
        np.where(known, people, 0.0),
        np.where(said, judged, 0.0),
        known.astype(float),
        said.astype(float),
        *within,
        share=share or (in_strata and not draw.has_equal_chances),
    )


_FLAT = 1e-12


def _wilson_if_alike(value: float, n: int, within: Range, level: float) -> Estimate:
    _, most = wilson_limits(0, n, level)
    low, high = value - float(most) * (value - within[0]), value + float(most) * (within[1] - value)
    return Estimate(value, low, high, n, "Wilson: alike in all labelled units", level)


def _replace_by_flat(three: JudgeAndHuman, flat: Estimate) -> JudgeAndHuman:
    """Use the interval for labelled units that are all alike. If there are too few units to correct the judge, the
    corrected number stays missing."""
    enough = not isnan(three.corrected.value)
    return three._replace(corrected=flat if enough else three.corrected, labelled=flat)


class LabelCount(msgspec.Struct, frozen=True):
    """The number of labels to collect, and the interval width that they are expected to give.

    `unit` is 'rows' for labels of single rows, and 'units' for labels of whole units. `labels` is the number of labels,
    and `units` the number of whole units (0 for single rows). `least` is the width that remains if everything is
    labelled, because items vary. `why` is the reason if the requested width cannot be reached, otherwise ''.
    """

    unit: str
    labels: int
    units: int
    width: float
    least: float
    why: str = ""


def rows_for_width(gaps: Gaps, labelled: int, rows: int, width: float) -> LabelCount:
    """The number of single labels, at most `rows`, that give an interval of this width. The uncertainty about the
    judge's errors shrinks with the square root of the number of labels, but the variation between items remains.
    `labelled` is the number of existing labels, from which `gaps` are computed."""

    def expected(labels: float) -> float:
        shrunk = sqrt(labelled / labels)
        return sum(hypot(a, b * shrunk) for a, b in zip(gaps.clusters, gaps.errors, strict=True))

    least = gaps.clusters[1] - gaps.clusters[0]
    if width <= least:
        return LabelCount("rows", 0, 0, expected(rows), least, _MORE_ITEMS)
    needed = _fewest_for_width(expected, COVERED, rows, width)
    if needed is None:
        return LabelCount(
            "rows", 0, 0, expected(rows), least, f"the interval is wider even with labels for all {rows} rows"
        )
    return LabelCount("rows", needed, 0, expected(needed), least)


def rows_for_share(
    people: Floats, judged: Floats, every: Floats, cluster: NDArray[np.int64], width: float
) -> LabelCount:
    """The number of single labels that give a proportion's corrected interval this width.

    `people` and `judged` [n] are the human and the judge's values for the rows labelled so far (1 for the label,
    otherwise 0). `every` [N] are the judge's values of all rows, and `cluster` [N] the rows' clusters. The variance has
    two parts as in `units_for_width`. The part that the judge explains is computed over clusters. The other part is at
    least the variance of a label with the probability 1 / (n + 2).
    """
    n = len(people)
    varies = float(judged.var(ddof=1)) if n > 1 else 0.0
    power = float(np.cov(people, judged)[0, 1] / varies) if varies > 0 else 0.0
    seen = float((people - power * judged).var(ddof=1)) if n > 1 else 0.25
    left = max(seen, 1 / (n + 2) * (1 - 1 / (n + 2)))
    sums = np.bincount(cluster, every - every.mean())
    explained = power**2 * float((sums**2).sum()) / len(every) ** 2

    def expected(labels: float) -> float:
        return 2 * float(stdtrit(max(labels - 1, 1), (1 + _LEVEL) / 2)) * sqrt(left / labels + explained)

    least = expected(len(every))
    needed = _fewest_for_width(expected, COVERED, len(every), width)
    if needed is None:
        return LabelCount("rows", 0, 0, least, least, _MORE_ITEMS)
    return LabelCount("rows", needed, 0, expected(needed), least)


def units_for_width(
    people: Floats, judged: Floats, every: Floats, width: float, *, size: float, level: float = 0.95
) -> LabelCount:
    """The number of whole units, each with `size` labels, whose labels give an interval of this width.

    `people` and `judged` [n] are values of the units labelled so far, and `every` [N] the judge's values of all units.
    With power tuning the variance has two parts (PPI++, section 6). The part that the judge does not explain depends on
    the labelled units, and the part that the judge explains depends on all units.
    """
    n, of_all = len(people), len(every)
    varies = float(judged.var(ddof=1)) if n > 1 else 0.0
    power = float(np.cov(people, judged)[0, 1] / varies) if varies > 0 else 0.0
    left = float((people - power * judged).var(ddof=2 if power and n > 2 else 1))
    explained = power**2 * float(every.var(ddof=1)) / of_all

    def expected(units: float) -> float:
        freedom = max(units - 1, 1)
        return 2 * float(stdtrit(freedom, (1 + level) / 2)) * sqrt(left / units + explained)

    least = expected(of_all)
    needed = _fewest_for_width(expected, WHOLE, of_all, width)
    if needed is None:
        return LabelCount("units", 0, 0, least, least, _MORE_ITEMS)
    return LabelCount("units", ceil(needed * size), needed, expected(needed), least)


_MORE_ITEMS = "items vary too much: more items are needed, not more labels"


def _fewest_for_width(expected: Callable[[float], float], least: int, most: int, width: float) -> int | None:
    """The smallest number from `least` to `most` whose expected width is at most `width`. None if even `most` is too
    few."""
    low, high = min(least, most), most
    if expected(high) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        if expected(middle) <= width:
            high = middle
        else:
            low = middle + 1
    return low
