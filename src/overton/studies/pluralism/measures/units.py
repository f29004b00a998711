"""What all experiments come down to: numbers of one model about one thread in one condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Names", "Units", "Where", "coded", "in_units", "summed"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Names:
    """Models, threads and communities of all tables together, sorted; `community` [threads] is -1 where not known."""

    models: tuple[str, ...]
    threads: tuple[str, ...]
    communities: tuple[str, ...]
    community: Ints

    @classmethod
    def of(cls, tables: Iterable[pl.DataFrame], communities: Mapping[str, str]) -> Names:
        """The names in `tables`, each with `model` and `thread`."""
        held = [table.select("model", "thread").unique() for table in tables]
        every = pl.concat(held)
        threads = every["thread"].unique().sort()
        known = tuple(sorted({communities[name] for name in threads.to_list() if name in communities}))
        places = {name: place for place, name in enumerate(known)}
        community = [places.get(communities.get(name, ""), -1) for name in threads.to_list()]
        models = every["model"].unique().sort().to_list()
        return cls(tuple(models), tuple(threads.to_list()), known, np.array(community, np.int64))


class Where(NamedTuple):
    """What N numbers are of: a model, a thread, and one of several kinds (conditions, or comparisons), by number."""

    model: Ints
    thread: Ints
    kind: Ints

    def take(self, rows: NDArray[np.generic]) -> Where:
        """Some of them, by number or by flag."""
        return Where(self.model[rows], self.thread[rows], self.kind[rows])


@dataclass(frozen=True)
class Units:
    """U units: one model, one thread, one condition each; `conditions` names the last, which is the kind of `where`.

    A measure is a sum of `above` over a sum of `below`, both [U, M]; where a unit says nothing both are 0. `counts`
    [U, Q] are numbers of things there were. `measures` and `counted` name the columns. `gaps` names differences of two
    measures: its own name, the first's and the second's.
    """

    where: Where
    conditions: tuple[str, ...]
    measures: tuple[str, ...]
    above: Array
    below: Array
    counted: tuple[str, ...]
    counts: Array
    gaps: tuple[tuple[str, str, str], ...] = ()

    @property
    def values(self) -> dict[str, Array]:
        """Each unit's own value of each measure and each gap [U], NaN where it says nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = dict(zip(self.measures, (self.above / self.below).T, strict=True))
        return found | {name: found[first] - found[second] for name, first, second in self.gaps}


def coded(column: pl.Series, names: Iterable[str]) -> Ints:
    """The place in `names`, which has them all, of each cell of a column of texts."""
    return column.cast(pl.Enum(list(names))).to_physical().to_numpy().astype(np.int64)


def in_units(table: pl.DataFrame, names: Names, *last: str) -> tuple[Where, Ints, Ints, tuple[str, ...]]:
    """The units of a table with `model`, `thread` and `condition`, in order of these and of the columns `last`.

    Gives where they are, the rows in order, each of these rows' unit, and the names of the conditions.
    """
    conditions = tuple(table["condition"].unique().sort().to_list())
    levels = {"model": names.models, "thread": names.threads, "condition": conditions}
    codes = Where(*(coded(table[name], known) for name, known in levels.items()))
    order = np.lexsort([*(table[name].to_numpy() for name in reversed(last)), *reversed(codes)])
    rows = codes.take(order)
    new = np.ones(len(order), bool)
    new[1:] = np.any([code[1:] != code[:-1] for code in rows], axis=0)
    return rows.take(new), order, np.cumsum(new) - 1, conditions


def summed(unit: Ints, units: int, weights: NDArray[np.generic] | None = None) -> Array:
    """How often each unit occurs, or the sum of its weights [units]."""
    return np.asarray(np.bincount(unit, weights, units), np.float64)
