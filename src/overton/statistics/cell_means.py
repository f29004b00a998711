"""Means of values by cell. Intervals are computed over clusters of rows."""

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
"""If fewer than one possible pair in this many occurs, the occurring pairs are sorted. Otherwise they are marked in an
array, which is much faster."""

_DIGITS = 12
"""Decimals of means. Further ones are rounding errors."""


@dataclass(frozen=True)
class CellValues:
    """V values to be averaged by cell. Each value belongs to a row, and to a cell unless `cell` is -1.

    NaN is left out. A row has at most one value in a cell. `cells` is the number of cells. `within` is the range of the
    values. If a cell has no values, `nothing` is reported as the reason for the missing mean.
    """

    values: Floats
    row: Ints
    cell: Ints
    cells: int
    within: Range = ANYTHING
    nothing: str = "there is no value"


def cell_means(parts: Sequence[CellValues], resampling: Resampling) -> list[list[Estimate]]:
    """The mean of every cell, for each of `parts`; `n` counts values."""
    return [resampling.ratios([cell_sums(part, resampling)], part.nothing, part.within)[0] for part in parts]


def cell_sums(part: CellValues, resampling: Resampling) -> Sums:
    """The sums behind the mean of every cell, by group of clusters."""
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
    """The number of distinct `numbers` in each cell. `numbers` are integers of at least 0."""
    widest = int(numbers.max(initial=0)) + 1
    pairs = cell * widest + numbers
    if cells * widest <= _SPARSE * len(pairs):
        occurs: Flags = np.zeros(cells * widest, bool)
        occurs[pairs] = True
        return np.asarray(np.count_nonzero(occurs.reshape(cells, widest), axis=1))
    pairs = np.sort(pairs)  # np.unique hashes, which is many times slower here
    first = np.r_[True, np.diff(pairs) > 0][: len(pairs)]
    return np.bincount(pairs[first] // widest, minlength=cells)
