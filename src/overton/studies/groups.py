"""Groups of rows that have the same values in some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import polars as pl

from overton.statistics.arrays import AnyInts, Flags, Ints

_SPARSE = 8
"""If there are at most this many possible numbers per row, an array marks the numbers that occur. This takes a fraction
of the time of sorting. Otherwise the numbers are sorted."""


class Groups(NamedTuple):
    """The group of each row [N], numbered in sorted order, and the first row of each group [G]."""

    of: Ints
    first: Ints


def number_groups(columns: Sequence[AnyInts]) -> Groups:
    """Group the rows that have the same numbers in all columns."""
    key = columns[0] - columns[0].min(initial=0)
    for column in columns[1:]:
        lowest = int(column.min(initial=0))  # numbers may be negative; each combination needs its own key
        width = int(column.max(initial=0)) - lowest + 1
        if int(key.max(initial=0)) > np.iinfo(np.int64).max // (width + 1) - 1:
            key = _ranks(key)
        key = key * width + column - lowest
    group = _ranks(key)
    first = np.empty(int(group.max(initial=-1)) + 1, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return Groups(group, first)


def _ranks(numbers: AnyInts) -> Ints:
    """Dense ranks, from 0, of non-negative numbers."""
    span = int(numbers.max(initial=-1)) + 1
    if span <= _SPARSE * len(numbers):
        occurs: Flags = np.zeros(span, bool)
        occurs[numbers] = True
        return (np.cumsum(occurs) - 1)[numbers]
    return pl.Series(numbers).rank("dense").cast(pl.Int64).to_numpy() - 1


def numbers_of(column: pl.Series) -> Ints:
    """Numbers in the order of a column's values; null has the lowest number."""
    numbers = column.to_physical() if column.dtype == pl.Enum else column
    if not (numbers.dtype.is_integer() or numbers.dtype == pl.Boolean):
        numbers = numbers.rank("dense")
    whole = numbers.cast(pl.Int64)
    return whole.fill_null(min(cast(int, whole.min() or 0), 0) - 1).to_numpy()
