"""Measures made of many of a judge's labels, corrected for what the judge misreads.

A share is moved by a judge's errors as often as they occur; a change of stance, or a viewpoint that any of ten
responses voices, much more often. If people labelled whole units, `whole_units` corrects the units' own values and
assumes only a random draw: errors may cluster, and be of any kind. If they labelled single rows, `DoublyLabelled` has
how often the judge reads each label as each other one, and `error_weights` the weights that undo it; `corrected_ratio`
turns sums of products of such weights into numbers with intervals. `statistics.judge_error_tests` tests what this
assumes. `rows_for_width`, `rows_for_share` and `units_for_width` say how many labels a width takes. docs/judges.md has
the formulas and their coverage.

For a row whose true label is x the judge says j with probability C[x, j]. Weights A with C A = 1 make A[j, x], averaged
over what the judge may say, 1 if x is the truth and 0 otherwise. So a product of such weights over the rows of a unit
is, on average, 1 for the true sequence of labels and 0 for any other, whatever the truth is: sums over sequences with
these weights are corrected without any model of how labels follow each other. (Corrected scores under
misclassification: Akazawa, Kinukawa and Nakamura 1998, J. Japan Statist. Soc. 28:115; for a single share it is the
estimate of Rogan and Gladen 1978, Am. J. Epidemiol. 107:71.) It assumes that errors of rows are independent, given the
truth, and equally frequent everywhere.
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
"""Errors added to those observed whenever confusions are drawn, as in Jeffreys' prior of a rate."""

_BORROWED_ROWS = 10.0
"""To a label that people gave less often, as many rows with all labels' errors are added: how the judge would read a
label that they never gave is not known, and a matrix that is inverted must not be so poorly known."""

_TRACE = 1e-3
_TELLS_APART = 0.1
"""A judge whose confusion has a smaller singular value does not distinguish the labels."""

_DRAWS = 100
_LEVEL = 0.95
"""The level of the interval whose width is requested."""


@dataclass(frozen=True)
class DoublyLabelled:
    """n rows that both people and judge labelled.

    people  [n, S] people's value of each true label, adding up to one
    judged  [n] what the judge said, in [0, outcomes); from S on it is not a label ('unread')
    weight  [n] how many rows each one represents (1 / chance), on any scale
    group   [n] rows of one group (a conversation) are alike; numbers from 0
    """

    people: Floats
    judged: Ints
    weight: Floats
    group: Ints
    outcomes: int

    @property
    def labels(self) -> int:
        """How many labels there can be, S."""
        return int(self.people.shape[1])

    @property
    def counts(self) -> Floats:
        """How often the judge said each outcome for each true label, in rows of equal weight [S, outcomes]."""
        return np.asarray(self._counts_by_group.sum(0))

    @property
    def errors(self) -> Floats:
        """How wrong the judge is about each row [n], from 0 to 1."""
        inside = np.append(self.people, np.zeros((len(self.judged), 1)), axis=1)
        return np.asarray(1 - inside[np.arange(len(self.judged)), np.minimum(self.judged, self.labels)])

    @property
    def residues(self) -> Floats:
        """Each row's error less the rate of errors for its true label [n]."""
        truth, errors = self.people.argmax(1), self.errors
        return np.asarray(errors - (np.bincount(truth, errors) / np.maximum(np.bincount(truth), 1))[truth])

    @property
    def _counts_by_group(self) -> Floats:
        """The same by group [groups, S, outcomes]."""
        weight = self.weight / self.weight.mean()
        cells = np.zeros((int(self.group.max()) + 1, self.outcomes, self.labels))
        np.add.at(cells, (self.group, self.judged), self.people * weight[:, None])
        return cells.swapaxes(1, 2)

    def confusions(self, draws: int = _DRAWS, seed: int = 0) -> Floats:
        """The confusion as counted, then as drawn from the uncertainty that the labels leave [1 + draws, S, outcomes].

        A draw weights each group exponentially (Rubin's bootstrap, 1981; for single rows it is Dirichlet's posterior)
        and adds unobserved errors, half a row in all, spread as labels are.
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
    """Weights that undo a judge's errors: the counted ones first, then those drawn.

    `weights` [1 + draws, outcomes, S]; `why` says why there are none, '' if there are.
    """

    weights: Floats
    why: str = ""

    @property
    def draws(self) -> int:
        """How many weights there are, including the counted ones."""
        return len(self.weights)

    def of(self, judged: Ints, known: Sequence[Ints], people: Floats, most: int = 2**21) -> Iterator[Floats]:
        """The weights of every row, some draws at a time [some, *rows, S]: `judged` [*rows] are the judge's labels, and
        rows that people labelled, which `known` numbers by axis, have people's values [n, S] instead."""
        rows = np.ravel_multi_index(tuple(known), judged.shape)
        step = max(1, most // max(judged.size * self.weights.shape[2], 1))
        for start in range(0, self.draws, step):
            made = self.weights[start : start + step][:, judged]
            made.reshape(len(made), judged.size, -1)[:, rows] = people
            yield made


def error_weights(readings: DoublyLabelled, given: Floats, draws: int = _DRAWS, seed: int = 0) -> ErrorWeights:
    """The weights for a judge that said each of its outcomes so often over all rows (`given` [outcomes]).

    If it says things that are not labels there are many such weights; those of least variance are used.
    """
    confusions = readings.confusions(draws, seed)
    if np.linalg.svd(confusions[0], compute_uv=False).min() < _TELLS_APART:
        return ErrorWeights(np.zeros((0, *confusions.shape[:0:-1])), "the judge hardly distinguishes the labels")
    scaled = confusions.swapaxes(1, 2) / np.maximum(given / given.sum(), _TRACE)[:, None]
    return ErrorWeights(np.asarray(scaled @ np.linalg.pinv(confusions @ scaled)))


MOST_OF_RANGE = 0.95
"""An interval that covers more of a measure's range says nothing, and is not given. A stricter rule would give only
those that came out narrow by chance, which miss."""


@dataclass(frozen=True)
class CorrectedSums:
    """A measure of U units under the counted confusion and under those drawn: the sum of `above` over that of `below`.

    Both are [1 + draws, U]; a unit that says nothing has 0 in both.
    """

    above: Floats
    below: Floats

    def of(self, units: NDArray[np.bool_]) -> CorrectedSums:
        """The same for some units; the others say nothing."""
        return CorrectedSums(self.above * units, self.below * units)


@dataclass(frozen=True)
class Gaps:
    """How far an interval reaches on both sides (at most 0, at least 0): for the variation of clusters, and for the
    uncertainty about the judge's errors; and the standard errors of both."""

    value: float
    clusters: tuple[float, float]
    errors: tuple[float, float]
    spread: tuple[float, float]

    @property
    def both(self) -> tuple[float, float]:
        """Both combined, below and above, as for a difference of two estimates (MOVER: Zou and Donner 2008)."""
        low, high = (hypot(*pair) for pair in zip(self.clusters, self.errors, strict=True))
        return low, high


@dataclass(frozen=True)
class CorrectedInfluence:
    """A corrected number: how far each group of clusters moves it, and how far each drawn confusion does.

    `errors` [draws] is empty if units were labelled whole, and nothing is drawn. `n` units are behind it.
    """

    value: float
    influence: Influence
    errors: Floats
    n: int

    def minus(self, other: CorrectedInfluence, *, alike: bool) -> CorrectedInfluence:
        """The difference of two numbers over the same clusters. Those of one judge, corrected by the same labels
        (`alike`), are moved by each draw together; otherwise draws are unrelated."""
        mine, theirs = self.errors, other.errors if alike else np.roll(other.errors, 1)
        if not (mine.size and theirs.size):
            mine, theirs = (
                errors if errors.size else np.zeros(max(mine.size, theirs.size)) for errors in (mine, theirs)
            )
        moved = self.influence - other.influence
        return CorrectedInfluence(self.value - other.value, moved, mine - theirs, min(self.n, other.n))

    def gaps(self, level: float) -> Gaps:
        """The parts of its interval: the project's rule over clusters (`jackknife.gaps`), and the quantiles of
        the drawn confusions' effects."""
        spread = standard_errors(self.influence)
        between = tuple(float(gap[0]) for gap in gaps(spread, level))
        if not self.errors.size:
            return Gaps(self.value, (between[0], between[1]), (0.0, 0.0), (float(spread.error[0]), 0.0))
        tail = (1 - level) / 2
        ends = np.nanquantile(self.errors, [tail, 1 - tail])
        off = float(ends[1] - ends[0]) / (2 * float(ndtri(1 - tail)))  # far draws do not measure spread
        errors = (min(float(ends[0]), 0.0), max(float(ends[1]), 0.0))
        return Gaps(self.value, (between[0], between[1]), errors, (float(spread.error[0]), off))

    def estimate(self, level: float, within: Range, name: str) -> Estimate:
        """The number with its interval, before any check withholds it."""
        found = self.gaps(level)
        low, high = found.both
        low, high = max(self.value - low, within[0]), min(self.value + high, within[1])
        return Estimate(self.value, low, high, self.n, name, level, hypot(*found.spread), ends_of(within))


def corrected_ratio(
    measure: CorrectedSums, within: Range, resampling: Resampling, labels: int, flaw: str = ""
) -> Estimate:
    """The sum of `above` over that of `below`, with limits from both sources of error.

    `flaw` says why it has none, '' if it may have one.
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
    """A measure's value and what moves it; NaN if no unit has it."""
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
    """The parts of a measure's interval."""
    moved = moved_by(measure, resampling)
    if isnan(moved.value):
        return Gaps(nan, (nan, nan), (nan, nan), (nan, nan))
    return moved.gaps(resampling.level)


WHOLE = 10
"""This many whole units are enough: with fewer, intervals of prediction-powered means missed more often in simulations,
or did not exist."""


def whole_units(
    draw: LabelDraw, people: Floats, judged: Floats, within: Range, level: float = 0.95, *, share: bool = False
) -> JudgeAndHuman:
    """The mean of a measure over N units: by the judge, corrected, by the labelled units alone.

    `people` and `judged` [N] are the unit's value from either's labels, NaN if it has none; people's values of units
    that were not labelled are ignored. If people's values are all alike, as many others as Wilson's limit allows may be
    anything `within` the measure's range. With `share` the mean is a share of units, and has Wilson's limits.
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
    """The corrected mean and what moves it, by cluster: for a difference of two over the same clusters.

    Each part is scaled so that together they have the number's standard error, including what was not observed.
    """
    found = moves(draw, _unit_values(draw, people, judged, within, share=share))
    many = len(np.unique(draw.cluster))
    seen = sqrt(float((found.parts**2).sum()) * many / max(many - 1, 1))
    parts = found.parts * (found.error / seen) if seen > 0 else found.parts
    influence = Influence(parts[:, None], np.array([float(many)]), np.array([found.freedom]))
    return CorrectedInfluence(found.value, influence, np.zeros(0), int(draw.labelled.sum()))


def _unit_values(draw: LabelDraw, people: Floats, judged: Floats, within: Range, *, share: bool) -> JudgeAndHumanValues:
    """Units' values as numbers; those without a value do not count. A judge's that are 0 or 1 form strata, if units
    were drawn with unequal chances."""
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
    """The interval if labelled units are all alike; too few of them still correct nothing."""
    enough = not isnan(three.corrected.value)
    return three._replace(corrected=flat if enough else three.corrected, labelled=flat)


class LabelCount(msgspec.Struct, frozen=True):
    """A number of labels of a unit ('rows', or whole 'units') and the width that they are expected to give.

    `labels` counts single labels, `units` whole units (0 if rows are drawn). `least` is the width that labelling
    everything would leave, since items vary; `why` says why a width cannot be reached, '' if it can.
    """

    unit: str
    labels: int
    units: int
    width: float
    least: float
    why: str = ""


def rows_for_width(gaps: Gaps, labelled: int, rows: int, width: float) -> LabelCount:
    """How many single labels of `rows` in all: the uncertainty about the judge's errors shrinks with the root of their
    number, the variation of items does not. `gaps` are those of `labelled` labels so far."""

    def expected(labels: float) -> float:
        shrunk = sqrt(labelled / labels)
        return sum(hypot(a, b * shrunk) for a, b in zip(gaps.clusters, gaps.errors, strict=True))

    least = gaps.clusters[1] - gaps.clusters[0]
    if width <= least:
        return LabelCount("rows", 0, 0, expected(rows), least, _MORE_ITEMS)
    needed = _fewest_for_width(expected, COVERED, rows, width)
    if needed is None:
        return LabelCount("rows", 0, 0, expected(rows), least, f"all {rows} labels leave a wider one")
    return LabelCount("rows", needed, 0, expected(needed), least)


def rows_for_share(
    people: Floats, judged: Floats, every: Floats, cluster: NDArray[np.int64], width: float
) -> LabelCount:
    """How many single labels bring a share's corrected interval to a width.

    `people` and `judged` [n] are what both say of the rows labelled so far (1 for the label, otherwise 0), `every` [N]
    what the judge says of all rows, each of which belongs to a `cluster` [N]. The variance is as in `units_for_width`,
    that of the judge's part over clusters; that of the labels is never less than one row in n would make it.
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
    """How many whole units, each of `size` labels: `people` and `judged` [n] are values of those labelled so far,
    `every` [N] the judge's of all. With power tuning the variance is that of what the judge leaves unexplained, over
    the units labelled, and of what it explains, over all of them (PPI++, section 6)."""
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
    """The fewest from `least` to `most` whose expected width is enough; None if none is."""
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
