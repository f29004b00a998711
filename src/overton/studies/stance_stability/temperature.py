"""The influence of temperature, factors associated with source re-use (section 4), and changes by turn (figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import NamedTuple

import numpy as np
import polars as pl

from overton.judging import cohen_kappa, share
from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import AnyFloats, Flags, Floats, Ints
from overton.statistics.cell_means import CellValues, cell_means, cell_sums
from overton.statistics.comparison import variance_of_means
from overton.statistics.estimate import DIFFERENCE, FEWEST, POSITIVE, SHARE
from overton.statistics.jackknife import FISHER, Jackknife, Resampling, same_in_all, too_few
from overton.statistics.tests import holm, permuted_within
from overton.studies.frame import EstimateRow
from overton.studies.grouping import Frame
from overton.studies.groups import number_groups, numbers_of
from overton.studies.measures import Measure
from overton.studies.stance_stability.conversations import UNLABELLED
from overton.studies.study_measures import TableRow

_NO_TOPICS = "no topic of this model was discussed at two temperatures, or topics are unknown"


class _Spread(NamedTuple):
    """Differences of a model's measure between temperatures.

    numbers    `variance`: the variance of the means (sample, n - 1), whose square root has the unit of the measure.
               `within_topics`: the mean over topics of the variance of one topic's values across temperatures, which
               includes random differences between conversations. `range`: the largest difference between two means
    by_chance  the variance expected from this many conversations if temperature made no difference
    p          p value of a permutation test of no difference, which exchanges a topic's values between temperatures;
               NaN if no topic was discussed at all temperatures
    """

    model: str
    measure: str
    numbers: Mapping[str, Estimate]
    by_chance: float
    p: float


def variances(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow | TableRow]:
    """Compare temperatures, for each measure and each model with several temperatures.

    Yields the variance of a measure's means at the temperatures, the variance within topics, and the largest difference
    between two means. Also yields a row of the table 'temperatures'. P values are corrected for the number of models
    and measures (Holm 1979). The table also has the uncorrected p values.
    """
    found = _spreads(frame, [measure for measure in measures if frame.has(measure)])
    spreads = sorted(found, key=lambda spread: spread.model)
    for spread, adjusted in zip(spreads, holm(spread.p for spread in spreads), strict=True):
        for name, number in spread.numbers.items():
            p = None if isnan(adjusted) or name == "within_topics" else adjusted
            yield EstimateRow(model=spread.model, measure=f"{spread.measure}_temperature_{name}", number=number, p=p)
        cells = {"by_chance": spread.by_chance, "p": spread.p, "adjusted": adjusted}
        finite = {name: None if isnan(value) else value for name, value in cells.items()}
        yield TableRow("temperatures", {"model": spread.model, "measure": spread.measure, **finite})


class _Measured(NamedTuple):
    """The measured conversations, the models' names, the index of each conversation's model in these names (`code`),
    and the resampling for intervals (`over`)."""

    table: pl.DataFrame
    models: list[str]
    code: Ints
    over: Resampling

    @classmethod
    def of(cls, frame: Frame, *keys: str) -> _Measured:
        """The conversations of a frame, sorted by these columns."""
        units = frame.units["conversations"]
        table = units.table.filter("known").sort(*keys, nulls_last=True)
        models = table["model"].unique().sort().to_list()
        weight = table[units.weight].to_numpy() if units.weight else None
        clusters = table[units.cluster].rank("dense").to_numpy().astype(np.int64) - 1
        return cls(table, models, _codes(table["model"], models), frame.jackknife.over(clusters, weight))

    def values(self, column: str) -> Floats:
        """A measure's values, NaN if a conversation has none."""
        return self.table[column].cast(pl.Float64).fill_null(nan).to_numpy()


def _spreads(frame: Frame, measures: Sequence[Measure]) -> Iterator[_Spread]:
    table, models, code, over = found = _Measured.of(frame, "model", "temperature", "heat", "conversation")
    temperatures = table.sort("heat", nulls_last=True)["temperature"].unique(maintain_order=True).to_list()
    if len(temperatures) < 2:
        return
    code = code * len(temperatures) + _codes(table["temperature"], temperatures)
    for measure in measures:
        values = found.values(measure.column)
        cells = CellValues(values, np.arange(len(values)), code, len(models) * len(temperatures), measure.within)
        sums = cell_sums(cells, over)
        estimates, influence = over.ratios([sums], measure.nothing, measure.within)[0], over.influence(sums)
        by_topic = _values_by_topic(table, measure, frame.units["conversations"].weight)
        wide = by_topic.pivot("temperature", index=["model", "topic"], values="value").sort("topic")
        unknown = [pl.lit(None, pl.Float64).alias(name) for name in temperatures if name not in wide.columns]
        wide = wide.with_columns(unknown).fill_null(nan)
        for number, model in enumerate(models):
            first = number * len(temperatures)
            at = [cell for cell in range(first, first + len(temperatures)) if not isnan(estimates[cell].value)]
            if len(at) < 2:
                continue
            means = [estimates[cell] for cell in at]
            groups = int(influence.groups[at].min())
            variance, by_chance = _variance(means, influence.parts[:, at], groups, over)
            exchanged = wide.filter(model=model).select(temperatures[cell - first] for cell in at)
            p = permuted_within(exchanged.to_numpy(), frame.jackknife.resamples, frame.jackknife.seed)
            numbers = {
                "variance": variance,
                "within_topics": _within_topics(by_topic.filter(model=model), frame.jackknife),
                "range": _largest_difference(means),
            }
            yield _Spread(model, measure.name, numbers, by_chance, p)


def _largest_difference(means: Sequence[Estimate]) -> Estimate:
    """The largest difference between two means, without an interval, because a permutation test decides."""
    values, n = [mean.value for mean in means], sum(mean.n for mean in means)
    return Estimate(max(values) - min(values), nan, nan, n, "no interval: a permutation test")


def _codes(column: pl.Series, names: Sequence[str]) -> Ints:
    return column.replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()


def _variance(means: Sequence[Estimate], influence: Floats, groups: int, over: Resampling) -> tuple[Estimate, float]:
    """The variance of the means, and the variance expected by chance alone."""
    values, n = np.array([mean.value for mean in means]), sum(mean.n for mean in means)
    estimated = variance_of_means(values, influence, groups, over.level)
    method = f"Student's t over {over.unit}, of the means' distance"
    low, high = estimated.low, estimated.high
    if groups < FEWEST:
        low = high = nan
        method = too_few(groups, over.unit)
    elif isnan(low):
        method = same_in_all(groups, over.unit)
    return Estimate(estimated.value, low, high, n, method, over.level), estimated.by_chance if groups > 1 else nan


def _values_by_topic(table: pl.DataFrame, measure: Measure, weight: str) -> pl.DataFrame:
    """Each topic's mean at each temperature.

    A mean is weighted if orders of questions were repeated unequally often. Rows are sorted first, so that rounding
    errors do not depend on their order.
    """
    value = pl.col(measure.column).cast(pl.Float64)
    mean = value.mean()
    if weight:
        total = pl.col(weight).filter(value.is_not_null()).sum()
        mean = (value * pl.col(weight)).sum() / pl.when(total > 0).then(total)
    keys = ("model", "topic", "temperature")
    rows = table.drop_nulls("topic").sort(*keys, "conversation")
    return rows.group_by(keys, maintain_order=True).agg(mean.alias("value"))


def _within_topics(topics: pl.DataFrame, jackknife: Jackknife) -> Estimate:
    """The mean over topics of the variance of the topic's values at the temperatures."""
    found = topics.group_by("topic", maintain_order=True).agg(pl.col("value").var())["value"].drop_nulls().to_numpy()
    if not len(found):
        return not_computed(_NO_TOPICS, level=jackknife.level)
    every = np.arange(len(found))
    cells = CellValues(found, every, np.zeros(len(found), np.int64), 1, POSITIVE)
    return cell_means([cells], jackknife.over(every))[0][0]


WITHIN = "within models"
"""The condition of correlations computed after each model's own means were subtracted, so that differences between
models do not matter."""

_FEWEST = 3
_FLAT = "fewer than three conversations, or one side does not vary"


def correlations(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow]:
    """Pearson correlations of source re-use with each of `measures`, over conversations.

    The first correlation is over all conversations of all models, as published. It has no `model`. The second
    correlation is computed after subtracting each model's own means, and has the condition `WITHIN`. Each further
    correlation is over the conversations of one model.
    """
    table, models, code, over = found = _Measured.of(frame, "model", "heat", "conversation")
    if "source_reuse" not in table.columns:
        return
    reuse = found.values("source_reuse")
    for measure in filter(frame.has, measures):
        other = found.values(measure.column)
        known = np.isfinite(reuse) & np.isfinite(other)
        key = f"reuse_with_{measure.name}"
        yield EstimateRow(measure=key, number=_correlation(reuse, other, known, None, over))
        within = _correlation(reuse, other, known, code, over)
        yield EstimateRow(measure=key, facet="models", condition=WITHIN, number=within)
        for number, model in enumerate(models):
            own = _correlation(reuse, other, known & (code == number), None, over)
            yield EstimateRow(model=model, measure=key, number=own)


def _correlation(x: Floats, y: Floats, use: Flags, block: Ints | None, over: Resampling) -> Estimate:
    """The correlation over the conversations in `use`. If `block` is given, the means of each block are subtracted
    first."""
    n = int(use.sum())
    if n < _FEWEST:
        return not_computed(_FLAT, level=over.level, n=n)
    x, y = np.where(use, x - x[use].mean(), 0), np.where(use, y - y[use].mean(), 0)
    parts = np.stack([use.astype(float), x, y, x * x, y * y, x * y], axis=1)
    return over.statistic(parts, _pearson, _FLAT, within=DIFFERENCE, scale=FISHER, block=block, use=use)


def _pearson(sums: AnyFloats) -> AnyFloats:
    """The correlation from sums of ones, values, squares and products [rows, blocks, 6]. Each block is centred on its
    own means."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 2, 0)
    some = np.where(n > 0, n, 1)
    vx, vy, vxy = ((xx - x * x / some).sum(1), (yy - y * y / some).sum(1), (xy - x * y / some).sum(1))
    tiny = 1e-12 * np.maximum(n.sum(1), 1)
    varies = (vx > tiny) & (vy > tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies, np.clip(vxy / np.sqrt(vx * vy), -1, 1), np.nan)


_MOST_TURNS = 200
"""The last turn that the results by turn include. Every other measure also includes later turns."""


def by_turn(frame: Frame) -> Iterator[EstimateRow]:
    """For each turn from turn 2 on and each model, the mean term of equation 1 and the proportion of conversations
    whose stance changes at this turn. Both are given for all temperatures together, and for each temperature.
    Conversations are left out if at least half of their answers have no content (void)."""
    units = frame.units["turns"]
    later = (pl.col("turn") > 1) & (pl.col("turn") <= _MOST_TURNS) & ~pl.col("void")
    table = units.table.filter(later)
    if table.is_empty():
        return
    conversations, weight = frame.units["conversations"], None
    if conversations.weight:
        own = conversations.table.filter("known")["weight"].to_numpy()
        weight = np.asarray(own[table["conversation"].to_numpy()])
    over = frame.jackknife.over(number_groups([numbers_of(table["cluster"])]).of, weight)
    keys = ["model", "turn", "temperature"]
    groups = number_groups([numbers_of(table[name]) for name in keys])
    cells = table.select(keys)[groups.first]
    yield from _means_by(table, groups.of, cells, [], over)
    if cells["temperature"].n_unique() > 1:
        yield from _means_by(table, groups.of, cells, ["temperature"], over)


def _means_by(
    table: pl.DataFrame, cell: Ints, cells: pl.DataFrame, facets: Sequence[str], over: Resampling
) -> Iterator[EstimateRow]:
    """Means by model, turn and value of the facets. `cell` has the index of each row's combination among the
    `cells`."""
    keys = ["model", *facets, "turn"]
    groups = number_groups([numbers_of(cells[name]) for name in keys])
    rows, names, of = np.arange(table.height), cells.select(keys)[groups.first].rows(), groups.of[cell]
    named = [("changed_at_turn", "changed"), *([("reuse_at_turn", "reuse")] if "reuse" in table.columns else [])]
    values = [
        CellValues(table[column].cast(pl.Float64).fill_null(np.nan).to_numpy(), rows, of, len(names), SHARE)
        for _, column in named
    ]
    numbers = cell_means(values, over)
    for at, (model, *where) in enumerate(names):
        if not numbers[0][at].n:  # no conversation has a pair of turns there
            continue
        for (measure, _), made in zip(named, numbers, strict=True):
            condition = " / ".join(map(str, where))
            facet = " / ".join([*facets, "turn"])
            yield EstimateRow(model=model, facet=facet, condition=condition, measure=measure, number=made[at])


def agreement(frame: Frame) -> Iterator[EstimateRow]:
    """Agreement between labels towards the proposition and towards the question's premise, over turns with both labels.
    Turns of one conversation are not independent."""
    table = frame.units["turns"].table
    if "premise" not in table.columns:
        return
    both = table.filter(pl.col("stance") != UNLABELLED, pl.col("premise") != UNLABELLED)
    if both.is_empty():
        return
    own, other, clusters = (both[name].to_list() for name in ("stance", "premise", "conversation"))
    level = frame.jackknife.level
    same = share([stance == premise for stance, premise in zip(own, other, strict=True)], clusters, level=level)
    yield EstimateRow(measure="premise_same", number=same)
    yield EstimateRow(measure="premise_kappa", number=cohen_kappa(own, other, clusters, level=level))
