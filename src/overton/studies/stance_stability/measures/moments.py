"""Sums over conversations, by group of them and by cell: what means and deviations are resampled from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moments", "Values", "joined", "summed"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


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


@dataclass(frozen=True)
class Moments:
    """Sums over a cell's numbers with `centre`, their mean, taken off: single precision then is enough to resample.

    `count`, `total` and `square` are [groups, cells]; `units` [cells] counts what is resampled behind each cell.
    """

    count: Array
    total: Array
    square: Array
    units: Array
    centre: Array
    share: NDArray[np.bool_]

    @property
    def sums(self) -> tuple[Array, Array, Array]:
        """The sums over all groups [cells]."""
        return self.count.sum(0), self.total.sum(0), self.square.sum(0)


def summed(of: Values, unit: Ints | None, group: Ints, groups: int) -> Moments:
    """The moments of `of`; `unit` and `group` [N] are those of each conversation, None where each is its own unit."""
    use = np.isfinite(of.values) & (of.cell >= 0)
    kept, cell, conversation = of.values, of.cell, of.conversation
    if not use.all():
        kept, cell, conversation = kept[use], cell[use], conversation[use]
    with np.errstate(invalid="ignore"):
        centre = np.bincount(cell, kept, of.cells) / np.bincount(cell, minlength=of.cells)
    kept = kept - centre[cell]
    flat, shape = group[conversation] * of.cells + cell, (groups, of.cells)
    parts = [np.bincount(flat, part, groups * of.cells).reshape(shape) for part in (None, kept, kept**2)]
    count, total, square = (np.asarray(part, float) for part in parts)
    units = count.sum(0) if unit is None else _units(unit[conversation], cell, of.cells)
    return Moments(count, total, square, units, centre, np.full(of.cells, of.share, bool))


def _units(unit: Ints, cell: Ints, cells: int) -> Array:
    """How many different units each cell has."""
    widest = int(unit.max(initial=0)) + 1
    pairs = np.sort(cell * widest + unit)  # np.unique hashes, which is many times slower here
    first = np.r_[True, np.diff(pairs) > 0][: len(pairs)]
    return np.bincount(pairs[first] // widest, minlength=cells).astype(float)


def joined(parts: Sequence[Moments]) -> Moments:
    """Cells side by side."""
    fields = ("count", "total", "square", "units", "centre", "share")
    return Moments(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in fields))
