"""Sums of measures over cells: units of one kind with the same values of all facets. Every grouping sums some cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.arrays import AnyInts, Flags, Floats, Ints
from overton.statistics.cluster_sums import Numbers, Sums
from overton.statistics.estimate import Range
from overton.statistics.jackknife import Jackknife, Resampling
from overton.studies.groups import Groups, number_groups, numbers_of
from overton.studies.measures import By, Measure
from overton.studies.units import Units

MODEL = ("model", "condition")
ALL_MODELS = pl.lit("", pl.Enum([""]))
_AT_ONCE = 512
"""The most numbers that are computed at a time."""

CLUSTER = "number of the cluster"
"""Numbers are sorted as names are, and grouped in a fraction of the time."""


class Group(NamedTuple):
    """Some units of one model: its condition and their values of the facets, joined by ' / ', and their item."""

    model: str
    condition: str
    item: str | None = None

    def within(self, value: str) -> Group:
        """Those of these units that have a value of one more facet."""
        return self._replace(condition=in_condition(self.condition, [value]))


class MeasureNumbers(NamedTuple):
    """A measure's numbers in G groups of units, and how many clusters say something of it; `deviations` on request."""

    means: Sequence[Estimate] = ()
    clusters: Sequence[int] = ()
    deviations: Sequence[Estimate] = ()


class GroupedCells(NamedTuple):
    """Cells of a kind of units, and the G groups that they belong to.

    cells    those with values of all facets, whose column `clusters` names their clusters; `rows` are their places
             among all cells
    of       the group of each, by its number; `cluster` likewise
    names    each group's model and condition, and its values of the facets
    known    [G] whether a unit of a group is known
    void     [G] whether all of its units are void
    pairs    the clusters of each group
    """

    cells: pl.DataFrame
    rows: Ints
    clusters: str
    of: Ints
    cluster: Ints
    names: Sequence[tuple[str, ...]]
    known: Flags
    void: Flags
    pairs: Groups

    def places(self, values: int) -> dict[tuple[str, str], list[tuple[int, Group]]]:
        """By model and condition, the numbers of its groups that are known, and what they are; of all if groups have no
        `values` of facets."""
        found: dict[tuple[str, str], list[tuple[int, Group]]] = {}
        for at, (model, condition, *own) in enumerate(self.names):
            if self.known[at] or not values:
                found.setdefault((model, condition), []).append((at, Group(model, in_condition(condition, own))))
        return found

    def summed(self, column: str, by: AnyInts, many: int) -> Floats:
        """The sums of a column over the cells of each group, and `by` numbers below `many` [many, G]."""
        return self.sum_by(self.cells[column].to_numpy(), by, many)

    def sum_by(self, values: Floats, by: AnyInts, many: int) -> Floats:
        """The sums of values of cells, likewise."""
        width = len(self.names)
        return np.asarray(np.bincount(by * width + self.of, values, many * width), float).reshape(many, width)

    def count_clusters(self, some: Flags) -> Ints:
        """How many different clusters each group has of some cells [G]."""
        seen = np.zeros(len(self.pairs.first), bool)
        seen[self.pairs.of[some]] = True
        return np.bincount(self.of[self.pairs.first[seen]], minlength=len(self.names))

    def only_cluster(self, at: int, measure: Measure) -> str:
        """The one cluster of a group that says something of a measure."""
        own = self.cells.filter(pl.Series(self.of == at) & (pl.col(f"below {measure.name}") > 0))
        return str(own[self.clusters][0])


@dataclass(frozen=True)
class UnitCells:
    """The units of one kind, the measures of them, and the rule for intervals.

    `parts` are the cells by model if these are all models together: their units are not gone through again.
    """

    units: Units
    measures: Sequence[Measure]
    jackknife: Jackknife
    parts: UnitCells | None = None

    def of_all_models(self, units: Units) -> UnitCells:
        """The same cells with all models together; `units` are the same without the models' names."""
        return replace(self, units=units, parts=self)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each cell, sorted, with the number of its cluster from 1 on.

        `units` counts them, and `sound` those that are not void. Each measure has 'above NAME' and 'below NAME', of
        which numbers are ratios, and if units have weights 'many NAME', how many units have a value.
        """
        if self.parts is not None:
            return self.parts.table.with_columns(model=ALL_MODELS)
        cells, of = self._cells
        summed = {
            name: pl.Series(np.bincount(of, values.fill_null(0.0).to_numpy(), cells.height))
            for name, values in self._values(self.units.table)
        }
        cluster = number_groups([numbers_of(cells[self.units.cluster])]).of + 1
        counted = {"units": pl.Series(np.bincount(of, minlength=cells.height))}
        return cells.with_columns(**counted, **summed, **{CLUSTER: pl.Series(cluster)})

    @cached_property
    def _cells(self) -> tuple[pl.DataFrame, Ints]:
        """A row for each cell with the values that its units share, and the cell of each unit."""
        units, table = self.units, self.units.table
        table = table if "known" in table.columns else table.with_columns(known=pl.lit(value=True))
        keys = list(dict.fromkeys([*MODEL, units.cluster, *units.facets, "known"]))
        named = table.select(keys).with_columns(_as_numbers(table, keys))
        groups = number_groups([numbers_of(column) for column in named])
        return named[groups.first], groups.of

    def _values(self, table: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
        """The values that are summed over units, by the names of their sums."""
        weight = self.units.weight
        if self.units.void:
            yield "sound", (~table["void"]).cast(pl.Float64)
        for measure in self.measures:
            has_value = pl.col(measure.column).is_not_null().cast(pl.Float64)
            parts = {"above": value_of(measure, weight), "below": weight_of(measure, weight)}
            parts |= {"many": has_value} if weight else {}
            made = table.select(**parts)
            yield from ((f"{part} {measure.name}", made[part]) for part in parts)

    @cached_property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.table[CLUSTER].to_numpy().max(initial=0))

    @cached_property
    def over(self) -> Resampling:
        """Intervals over all clusters."""
        return self.jackknife.over(max(self.clusters, 1))

    @cached_property
    def sorted_units(self) -> pl.DataFrame:
        """The units in an order that does not depend on that of records, so that sums are rounded alike."""
        keys = [*MODEL, self.units.cluster, *self.units.facets]
        others = ["void" if self.units.void else "", self.units.weight, *(measure.column for measure in self.measures)]
        texts = self.units.table.select(list(dict.fromkeys(filter(None, (*keys, *others))))).with_columns(as_texts())
        return texts.with_columns(_as_numbers(texts, keys)).sort(keys)

    def grouped(self, by: By) -> GroupedCells:
        """The cells with the group of each: a model and condition, and a value of each facet in `by`."""
        key = tuple(by.values())
        if key not in self._every_grouping:
            self._every_grouping[key] = self._group([*MODEL, *key])
        return self._every_grouping[key]

    @cached_property
    def _every_grouping(self) -> dict[tuple[str, ...], GroupedCells]:
        return {}

    def _group(self, columns: Sequence[str]) -> GroupedCells:
        cells, rows = self.table, np.arange(self.table.height)
        if any(cells[name].null_count() for name in columns):
            rows = np.flatnonzero(cells.select(pl.all_horizontal(pl.col(columns).is_not_null())).to_series())
            cells = cells[rows]
        groups = number_groups([numbers_of(cells[name]) for name in columns])
        cluster, many = cells[CLUSTER].to_numpy() - 1, len(groups.first)
        known: Flags = np.zeros(many, bool)
        known[groups.of[cells["known"].to_numpy()]] = True
        void = np.bincount(groups.of, cells["sound"].to_numpy(), many) == 0 if self.units.void else np.zeros(many, bool)
        names = [tuple(map(str, row)) for row in cells.select(columns)[groups.first].iter_rows()]
        pairs = number_groups([cluster, groups.of])
        return GroupedCells(cells, rows, self.units.cluster, groups.of, cluster, names, known, void, pairs)

    @cached_property
    def denominators(self) -> dict[str, str]:
        """By the name of each measure the first one that has the same denominators in all cells."""
        if self.parts is not None:
            return self.parts.denominators
        parts = ("below", "many") if self.units.weight else ("below",)
        found: dict[str, str] = {}
        for measure in self.measures:
            own = [self.table[f"{part} {measure.name}"] for part in parts]
            same = (
                name
                for name in dict.fromkeys(found.values())
                if all(mine.equals(self.table[f"{part} {name}"]) for part, mine in zip(parts, own, strict=True))
            )
            found[measure.name] = next(same, measure.name)
        return found

    def numbers(
        self, measures: Sequence[Measure], cells: GroupedCells, *, few: str | None = None
    ) -> list[MeasureNumbers]:
        """Each measure's ratio in each group, and unless `few` is None the standard deviation (n - 1) of its units.

        `few` says why a group with a single unit has no standard deviation.
        """
        width = len(cells.names)
        made: dict[str, MeasureNumbers] = {}
        for alike in self._alike(measures, max(1, _AT_ONCE // width)) if width else ():
            sums, (first, *_) = self._sums(alike, cells), alike
            (means,) = self.over.ratios([sums], first.nothing, first.within)
            clusters, deviations = sums.numbers.clusters.astype(int).tolist(), list[Estimate]()
            if few is not None:
                squares = self._squares(alike, cells, sums.numbers.value)
                deviations = self.over.deviations(sums, squares, first.nothing, few, first.within)
            for start, measure in zip(range(0, len(clusters), width), alike, strict=True):
                own = slice(start, start + width)
                made[measure.name] = MeasureNumbers(means[own], clusters[own], deviations[own])
        return [made.get(measure.name, MeasureNumbers()) for measure in measures]

    def _alike(self, measures: Sequence[Measure], most: int) -> Iterator[Sequence[Measure]]:
        """Measures that are computed at once, since they have the same denominators; at most so many."""
        found: dict[tuple[str, Range, str], list[Measure]] = {}
        for measure in measures:
            key = (measure.nothing, measure.within, self.denominators[measure.name])
            found.setdefault(key, []).append(measure)
        for alike in found.values():
            yield from (alike[start : start + most] for start in range(0, len(alike), most))

    def _sums(self, alike: Sequence[Measure], cells: GroupedCells) -> Sums:
        """The sums of measures with the same denominators, by group of clusters that are left out together."""
        over, first = self.over, alike[0].name
        left_out = over.group[cells.cluster]
        below = cells.summed(f"below {first}", left_out, over.groups)
        above = np.concatenate(
            [cells.summed(f"above {measure.name}", left_out, over.groups) for measure in alike], axis=1
        )
        whole, of = below.sum(0), np.tile(np.arange(below.shape[1]), len(alike))
        n = cells.summed(f"many {first}", left_out, over.groups).sum(0) if self.units.weight else whole
        with np.errstate(divide="ignore", invalid="ignore"):
            value = above.sum(0) / whole[of]
        clusters = cells.count_clusters(cells.cells[f"below {first}"].to_numpy() > 0).astype(float)
        return Sums(above - np.nan_to_num(value) * below[:, of], below, of, Numbers(value, n[of], clusters[of]))

    def _squares(self, alike: Sequence[Measure], cells: GroupedCells, means: Floats) -> Floats:
        """The squares about the groups' means that belong to these sums."""
        left_out = self.over.group[cells.cluster]
        squares: list[Floats] = []
        for measure, mean in zip(alike, np.split(means, len(alike)), strict=True):
            within, weight, own = (part[cells.rows] for part in self._within(measure))
            squares.append(cells.sum_by(within + weight * (own - mean[cells.of]) ** 2, left_out, self.over.groups))
        return np.concatenate(squares, axis=1)

    def _within(self, measure: Measure) -> tuple[Floats, Floats, Floats]:
        """Of each cell, its units' squares about their mean, their weight, and that mean (0 without any).

        Squares about the mean of some cells follow from these without a difference of large numbers.
        """
        if self.parts is not None:
            return self.parts._within(measure)
        if measure.name not in self._every_within:
            _, of = self._cells
            above, below = (self.table[f"{part} {measure.name}"].to_numpy() for part in ("above", "below"))
            mean = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
            table = self.units.table.select(weight=weight_of(measure, self.units.weight), value=measure.column)
            off = table["value"].cast(pl.Float64).fill_null(0.0).to_numpy() - mean[of]
            within = np.bincount(of, table["weight"].to_numpy() * off**2, len(above))
            self._every_within[measure.name] = np.asarray(within, float), below, mean
        return self._every_within[measure.name]

    @cached_property
    def _every_within(self) -> dict[str, tuple[Floats, Floats, Floats]]:
        return {}


def join_values(values: Iterable[object]) -> str:
    """Several values as a row of numbers has them."""
    return " / ".join(map(str, values))


def in_condition(condition: str, values: Iterable[object]) -> str:
    """A condition, if there are any, and values of facets in it."""
    return join_values([condition, *values] if condition else values)


def _as_numbers(table: pl.DataFrame, keys: Iterable[str]) -> list[pl.Expr]:
    """Names as categories in the order of texts: these are grouped and sorted in a fraction of the time."""
    named = [name for name in dict.fromkeys(keys) if isinstance(table[name].dtype, pl.String | pl.Categorical)]
    return [pl.col(name).cast(pl.Enum(table[name].drop_nulls().cast(pl.String).unique().sort())) for name in named]


def as_texts() -> pl.Expr:
    """Names that a table of units has as categories, as texts."""
    return pl.col(pl.Enum).cast(pl.String)


def value_of(measure: Measure, weight: str) -> pl.Expr:
    """Each unit's value, times what the unit counts."""
    value = pl.col(measure.column).cast(pl.Float64)
    return value * pl.col(weight) if weight else value


def weight_of(measure: Measure, weight: str) -> pl.Expr:
    """The weight of each unit with a value, 0 of others."""
    has_value = pl.col(measure.column).is_not_null()
    of_value = (pl.when(has_value).then(measure.weight).otherwise(0.0) if measure.weight else has_value).cast(
        pl.Float64
    )
    return of_value * pl.col(weight) if weight else of_value
