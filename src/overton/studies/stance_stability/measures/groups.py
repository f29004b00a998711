"""Conversations by model, domain, temperature and order of questions: means, deviations, bands, spreads (section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.resampling import Draws, Numbers, Resampling
from overton.studies.stance_stability.measures.analysis import (
    CHAMELEON_BANDS,
    OVER,
    REUSE_BANDS,
    Group,
    Measure,
    ModelResult,
    TemperatureSpread,
)
from overton.studies.stance_stability.measures.cells import NOTHING, Partition, Split, Values, averaged, means, measures

__all__ = ["band", "measure_groups", "measure_spreads"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_DIGITS = 12
"""A score that is 0.3 but for rounding is 0.3: bands and bounds are told apart after so many digits."""


@dataclass(frozen=True)
class Groups:
    """All groups: everything, each model's, and those of all models together."""

    overall: Group
    models: dict[str, ModelResult]
    domains: dict[str, Group]
    temperatures: dict[str, Group]
    orderings: dict[str, Group]


def band(scores: Array, bands: Sequence[tuple[str, float, float]]) -> Ints:
    """The number of each score's band; both bounds belong to the middle one. -1 for NaN."""
    (_, _, low), (_, _, high) = bands[0], bands[1]
    rounded = np.round(scores, _DIGITS)
    return np.where(np.isnan(scores), -1, np.where(rounded < low, 0, np.where(rounded > high, 2, 1)))


def measure_groups(values: Mapping[str, Array], partition: Partition, resampling: Resampling) -> Groups:
    """The measures `values` [N] in every group."""
    flags = dict(_flags(values))
    found = {split.name: _split(split, values, flags, resampling) for split in partition.splits}
    models = {
        name: ModelResult(
            name,
            found["model"][name],
            **{f"{kind}s": _inner(partition, found, kind, name) for kind in ("temperature", "domain", "ordering")},
        )
        for name in partition.names("model")
    }
    return Groups(found["all"]["all"], models, *(found.get(kind, {}) for kind in ("domain", "temperature", "ordering")))


def _inner(partition: Partition, found: dict[str, dict[str, Group]], kind: str, model: str) -> dict[str, Group]:
    """A model's groups of one kind, by name; there are none where the table does not tell the kind."""
    groups = found.get(f"model/{kind}", {})
    keys = ((name, partition.key(model, name)) for name in partition.names(kind))
    return {name: groups[key] for name, key in keys if key in groups}


def _flags(values: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """What shares are taken of, as 0 and 1: bands of re-use and of the score, and scores over a value."""
    for measure, bands in (("chameleon", CHAMELEON_BANDS), ("source_reuse", REUSE_BANDS)):
        if measure in values:
            codes = band(values[measure], bands)
            for number, (name, _, _) in enumerate(bands):
                yield f"{measure} {name}", np.where(codes < 0, np.nan, codes == number)
    if "chameleon" in values:
        rounded = np.round(values["chameleon"], _DIGITS)
        for bound in OVER:
            yield f"over {bound}", np.where(np.isnan(rounded), np.nan, rounded > bound)


def _split(
    split: Split, values: Mapping[str, Array], flags: Mapping[str, Array], resampling: Resampling
) -> dict[str, Group]:
    """The groups of one split, by name."""
    cells, every = len(split.names), np.arange(len(split.code))
    numbers = [Values(one, every, split.code, cells) for one in values.values()]
    shares = [Values(one, every, split.code, cells, share=True) for one in flags.values()]
    measured = dict(zip(values, measures(numbers, resampling), strict=True))
    counted = dict(zip(flags, means(shares, resampling), strict=True))
    sizes = np.bincount(split.code[split.code >= 0], minlength=cells).tolist()
    return {
        name: _group(size, measured, counted, number)
        for number, (name, size) in enumerate(zip(split.names, sizes, strict=True))
        if size
    }


def _group(size: int, measured: Mapping[str, list[Measure]], counted: Mapping[str, list[Estimate]], cell: int) -> Group:
    def shares(prefix: str, bands: Sequence[tuple[str, float, float]]) -> dict[str, Estimate]:
        return {name: counted[key][cell] for name, _, _ in bands if (key := f"{prefix} {name}") in counted}

    return Group(
        conversations=size,
        measures={name: one[cell] for name, one in measured.items()},
        bands=shares("chameleon", CHAMELEON_BANDS),
        reuse_bands=shares("source_reuse", REUSE_BANDS),
        over={bound: counted[key][cell] for bound in OVER if (key := f"over {bound}") in counted},
    )


_SPREAD = ("chameleon", "source_reuse", "confidence", "stance_changes")
"""What is compared between temperatures, as far as the table tells it (the columns of table 1)."""

_NO_TOPICS = "no topic of this model was discussed at two temperatures, or topics are not known"


class _Means(NamedTuple):
    """The means of all cells, and what each resample adds to them [resamples, cells]."""

    estimates: list[Estimate]
    draws: Draws


def measure_spreads(
    values: Mapping[str, Array], about: pl.DataFrame, partition: Partition, resampling: Resampling
) -> tuple[TemperatureSpread, ...]:
    """For each model with several temperatures and each measure of `_SPREAD`."""
    temperatures, split = partition.names("temperature"), partition.within_temperatures
    names = [name for name in _SPREAD if name in values]
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
