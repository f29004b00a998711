"""Rows of a table put into units: a model, a thread and a condition each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.studies.groups import number_groups

KEYS = ("model", "thread", "condition")
"""The columns that name a unit."""


@dataclass(frozen=True)
class UnitNames:
    """Models and threads of all tables together, sorted."""

    models: tuple[str, ...]
    threads: tuple[str, ...]

    @classmethod
    def of(cls, tables: Iterable[pl.DataFrame]) -> UnitNames:
        """The names in `tables`, each with `model` and `thread`."""
        given = list(tables)
        every = (pl.concat([table[name].unique() for table in given]) for name in ("model", "thread"))
        return cls(*(tuple(names.unique().sort().to_list()) for names in every))


@dataclass(frozen=True)
class GroupedRows:
    """The rows of a table in U units.

    codes  the model, the thread and the condition of each unit [U], in order, by their places in `names`
    unit   [rows] the unit of each row
    """

    codes: tuple[Ints, ...]
    names: tuple[tuple[str, ...], ...]
    unit: Ints

    @classmethod
    def of(cls, table: pl.DataFrame, names: UnitNames) -> GroupedRows:
        """Of a table with `model`, `thread` and `condition`."""
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
        """U."""
        return len(self.codes[0])

    def sums(self, values: NDArray[np.generic]) -> Floats:
        """The sum over each unit's rows [U]."""
        return summed(self.unit, self.units, values)

    def table(self, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """A row for each unit, with `columns` [U], null where they are NaN."""
        keys = {
            name: pl.Series(list(known), dtype=pl.Enum(list(known))).gather(codes)
            for name, codes, known in zip(KEYS, self.codes, self.names, strict=True)
        }
        values = {name: pl.Series(np.asarray(values, float)) for name, values in columns.items()}
        return pl.DataFrame({**keys, **values}).with_columns(pl.col(pl.Float64).fill_nan(None))


def summed(unit: Ints, units: int, weights: NDArray[np.generic] | None = None) -> Floats:
    """How often each unit occurs, or the sum of its weights [units]."""
    return np.asarray(np.bincount(unit, weights, units), np.float64)
