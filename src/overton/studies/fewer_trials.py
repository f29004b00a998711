"""What models contribute to measures that depend on the number of trials, as if there had been fewer trials.

A run with T trials contains several with fewer: each block of its trials is one. The mean over such blocks estimates
what a run with as few trials estimates, so that two runs with different numbers of trials can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from overton.studies.comparing import Contribution, Sides, of_pairs
from overton.studies.detecting import part_of, repetitions

if TYPE_CHECKING:
    from overton.studies.measuring import Comparing
    from overton.studies.results import Results

__all__ = ["blocks", "with_fewer_trials"]


def with_fewer_trials(comparing: Comparing, results: Results, how: Any, trials: int) -> Sides:
    """Every model's contributions to the `matched` measures with only `trials` trials, the mean over blocks of them;
    nothing if the study has no such measures, or the repetition of a record is not known."""
    records = results.records
    if comparing.few is None or comparing.trial not in records.columns:
        return {}
    number = repetitions(records[comparing.trial])
    if number.null_count() or not records.height:
        return {}
    found = [
        comparing.few(part_of(results, records.filter((number > first) & (number <= first + trials))), how)
        for first in blocks(max(number.to_list()), trials)
    ]
    models = dict.fromkeys(model for sides in found for model in sides)
    return {model: list(_means([sides[model] for sides in found if model in sides])) for model in models}


def blocks(total: int, size: int) -> list[int]:
    """Where blocks of `size` trials begin that together contain all of `total`, spread evenly; the first is at 0."""
    if size >= total:
        return [0]
    return [round(start) for start in np.linspace(0, total - size, -(-total // size)).tolist()]


def _means(found: Sequence[Sequence[Contribution]]) -> Iterator[Contribution]:
    """The mean over blocks of each item's own value, by measure; an item counts if some block has it."""
    for some in zip(*found, strict=True):
        values: dict[str, list[float]] = {}
        for one in some:
            for name, row in one.place.items():
                values.setdefault(name, []).append(float(one.parts[row, 0] / one.parts[row, 1]))
        mean = np.array([np.mean(own) for own in values.values()])
        measure = some[0].measure
        if values:
            yield of_pairs(measure, list(values), mean, np.ones(len(mean)))
        else:
            yield Contribution(measure, (), np.empty((0, 2)), why=some[0].why)
