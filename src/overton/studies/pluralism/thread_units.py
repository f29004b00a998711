"""Rows of a table put into units: a model, a thread and a condition each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

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


class Where(NamedTuple):
    """The model, thread and condition of N things, by number."""

    model: Ints
    thread: Ints
    condition: Ints

    def take(self, rows: NDArray[np.generic]) -> Where:
        """Some of them, by number or by flag."""
        return Where(*(codes[rows] for codes in self))


@dataclass(frozen=True)
class GroupedRows:
    """The rows of a table in U units.

    where   the units [U], in order, and `names` their models, threads and conditions
    unit    [rows] the unit of each row
    """

    where: Where
    names: tuple[tuple[str, ...], ...]
    unit: Ints

    @classmethod
    def of(cls, table: pl.DataFrame, names: UnitNames) -> GroupedRows:
        """Of a table with `model`, `thread` and `condition`."""
        conditions = tuple(table["condition"].unique().sort().to_list())
        levels = (names.models, names.threads, conditions)
        codes = Where(*(_codes(table[name], known) for name, known in zip(KEYS, levels, strict=True)))
        groups = number_groups(codes)
        return cls(codes.take(groups.first), levels, groups.of)

    @property
    def units(self) -> int:
        """U."""
        return len(self.where.thread)

    def table(self, columns: Mapping[str, Floats]) -> pl.DataFrame:
        """A row for each unit, with `columns` [U], null where they are NaN."""
        keys = {
            name: pl.Series(list(known), dtype=pl.Enum(list(known))).gather(codes)
            for name, codes, known in zip(KEYS, self.where, self.names, strict=True)
        }
        values = {name: pl.Series(np.asarray(values, float)) for name, values in columns.items()}
        return pl.DataFrame({**keys, **values}).with_columns(pl.col(pl.Float64).fill_nan(None))


def _codes(column: pl.Series, names: Iterable[str]) -> Ints:
    """The place of each cell of a column of texts in `names`, which contains them all."""
    return column.cast(pl.Enum(list(names))).to_physical().to_numpy().astype(np.int64)


def summed(unit: Ints, units: int, weights: NDArray[np.generic] | None = None) -> Floats:
    """How often each unit occurs, or the sum of its weights [units]."""
    return np.asarray(np.bincount(unit, weights, units), np.float64)
