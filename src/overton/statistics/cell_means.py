"""Means of values of rows in cells, with intervals over the clusters that rows belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cluster_sums import Numbers, Sums
from overton.statistics.estimate import ANYTHING, Estimate, Range
from overton.statistics.jackknife import Resampling

_SPARSE = 64
"""Pairs of which fewer than one in so many occurs are sorted; otherwise those that occur are marked, which takes a
fraction of the time."""

_DIGITS = 12
"""Digits that double precision leaves."""


@dataclass(frozen=True)
class CellValues:
    """Numbers to be averaged in cells: V of them, each of a row and in a cell (-1 for none).

    NaN is left out. A row has at most one number in a cell. `within` is the range of a number, `nothing` says why a
    cell has none.
    """

    values: Floats
    row: Ints
    cell: Ints
    cells: int
    within: Range = ANYTHING
    nothing: str = "there is no value"


def cell_means(parts: Sequence[CellValues], resampling: Resampling) -> list[list[Estimate]]:
    """The mean of every cell of each part; `n` counts numbers."""
    return [resampling.ratios([cell_sums(part, resampling)], part.nothing, part.within)[0] for part in parts]


def cell_sums(part: CellValues, resampling: Resampling) -> Sums:
    """The sums behind the means of every cell, by group of clusters."""
    use = np.isfinite(part.values) & (part.cell >= 0)
    kept, cell, row = part.values, part.cell, part.row
    if not use.all():
        kept, cell, row = kept[use], cell[use], row[use]
    weight = None if resampling.weight is None else resampling.weight[row]

    def weighted(values: Floats | None) -> Floats | None:
        return values if weight is None else weight if values is None else weight * values

    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, weighted(kept), part.cells) / np.bincount(cell, weight, minlength=part.cells)
    kept = kept - mean[cell]
    shape = (resampling.groups, part.cells)
    flat = resampling.group[row] * part.cells + cell
    sums = (np.bincount(flat, weighted(each), shape[0] * shape[1]).reshape(shape) for each in (None, kept))
    count, total = (np.asarray(each, float) for each in sums)
    many = count.sum(0) if weight is None else np.bincount(cell, minlength=part.cells).astype(float)
    clusters = many if resampling.apart else count_different(resampling.cluster[row], cell, part.cells)
    numbers = Numbers(np.round(mean, _DIGITS), many, np.asarray(clusters, float))
    return Sums(total, count, np.arange(part.cells), numbers)


def count_different(numbers: NDArray[np.integer], cell: Ints, cells: int) -> Ints:
    """How many different numbers, from 0 on, each cell has."""
    widest = int(numbers.max(initial=0)) + 1
    pairs = cell * widest + numbers
    if cells * widest <= _SPARSE * len(pairs):
        occurs: Flags = np.zeros(cells * widest, bool)
        occurs[pairs] = True
        return np.asarray(np.count_nonzero(occurs.reshape(cells, widest), axis=1))
    pairs = np.sort(pairs)  # np.unique hashes, which is many times slower here
    first = np.r_[True, np.diff(pairs) > 0][: len(pairs)]
    return np.bincount(pairs[first] // widest, minlength=cells)
