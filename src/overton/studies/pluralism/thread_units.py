"""Rows of a table grouped into units. A unit is a model, a thread and a condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.studies.groups import number_groups

KEYS = ("model", "thread", "condition")
"""The columns that identify a unit."""


@dataclass(frozen=True)
class UnitNames:
    """The sorted names of models and threads in several tables."""

    models: tuple[str, ...]
    threads: tuple[str, ...]

    @classmethod
    def of(cls, tables: Iterable[pl.DataFrame]) -> UnitNames:
        """The names in `tables`, which have columns `model` and `thread`."""
        given = list(tables)
        every = (pl.concat([table[name].unique() for table in given]) for name in ("model", "thread"))
        return cls(*(tuple(names.unique().sort().to_list()) for names in every))


@dataclass(frozen=True)
class GroupedRows:
    """The rows of a table in U units.

    codes  three arrays [U] with each unit's model, thread and condition, as indices in `names`
    unit   [rows] the unit of each row
    """

    codes: tuple[Ints, ...]
    names: tuple[tuple[str, ...], ...]
    unit: Ints

    @classmethod
    def of(cls, table: pl.DataFrame, names: UnitNames) -> GroupedRows:
        """Group a table with columns `model`, `thread` and `condition`."""
        conditions = tuple(table["condition"].unique().sort().to_list())
        levels = (names.models, names.threads, conditions)
        codes = [
            table[name].cast(pl.Enum(list(known))).to_physical().to_numpy().astype(np.int64)
            for name, known in zip(KEYS, levels, strict=True)
        ]
        groups = number_groups(codes)
        return cls(tuple(code[groups.first] for code in codes), levels, groups.of)

    @property
    def units(self) -> int:
        """The number of units, U."""
        return len(self.codes[0])

    def sums(self, values: NDArray[np.generic]) -> Floats:
        """The sum over each unit's rows [U]."""
        return summed(self.unit, self.units, values)

    def table(self, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """A table with a row for each unit and with `columns` [U]. NaN becomes null."""
        keys = {
            name: pl.Series(list(known), dtype=pl.Enum(list(known))).gather(codes)
            for name, codes, known in zip(KEYS, self.codes, self.names, strict=True)
        }
        values = {name: pl.Series(np.asarray(values, float)) for name, values in columns.items()}
        return pl.DataFrame({**keys, **values}).with_columns(pl.col(pl.Float64).fill_nan(None))


def summed(unit: Ints, units: int, weights: NDArray[np.generic] | None = None) -> Floats:
    """The number of rows of each unit, or the sum of their weights [units]."""
    return np.asarray(np.bincount(unit, weights, units), np.float64)
