"""How much a model's measures differ between temperatures (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.resampling import Draws, Numbers, Resampling
from overton.studies.stance_stability.measures.analysis import TemperatureSpread
from overton.studies.stance_stability.measures.averages import NOTHING, Values, averaged, means
from overton.studies.stance_stability.measures.partition import Partition

__all__ = ["SPREAD", "measure_spreads"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREAD = ("chameleon", "source_reuse", "confidence", "stance_changes")
"""What is compared between temperatures, as far as the table tells it (the columns of table 1)."""

_NO_TOPICS = "no topic of this model was discussed at two temperatures, or topics are not known"


class _Means(NamedTuple):
    """The means of all cells, and what each resample adds to them [resamples, cells]."""

    estimates: list[Estimate]
    draws: Draws


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
    sums = [averaged(one, resampling) for one in parts]
    estimates = resampling.ratios(sums, NOTHING, share=False)
    found = [_Means(made, resampling.draws(one)) for made, one in zip(estimates, sums, strict=True)]
    topics = dict(zip(names, _within_topics(values, names, about, partition, resampling), strict=True))
    made = []
    for number, model in enumerate(partition.names("model")):
        cells = range(number * len(temperatures), (number + 1) * len(temperatures))
        for name, one in zip(names, found, strict=True):
            known = {
                temperature: cell
                for temperature, cell in zip(temperatures, cells, strict=True)
                if not isnan(one.estimates[cell].value)
            }
            if len(known) > 1:
                made.append(_spread((model, name), one, known, topics[name][number], resampling))
    return tuple(made)


def _spread(
    of: tuple[str, str], found: _Means, cells: Mapping[str, int], topics: Estimate, resampling: Resampling
) -> TemperatureSpread:
    at_each = {temperature: found.estimates[cell] for temperature, cell in cells.items()}
    observed, n = (np.array([getattr(one, name) for one in at_each.values()]) for name in ("value", "n"))
    moved = found.draws[:, list(cells.values())].astype(float)
    value = observed.var(ddof=1)
    drawn = (observed + moved).var(axis=1, ddof=1) - value
    numbers = Numbers(np.array([value]), np.array([n.sum()]), np.array([n.min()], float))
    (variance,) = resampling.estimates(numbers, drawn[:, None], NOTHING, digits=None)
    by_chance = float(np.nanmean(moved.var(axis=1, ddof=1))) if n.min() > 1 else nan
    return TemperatureSpread(*of, at_each, variance, by_chance, topics)


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
    made = means(parts, resampling)
    return [[empty if isnan(one.value) else one for one, empty in zip(part, none, strict=True)] for part in made]
