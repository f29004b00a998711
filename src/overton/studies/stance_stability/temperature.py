"""How much temperature changes (section 4): the variance of a model's means, with a test paired by topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import isnan, nan
from typing import NamedTuple

import numpy as np
import polars as pl

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.cell_means import CellValues, cell_means, cell_sums
from overton.statistics.comparison import variance_of_means
from overton.statistics.jackknife import FEWEST, POSITIVE, Jackknife, Resampling, same_in_all, too_few
from overton.statistics.tests import holm, permuted_within
from overton.studies.frame import EstimateRow
from overton.studies.grouping import Frame
from overton.studies.measures import Measure
from overton.studies.study_measures import TableRow

_NO_TOPICS = "no topic of this model was discussed at two temperatures, or topics are not known"


class _Spread(NamedTuple):
    """How much a measure of a model differs between temperatures.

    means          by temperature
    variance       of these means (sample, n - 1); its square root has the unit of the measure
    within_topics  the mean over topics of the variance of one topic's values across temperatures; it includes what
                   chance adds to a single conversation
    by_chance      the variance expected from this many conversations if temperature made no difference
    p              for no difference: a permutation test in which a topic's values are exchanged between temperatures.
                   NaN if no topic was discussed at all of them
    """

    model: str
    measure: str
    means: dict[str, Estimate]
    variance: Estimate
    within_topics: Estimate
    by_chance: float
    p: float


def variances(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow | TableRow]:
    """For each model with several temperatures and each of these measures: the variance of its means, that within
    topics, the largest difference of two means, and a row of the table 'temperatures'.

    P values are corrected for all models and measures (Holm 1979); the table has both.
    """
    found = _spreads(frame, [measure for measure in measures if frame.has(measure)])
    spreads = sorted(found, key=lambda spread: spread.model)
    for spread, adjusted in zip(spreads, holm(spread.p for spread in spreads), strict=True):
        numbers = {
            "variance": spread.variance,
            "within_topics": spread.within_topics,
            "range": _largest_difference(spread.means),
        }
        for name, number in numbers.items():
            p = None if isnan(adjusted) or name == "within_topics" else adjusted
            yield EstimateRow(model=spread.model, measure=f"{spread.measure}_temperature_{name}", number=number, p=p)
        cells = {"by_chance": spread.by_chance, "p": spread.p, "adjusted": adjusted}
        finite = {name: None if isnan(value) else value for name, value in cells.items()}
        yield TableRow("temperatures", {"model": spread.model, "measure": spread.measure, **finite})


def _largest_difference(means: dict[str, Estimate]) -> Estimate:
    """It has no interval: a permutation test decides."""
    values = [mean.value for mean in means.values()]
    n = sum(mean.n for mean in means.values())
    return Estimate(max(values) - min(values), nan, nan, n, "no interval: a permutation test")


def _spreads(frame: Frame, measures: Sequence[Measure]) -> Iterator[_Spread]:
    units = frame.units["conversations"]
    table = units.table.filter("known").sort("model", "temperature", "heat", "conversation", nulls_last=True)
    temperatures = table.sort("heat", nulls_last=True)["temperature"].unique(maintain_order=True).to_list()
    if len(temperatures) < 2 or not measures:
        return
    models = table["model"].unique().sort().to_list()
    code = _codes(table, "model", models) * len(temperatures) + _codes(table, "temperature", temperatures)
    weight = table[units.weight].to_numpy() if units.weight else None
    clusters = table[units.cluster].rank("dense").to_numpy().astype(np.int64) - 1
    over = frame.jackknife.over(clusters, weight)
    for measure in measures:
        values = table[measure.column].cast(pl.Float64).fill_null(nan).to_numpy()
        cells = CellValues(values, np.arange(len(values)), code, len(models) * len(temperatures), measure.within)
        sums = cell_sums(cells, over)
        estimates, influence = over.ratios([sums], measure.nothing, measure.within)[0], over.influence(sums)
        topics = _values_by_topic(table, measure, units.weight)
        by_model = topics.partition_by("model", as_dict=True)
        for number, model in enumerate(models):
            first = number * len(temperatures)
            known = [
                (temperature, first + at)
                for at, temperature in enumerate(temperatures)
                if not isnan(estimates[first + at].value)
            ]
            if len(known) < 2:
                continue
            at = [cell for _, cell in known]
            means = {temperature: estimates[cell] for temperature, cell in known}
            groups = int(influence.groups[at].min())
            variance, by_chance = _variance(means, influence.parts[:, at], groups, over)
            own = by_model.get((model,), topics.clear())
            exchanged = _in_table(own, [temperature for temperature, _ in known])
            p = permuted_within(exchanged, frame.jackknife.resamples, frame.jackknife.seed)
            within = _within_topics(own, frame.jackknife)
            yield _Spread(model, measure.name, means, variance, within, by_chance, p)


def _codes(table: pl.DataFrame, column: str, names: Sequence[str]) -> Ints:
    return table[column].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()


def _variance(means: dict[str, Estimate], influence: Floats, groups: int, over: Resampling) -> tuple[Estimate, float]:
    """The variance of the means, and what chance alone would give."""
    values, n = np.array([mean.value for mean in means.values()]), sum(mean.n for mean in means.values())
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
    """Each topic's mean at each temperature; conversations in several orders may have been held unequally often.

    Sorted, so that sums are rounded alike whatever the order of rows.
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


def _in_table(own: pl.DataFrame, temperatures: Sequence[str]) -> Floats:
    """A model's topics' values at each temperature [topics, temperatures], NaN if there is none."""
    names = own["topic"].unique().sort().to_list()
    wanted = pl.DataFrame(
        list(product(names, temperatures)), schema={"topic": pl.String, "temperature": pl.String}, orient="row"
    )
    values = wanted.join(own, on=["topic", "temperature"], how="left", maintain_order="left")["value"]
    return values.cast(pl.Float64).fill_null(nan).to_numpy().reshape(len(names), len(temperatures))
