"""What all experiments reduce to: numbers for a model, a thread and a condition, and their sums by scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.arrays import Floats, Ints
from overton.statistics.cluster_sums import Numbers, Sums
from overton.statistics.jackknife import DIFFERENCE, Resampling

Scope = tuple[str | None, str | None]
"""A model and a community, None for all."""


@dataclass(frozen=True)
class UnitNames:
    """Models, threads and communities of all tables together, sorted; `community` [threads] is -1 if unknown."""

    models: tuple[str, ...]
    threads: tuple[str, ...]
    communities: tuple[str, ...]
    community: Ints

    @classmethod
    def of(cls, tables: Iterable[pl.DataFrame], communities: Mapping[str, str]) -> UnitNames:
        """The names in `tables`, each with `model` and `thread`."""
        pairs = [table.select("model", "thread").unique() for table in tables]
        every = pl.concat(pairs)
        threads = every["thread"].unique().sort()
        known = tuple(sorted({communities[name] for name in threads.to_list() if name in communities}))
        places = {name: place for place, name in enumerate(known)}
        community = [places.get(communities.get(name, ""), -1) for name in threads.to_list()]
        models = every["model"].unique().sort().to_list()
        return cls(tuple(models), tuple(threads.to_list()), known, np.array(community, np.int64))

    def inside(self, scope: Scope, model: Ints, thread: Ints) -> NDArray[np.bool_]:
        """Which of N numbers, each of a model and a thread, belong to a scope [N]."""
        inside = np.ones(len(thread), bool)
        name, community = scope
        if name is not None:
            inside &= model == self.models.index(name)
        if community is not None:
            inside &= self.community[thread] == self.communities.index(community)
        return inside


class Where(NamedTuple):
    """What N numbers are about: a model, a thread, and one of several kinds (conditions or comparisons), by number."""

    model: Ints
    thread: Ints
    kind: Ints

    def take(self, rows: NDArray[np.generic]) -> Where:
        """Some of them, by number or by flag."""
        return Where(self.model[rows], self.thread[rows], self.kind[rows])


@dataclass(frozen=True)
class ThreadUnits:
    """U units: one model, one thread, one condition each; `conditions` names the last, which is the kind of `where`.

    A measure is a sum of `above` over a sum of `below`, both [U, M]; if a unit says nothing both are 0. `counts` [U, Q]
    are numbers of things that occurred. `measures` and `counted` name the columns. `gaps` names differences between two
    measures: its own name, the first's and the second's. `tallies` has by stance how many viewpoints a unit voices, and
    how many there are, both [U], 0 if a unit says nothing.
    """

    where: Where
    conditions: tuple[str, ...]
    measures: tuple[str, ...]
    above: Floats
    below: Floats
    counted: tuple[str, ...]
    counts: Floats
    gaps: tuple[tuple[str, str, str], ...] = ()
    tallies: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Floats]:
        """Each unit's own value of each measure and each gap [U], NaN if it says nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = dict(zip(self.measures, (self.above / self.below).T, strict=True))
        return found | {name: found[first] - found[second] for name, first, second in self.gaps}


def _codes(column: pl.Series, names: Iterable[str]) -> Ints:
    """The place of each cell of a column of texts in `names`, which contains them all."""
    return column.cast(pl.Enum(list(names))).to_physical().to_numpy().astype(np.int64)


def in_units(table: pl.DataFrame, names: UnitNames, *last: str) -> tuple[Where, Ints, Ints, tuple[str, ...]]:
    """The units of a table with `model`, `thread` and `condition`, in order of these and of the columns `last`.

    Returns what they are about, the rows in order, the unit of each of these rows, and the names of the conditions.
    """
    conditions = tuple(table["condition"].unique().sort().to_list())
    levels = {"model": names.models, "thread": names.threads, "condition": conditions}
    codes = Where(*(_codes(table[name], known) for name, known in levels.items()))
    order = np.lexsort([*(table[name].to_numpy() for name in reversed(last)), *reversed(codes)])
    rows = codes.take(order)
    new = np.ones(len(order), bool)
    new[1:] = np.any([code[1:] != code[:-1] for code in rows], axis=0)
    return rows.take(new), order, np.cumsum(new) - 1, conditions


def summed(unit: Ints, units: int, weights: NDArray[np.generic] | None = None) -> Floats:
    """How often each unit occurs, or the sum of its weights [units]."""
    return np.asarray(np.bincount(unit, weights, units), np.float64)


_Float = TypeVar("_Float", np.float32, np.float64)


class ResultCells:
    """Where numbers belong: each to a model, a community (or to none that is known), and one of `kinds`.

    Scopes are every model in every community, all models, all communities, and both: `scopes` names them in the order
    that `over` uses.
    """

    def __init__(self, names: UnitNames, kinds: int) -> None:
        self._names = names
        self._known = len(names.communities)
        self.shape = (len(names.models), self._known + 1, kinds)
        self.scopes: list[Scope] = [
            (model, community) for model in (None, *names.models) for community in (None, *names.communities)
        ]

    @property
    def many(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape))

    def number(self, where: Where) -> Ints:
        """The cell of each number."""
        community = self._names.community[where.thread]
        community = np.where(community < 0, self._known, community)
        return (where.model * self.shape[1] + community) * self.shape[2] + where.kind

    def over(self, sums: NDArray[_Float]) -> NDArray[_Float]:
        """Sums by cell [..., cells] as sums by scope and kind [..., scopes x kinds]."""
        wide = sums.reshape(*sums.shape[:-1], *self.shape)
        wide = np.concatenate([wide.sum(-2, keepdims=True), wide[..., : self._known, :]], axis=-2)
        wide = np.concatenate([wide.sum(-3, keepdims=True), wide], axis=-3)
        return wide.reshape(*sums.shape[:-1], -1)

    def threads(self, where: Where) -> Floats:
        """How many different threads each scope and kind has; each model has a thread and kind at most once."""
        apart = self.over(self._threads(where)).reshape(1 + self.shape[0], -1)
        if self.shape[0] > 1:
            seen = np.zeros((len(self._names.threads), self.shape[2]), bool)
            seen[where.thread, where.kind] = True
            thread, kind = np.nonzero(seen)
            apart[0] = self.over(self._threads(Where(np.zeros_like(thread), thread, kind))).reshape(apart.shape)[0]
        return apart.reshape(-1)

    def _threads(self, where: Where) -> Floats:
        return summed(self.number(where), self.many)


NOTHING = "no thread has it"
"""Why there is no number."""

_DIGITS = 12
"""Digits that double precision keeps."""


def sums(cells: ResultCells, where: Where, above: Floats, below: Floats, resampling: Resampling) -> Iterator[Sums]:
    """For each of M measures, the sums of `above` over those of `below` [N, M] in every scope and kind."""
    place = resampling.group[where.thread] * cells.many + cells.number(where)
    for columns in zip(above.T, below.T, strict=True):
        parts = [summed(place, resampling.groups * cells.many, column).reshape(-1, cells.many) for column in columns]
        total, count = (cells.over(part.sum(0)) for part in parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.round(total / count, _DIGITS)
        over, under = map(cells.over, parts)
        threads = cells.threads(where.take(columns[1] > 0))
        numbers = Numbers(value, count, threads)
        yield Sums(over - np.nan_to_num(value) * under, under, np.arange(len(value)), numbers)


def gap(first: Sums, second: Sums, resampling: Resampling) -> list[Estimate]:
    """The first share minus the second, leaving each thread out of both."""
    (value, *behind), (other, *others) = first.numbers, second.numbers
    least = (np.minimum(*both) for both in zip(behind, others, strict=True))
    numbers = Numbers(np.round(value - other, _DIGITS), *least)
    moved = resampling.influence(first) - resampling.influence(second)
    return resampling.estimates(numbers, moved, NOTHING, within=DIFFERENCE)
