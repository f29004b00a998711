"""How much a model's measures differ between temperatures (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.studies.stance_stability.measures.analysis import TemperatureSpread
from overton.studies.stance_stability.measures.moments import Values
from overton.studies.stance_stability.measures.partition import Partition
from overton.studies.stance_stability.measures.resampling import Averaged, Resampling

__all__ = ["SPREAD", "measure_spreads"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREAD = ("chameleon", "source_reuse", "confidence", "stance_changes")
"""What is compared between temperatures, as far as the table tells it (the columns of table 1)."""

_NO_TOPICS = "no topic of this model was discussed at two temperatures, or topics are not known"


def measure_spreads(
    values: Mapping[str, Array], about: pl.DataFrame, partition: Partition, resampling: Resampling
) -> tuple[TemperatureSpread, ...]:
    """For each model with several temperatures and each measure of `SPREAD`."""
    temperatures, split = partition.names("temperature"), partition.within_temperatures
    names = [name for name in SPREAD if name in values]
    if len(temperatures) < 2:
        return ()
    every = np.arange(len(split.code))
    parts = [Values(values[name], every, split.code, len(split.names)) for name in names]
    averaged = resampling.average(parts, keep=True, deviate=False)
    topics = dict(zip(names, _within_topics(values, names, about, partition, resampling), strict=True))
    made = []
    for number, model in enumerate(partition.names("model")):
        cells = range(number * len(temperatures), (number + 1) * len(temperatures))
        for name, one in zip(names, averaged, strict=True):
            known = {
                temperature: cell
                for temperature, cell in zip(temperatures, cells, strict=True)
                if not isnan(one.means[cell].value)
            }
            if len(known) > 1:
                made.append(_spread((model, name), one, known, topics[name][number], resampling))
    return tuple(made)


def _spread(
    of: tuple[str, str], averaged: Averaged, cells: Mapping[str, int], topics: Estimate, resampling: Resampling
) -> TemperatureSpread:
    assert averaged.drawn is not None
    means = {temperature: averaged.means[cell] for temperature, cell in cells.items()}
    drawn = averaged.drawn[:, list(cells.values())].astype(float)
    observed = np.array([one.value for one in means.values()])
    value, units = float(observed.var(ddof=1)), min(one.n for one in means.values())
    low, high = resampling.limits(
        np.array([value]), drawn.var(axis=1, ddof=1)[:, None].astype(np.float32), np.array([float(units)])
    )
    method = f"bootstrap over {resampling.name}" if units > 1 else f"one of {resampling.name}: no interval"
    limits = (float(low[0]), float(high[0])) if units > 1 else (nan, nan)
    by_chance = float(np.nanmean((drawn - observed).var(axis=1, ddof=1))) if units > 1 else nan
    variance = Estimate(value, *limits, sum(one.n for one in means.values()), method, resampling.level)
    return TemperatureSpread(*of, means, variance, by_chance, topics)


def _within_topics(
    values: Mapping[str, Array], names: list[str], about: pl.DataFrame, partition: Partition, resampling: Resampling
) -> list[list[Estimate]]:
    """For each measure and model, the mean over topics of the variance of the topic's means at each temperature."""
    models = partition.of("model")
    none = [not_computed(_NO_TOPICS, level=resampling.level)] * len(models.names)
    if "topic" not in about.columns:
        return [none] * len(names)
    frame = pl.DataFrame({"at": np.arange(about.height), "model": models.code, **{n: values[n] for n in names}})
    frame = frame.with_columns(about["topic"], temperature=partition.of("temperature").code).drop_nulls("topic")
    numbers = [pl.col(name).fill_nan(None) for name in names]
    keys = ("model", "topic", "temperature")
    # In order, so that sums are rounded alike whatever the order of rows.
    at_each = (
        frame.sort(*keys, "at")
        .group_by(keys, maintain_order=True)
        .agg(pl.col("at").min(), *(one.mean() for one in numbers))
    )
    topics = at_each.group_by(keys[:2], maintain_order=True).agg(
        pl.col("at").min(), *(pl.col(name).var() for name in names)
    )
    at, model = topics["at"].to_numpy(), topics["model"].to_numpy()
    parts = [Values(topics[name].fill_null(nan).to_numpy(), at, model, len(models.names)) for name in names]
    made = resampling.average(parts, deviate=False)
    return [[empty if isnan(one.value) else one for one, empty in zip(part.means, none, strict=True)] for part in made]
