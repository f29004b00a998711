"""How much temperature changes (section 4): the variance of a model's means, with a test paired by topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import msgspec
import numpy as np
import polars as pl

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats
from overton.statistics.comparison import variance_of_means
from overton.statistics.jackknife import FEWEST, POSITIVE, Influence, Jackknife, Resampling, same_in_all, too_few
from overton.statistics.tests import holm, permuted_within
from overton.studies.stance_stability.measures.analysis import TemperatureSpread
from overton.studies.stance_stability.measures.cells import (
    NOTHING,
    GroupedValues,
    Partition,
    averaged,
    means,
    range_of,
)

_SPREAD = ("chameleon", "source_reuse", "confidence", "stance_changes")
"""What is compared between temperatures, as far as the table has it (the columns of table 1)."""

_NO_TOPICS = "no topic of this model was discussed at two temperatures, or topics are not known"


@dataclass(frozen=True)
class _CellMeans:
    """The means of a measure in all cells, and the influence of each group of clusters on them."""

    estimates: list[Estimate]
    influence: Influence


@dataclass(frozen=True)
class _Topics:
    """By model: each measure's mean variance within a topic, and its values [topics, temperatures]."""

    variance: dict[str, list[Estimate]]
    values: dict[str, list[Floats]]


def measure_spreads(
    values: Mapping[str, Floats],
    about: pl.DataFrame,
    partition: Partition,
    resampling: Resampling,
    jackknife: Jackknife,
) -> tuple[TemperatureSpread, ...]:
    """For each model with several temperatures and each measure of `_SPREAD`."""
    temperatures = partition.names("temperature")
    names = [name for name in _SPREAD if name in values]
    if len(temperatures) < 2 or not names:
        return ()
    found = {name: _means(name, values[name], partition, resampling) for name in names}
    topics = _by_topic(values, names, about, partition, resampling)
    made = []
    for number, model in enumerate(partition.names("model")):
        cells = range(number * len(temperatures), (number + 1) * len(temperatures))
        for name, cell_means in found.items():
            known = {
                temperature: cell
                for temperature, cell in zip(temperatures, cells, strict=True)
                if not isnan(cell_means.estimates[cell].value)
            }
            if len(known) > 1:
                at = [temperatures.index(temperature) for temperature in known]
                p = permuted_within(topics.values[name][number][:, at], jackknife.resamples, jackknife.seed)
                made.append(_spread((model, name), cell_means, known, (topics.variance[name][number], p), resampling))
    return tuple(_adjusted(made))


def _means(name: str, values: Floats, partition: Partition, resampling: Resampling) -> _CellMeans:
    split = partition.within_temperatures
    sums = averaged(GroupedValues(values, np.arange(len(values)), split.code, len(split.names)), resampling)
    return _CellMeans(resampling.ratios([sums], NOTHING, range_of(name))[0], resampling.influence(sums))


def _spread(
    of: tuple[str, str],
    found: _CellMeans,
    cells: Mapping[str, int],
    topics: tuple[Estimate, float],
    resampling: Resampling,
) -> TemperatureSpread:
    at_each = {temperature: found.estimates[cell] for temperature, cell in cells.items()}
    at = list(cells.values())
    groups, n = int(found.influence.groups[at].min()), sum(estimate.n for estimate in at_each.values())
    values = np.array([estimate.value for estimate in at_each.values()])
    estimated = variance_of_means(values, found.influence.parts[:, at], groups, resampling.level)
    method = f"Student's t over {resampling.unit}, of the means' distance"
    low, high = estimated.low, estimated.high
    if groups < FEWEST:
        low = high = nan
        method = too_few(groups, resampling.unit)
    elif isnan(low):
        method = same_in_all(groups, resampling.unit)
    variance = Estimate(estimated.value, low, high, n, method, resampling.level)
    return TemperatureSpread(*of, at_each, variance, estimated.by_chance if groups > 1 else nan, *topics, nan)


def _adjusted(spreads: Sequence[TemperatureSpread]) -> Iterator[TemperatureSpread]:
    for spread, adjusted in zip(spreads, holm(spread.p for spread in spreads), strict=True):
        yield msgspec.structs.replace(spread, adjusted=adjusted)


def _by_topic(
    values: Mapping[str, Floats], names: list[str], about: pl.DataFrame, partition: Partition, resampling: Resampling
) -> _Topics:
    """For each measure and model, the mean over topics of the variance of the topic's means at each temperature."""
    models, temperatures = partition.of("model"), partition.names("temperature")
    none = [not_computed(_NO_TOPICS, level=resampling.level)] * len(models.names)
    empty = [np.zeros((0, len(temperatures)))] * len(models.names)
    if "topic" not in about.columns:
        return _Topics(dict.fromkeys(names, none), dict.fromkeys(names, empty))
    frame = pl.DataFrame({"at": np.arange(about.height), "model": models.code, **{n: values[n] for n in names}})
    weight = np.ones(about.height) if resampling.weight is None else resampling.weight
    frame = frame.with_columns(about["topic"], temperature=partition.of("temperature").code, weight=weight)
    frame = frame.drop_nulls("topic")
    keys = ("model", "topic", "temperature")
    # Sorted, so that sums are rounded alike whatever the order of rows.
    at_each = (
        frame.sort(*keys, "at")
        .group_by(keys, maintain_order=True)
        .agg(pl.col("at").min(), *(_mean(name, resampling) for name in names))
    )
    topics = at_each.group_by(keys[:2], maintain_order=True).agg(
        pl.col("at").min(), *(pl.col(name).var() for name in names)
    )
    at, model = topics["at"].to_numpy(), topics["model"].to_numpy()
    parts = [
        GroupedValues(topics[name].fill_null(nan).to_numpy(), at, model, len(models.names), POSITIVE) for name in names
    ]
    made = [
        [empty if isnan(estimate.value) else estimate for estimate, empty in zip(part, none, strict=True)]
        for part in means(parts, resampling.unweighted)
    ]
    tables = {name: _in_table(at_each, name, len(models.names), len(temperatures)) for name in names}
    return _Topics(dict(zip(names, made, strict=True)), tables)


def _mean(name: str, resampling: Resampling) -> pl.Expr:
    """A topic's mean at a temperature; conversations in several orders may have been held unequally often."""
    value = pl.col(name).fill_nan(None)
    if resampling.weight is None:
        return value.mean()
    weight = pl.col("weight").filter(value.is_not_null()).sum()
    return ((value * pl.col("weight")).sum() / pl.when(weight > 0).then(weight)).alias(name)


def _in_table(at_each: pl.DataFrame, name: str, models: int, temperatures: int) -> list[Floats]:
    """Each model's topics' values at each temperature [topics, temperatures], NaN if there is none."""
    made = []
    for number in range(models):
        rows = at_each.filter(pl.col("model") == number)
        topic = rows["topic"].rank("dense").to_numpy().astype(np.int64) - 1
        table = np.full((int(topic.max(initial=-1)) + 1, temperatures), nan)
        table[topic, rows["temperature"].to_numpy()] = rows[name].fill_null(nan).to_numpy()
        made.append(table)
    return made
