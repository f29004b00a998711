"""Sums over sums in every scope and kind, by group of threads: what is resampled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.resampling import Numbers, Resampling, Sums
from overton.studies.pluralism.measures.scopes import Cells
from overton.studies.pluralism.measures.units import Where, summed

__all__ = ["NOTHING", "gap", "sums"]

Array = NDArray[np.float64]

NOTHING = "no thread has it"
"""Why there is no number."""

_DIGITS = 12
"""Digits that double precision leaves."""


def sums(cells: Cells, where: Where, above: Array, below: Array, resampling: Resampling) -> Iterator[Sums]:
    """For each of M measures, the sums of `above` over those of `below` [N, M] in every scope and kind."""
    place = resampling.group[where.thread] * cells.many + cells.number(where)
    for columns in zip(above.T, below.T, strict=True):
        parts = [summed(place, resampling.groups * cells.many, one).reshape(-1, cells.many) for one in columns]
        total, count = (cells.over(part.sum(0)) for part in parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.round(total / count, _DIGITS)
        over, under = map(cells.over, parts)
        threads = cells.threads(where.take(columns[1] > 0))
        numbers = Numbers(value, count, threads)
        yield Sums(over - np.nan_to_num(value) * under, under, np.arange(len(value)), numbers)


def gap(first: Sums, second: Sums, resampling: Resampling) -> list[Estimate]:
    """The first measure minus the second, resampled together."""
    (value, *behind), (other, *others) = first.numbers, second.numbers
    least = (np.minimum(*both) for both in zip(behind, others, strict=True))
    numbers = Numbers(np.round(value - other, _DIGITS), *least)
    return resampling.estimates(numbers, resampling.draws(first) - resampling.draws(second), NOTHING)
