"""Means and standard deviations of conversations' numbers in cells: of models, domains, turns and the like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.resampling import Numbers, Resampling, Sums
from overton.studies.stance_stability.measures.analysis import Measure

__all__ = ["NOTHING", "Values", "averaged", "means", "measures"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

NOTHING = "no conversation has it"
"""Why there is no average."""

_FEW = "too few conversations"

_DIGITS = 12
"""Digits that double precision leaves."""


@dataclass(frozen=True)
class Values:
    """Numbers to be averaged in cells: V of them, each of a conversation and in a cell (-1 for none).

    A NaN is left out. A conversation has at most one number in a cell. `share` says that they are 0 or 1.
    """

    values: Array
    conversation: Ints
    cell: Ints
    cells: int
    share: bool = False


def means(parts: Sequence[Values], resampling: Resampling) -> list[list[Estimate]]:
    """The mean of every cell of each part, all of them shares or none; `n` counts numbers."""
    share = any(one.share for one in parts)
    return resampling.ratios((averaged(one, resampling) for one in parts), NOTHING, share=share)


def measures(parts: Sequence[Values], resampling: Resampling) -> list[list[Measure]]:
    """The mean and the standard deviation (n - 1) of every cell of each part; `n` counts numbers."""
    made = resampling.moments((_moments(one, resampling) for one in parts), NOTHING, _FEW)
    return [[Measure(*both) for both in zip(*one, strict=True)] for one in made]


def averaged(of: Values, resampling: Resampling) -> Sums:
    """What the means of every cell are made of, by group of conversations."""
    return _moments(of, resampling)[0]


def _moments(of: Values, resampling: Resampling) -> tuple[Sums, Array]:
    """Sums for means, and those of squares [groups, cells] with the means taken off."""
    use = np.isfinite(of.values) & (of.cell >= 0)
    kept, cell, conversation = of.values, of.cell, of.conversation
    if not use.all():
        kept, cell, conversation = kept[use], cell[use], conversation[use]
    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, kept, of.cells) / np.bincount(cell, minlength=of.cells)
    kept = kept - mean[cell]
    shape = (resampling.groups, of.cells)
    flat = resampling.group[conversation] * of.cells + cell
    sums = (np.bincount(flat, part, shape[0] * shape[1]).reshape(shape) for part in (None, kept, kept**2))
    count, total, square = (np.asarray(part, float) for part in sums)
    behind = count.sum(0) if resampling.apart else _clusters(resampling.cluster[conversation], cell, of.cells)
    numbers = Numbers(np.round(mean, _DIGITS), count.sum(0), behind)
    return Sums(total, count, np.arange(of.cells), numbers), square


def _clusters(cluster: NDArray[np.integer], cell: Ints, cells: int) -> Array:
    """How many different clusters each cell has."""
    widest = int(cluster.max(initial=0)) + 1
    pairs = np.sort(cell * widest + cluster)  # np.unique hashes, which is many times slower here
    first = np.r_[True, np.diff(pairs) > 0][: len(pairs)]
    return np.bincount(pairs[first] // widest, minlength=cells).astype(float)
