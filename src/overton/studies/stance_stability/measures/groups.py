"""Conversations by model, domain, temperature and order of questions: means, standard deviations, bands (section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.jackknife import SHARE, Resampling
from overton.studies.stance_stability.measures.analysis import (
    CHAMELEON_BANDS,
    OVER,
    REUSE_BANDS,
    Group,
    ModelResult,
    TurnMeasure,
)
from overton.studies.stance_stability.measures.cells import (
    KINDS,
    VOID,
    ConversationGroups,
    GroupedValues,
    Partition,
    means,
    measures,
    range_of,
    reason,
)

_DIGITS = 12
"""A score that is 0.3 except for rounding is 0.3: scores are rounded to this many digits before bands and bounds."""


@dataclass(frozen=True)
class Groups:
    """All groups: overall, each model's, and by the plural of each of `KINDS` those of all models together."""

    overall: Group
    models: dict[str, ModelResult]
    kinds: dict[str, dict[str, Group]]


def band(scores: Floats, bands: Sequence[tuple[str, float, float]]) -> Ints:
    """The index of each score's band; the middle one includes both its bounds. -1 for NaN."""
    (_, _, low), (_, _, high) = bands[0], bands[1]
    rounded = np.round(scores, _DIGITS)
    return np.where(np.isnan(scores), -1, np.where(rounded < low, 0, np.where(rounded > high, 2, 1)))


def measure_groups(
    values: Mapping[str, Floats], bare: Mapping[str, Floats], partition: Partition, resampling: Resampling
) -> Groups:
    """The measures `values` [N] in every group, and `bare`, those without the turns that have a fault of form."""
    of = _Averaged(values, bare, dict(_flags(values)))
    found = {split.name: _split(split, partition.void_cells(split), of, resampling) for split in partition.splits}
    models = {
        name: ModelResult(
            name,
            found["model"][name],
            **{f"{kind}s": _inner(partition, found, kind, name) for kind in KINDS},
        )
        for name in partition.names("model")
    }
    return Groups(found["all"]["all"], models, {f"{kind}s": found.get(kind, {}) for kind in KINDS})


def _inner(partition: Partition, found: dict[str, dict[str, Group]], kind: str, model: str) -> dict[str, Group]:
    """A model's groups of one kind, by name; there are none if the table does not have the kind."""
    groups = found.get(f"model/{kind}", {})
    keys = ((name, partition.key(model, name)) for name in partition.names(kind))
    return {name: groups[key] for name, key in keys if key in groups}


def _flags(values: Mapping[str, Floats]) -> Iterator[tuple[str, Floats]]:
    """What shares are of, as 0 and 1: bands of re-use and of the score, and scores above a value."""
    for measure, bands in (("chameleon", CHAMELEON_BANDS), ("source_reuse", REUSE_BANDS)):
        if measure in values:
            codes = band(values[measure], bands)
            for number, (name, _, _) in enumerate(bands):
                yield f"{measure} {name}", np.where(codes < 0, np.nan, codes == number)
    if "chameleon" in values:
        rounded = np.round(values["chameleon"], _DIGITS)
        for bound in OVER:
            yield f"over {bound}", np.where(np.isnan(rounded), np.nan, rounded > bound)


@dataclass(frozen=True)
class _Averaged:
    """What is averaged [N each]: measures, the same without faults, and flags for shares."""

    values: Mapping[str, Floats]
    bare: Mapping[str, Floats]
    flags: Mapping[str, Floats]


def _split(split: ConversationGroups, void: Flags, of: _Averaged, resampling: Resampling) -> dict[str, Group]:
    """The groups of one split, by name; `void` [cells] says which contain only void conversations."""
    cells, every = len(split.names), np.arange(len(split.code))

    def measured(named: Mapping[str, Floats]) -> dict[str, list[TurnMeasure]]:
        numbers = [
            GroupedValues(column, every, split.code, cells, range_of(name), reason(name))
            for name, column in named.items()
        ]
        made = ([_of_cell(*pair) for pair in zip(cell, void, strict=True)] for cell in measures(numbers, resampling))
        return dict(zip(named, made, strict=True))

    values, bare = measured(of.values), measured(of.bare)
    shares = [GroupedValues(flag, every, split.code, cells, SHARE) for flag in of.flags.values()]
    counted = dict(zip(of.flags, means(shares, resampling), strict=True))
    sizes = np.bincount(split.code[split.code >= 0], minlength=cells).tolist()
    return {
        name: _group(size, (values, bare), counted, number)
        for number, (name, size) in enumerate(zip(split.names, sizes, strict=True))
        if size
    }


def _of_cell(turn_measure: TurnMeasure, void: bool) -> TurnMeasure:
    """A cell's measure, with the right reason if it has no value."""
    if not void or turn_measure.mean.n:
        return turn_measure
    return TurnMeasure(*(not_computed(VOID, level=estimate.level) for estimate in (turn_measure.mean, turn_measure.sd)))


_Measured = Mapping[str, list[TurnMeasure]]


def _group(size: int, measured: tuple[_Measured, _Measured], counted: Mapping[str, list[Estimate]], cell: int) -> Group:
    def shares(prefix: str, bands: Sequence[tuple[str, float, float]]) -> dict[str, Estimate]:
        return {name: counted[key][cell] for name, _, _ in bands if (key := f"{prefix} {name}") in counted}

    at_cell = [{name: by_cell[cell] for name, by_cell in named.items()} for named in measured]
    return Group(
        conversations=size,
        measures=at_cell[0],
        without_faults=at_cell[1],
        bands=shares("chameleon", CHAMELEON_BANDS),
        reuse_bands=shares("source_reuse", REUSE_BANDS),
        over={bound: counted[key][cell] for bound in OVER if (key := f"over {bound}") in counted},
    )
