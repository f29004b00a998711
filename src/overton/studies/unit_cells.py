"""Sums of measures over cells. A cell contains the units of one kind with the same values of all facets. Every group of
units consists of cells."""

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
"""The largest number of ratios that are computed at once."""

CLUSTER = "number of the cluster"
"""The column with clusters as numbers. They sort like the clusters' names, and grouping them takes a fraction of the
time."""


class Group(NamedTuple):
    """A group of one model's units. `condition` also has the values of facets, joined by ' / '. `item` is None if the
    group is not limited to one item."""

    model: str
    condition: str
    item: str | None = None

    def within(self, value: str) -> Group:
        """The part of the group with this value of one more facet."""
        return self._replace(condition=in_condition(self.condition, [value]))


class MeasureNumbers(NamedTuple):
    """A measure's means in G groups of units, and the number of clusters that contribute to each. `deviations` has
    standard deviations, on request."""

    means: Sequence[Estimate] = ()
    clusters: Sequence[int] = ()
    deviations: Sequence[Estimate] = ()


class GroupedCells(NamedTuple):
    """The cells of one kind of units, and the G groups to which the cells belong.

    cells    the cells that have a value of every facet that defines groups. The column named by `clusters` has each
             cell's cluster, and `rows` are the cells' indices among all cells
    of       the index of each cell's group, and `cluster` the index of each cell's cluster
    names    each group's model and condition, and its values of the facets
    known    [G] whether at least one unit of each group was asked and answered
    void     [G] whether all units of each group are void (see `Units`)
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
        """For each model and condition, the groups with a known unit, and each group's index. If groups are not divided
        by facets (`values` is 0), groups without a known unit are included."""
        found: dict[tuple[str, str], list[tuple[int, Group]]] = {}
        for at, (model, condition, *own) in enumerate(self.names):
            if self.known[at] or not values:
                found.setdefault((model, condition), []).append((at, Group(model, in_condition(condition, own))))
        return found

    def summed(self, column: str, by: AnyInts, many: int) -> Floats:
        """The sums of a column over the cells of each group [many, G]. `by` assigns each cell a number below `many`,
        and cells with different numbers are summed separately."""
        return self.sum_by(self.cells[column].to_numpy(), by, many)

    def sum_by(self, values: Floats, by: AnyInts, many: int) -> Floats:
        """Sums as by `summed`, for an array with a value for each cell."""
        width = len(self.names)
        return np.asarray(np.bincount(by * width + self.of, values, many * width), float).reshape(many, width)

    def count_clusters(self, some: Flags) -> Ints:
        """The number of different clusters in each group [G], over the cells in the mask `some`."""
        seen = np.zeros(len(self.pairs.first), bool)
        seen[self.pairs.of[some]] = True
        return np.bincount(self.of[self.pairs.first[seen]], minlength=len(self.names))

    def only_cluster(self, at: int, measure: Measure) -> str:
        """The only cluster of a group that contributes to a measure."""
        own = self.cells.filter(pl.Series(self.of == at) & (pl.col(f"below {measure.name}") > 0))
        return str(own[self.clusters][0])


@dataclass(frozen=True)
class UnitCells:
    """The units of one kind, their measures, and the rule for intervals.

    If the cells pool all models, `parts` has the same cells by model. The pooled cells are computed from `parts`.
    """

    units: Units
    measures: Sequence[Measure]
    jackknife: Jackknife
    parts: UnitCells | None = None

    def of_all_models(self, units: Units) -> UnitCells:
        """The same cells with all models pooled. `units` are the same units without the models' names."""
        return replace(self, units=units, parts=self)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each cell, sorted, with the number of its cluster from 1.

        `units` counts the cell's units, and `sound` the units that are not void (see `Units`). Each measure has the
        columns 'above NAME' and 'below NAME' for the numerator and the denominator of its numbers. If units have
        weights, 'many NAME' counts the units with a value.
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
        """A row for each cell with the values that all of its units have, and the index of each unit's cell."""
        units, table = self.units, self.units.table
        table = table if "known" in table.columns else table.with_columns(known=pl.lit(value=True))
        keys = list(dict.fromkeys([*MODEL, units.cluster, *units.facets, "known"]))
        named = table.select(keys).with_columns(_as_numbers(table, keys))
        groups = number_groups([numbers_of(column) for column in named])
        return named[groups.first], groups.of

    def _values(self, table: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
        """The values to sum over units, each with the name of its sum."""
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
        """The number of clusters."""
        return int(self.table[CLUSTER].to_numpy().max(initial=0))

    @cached_property
    def over(self) -> Resampling:
        """The rule for intervals, over all clusters."""
        return self.jackknife.over(max(self.clusters, 1))

    @cached_property
    def sorted_units(self) -> pl.DataFrame:
        """The units, sorted so that neither their order nor the rounding errors of sums depend on the order of
        records."""
        keys = [*MODEL, self.units.cluster, *self.units.facets]
        others = ["void" if self.units.void else "", self.units.weight, *(measure.column for measure in self.measures)]
        texts = self.units.table.select(list(dict.fromkeys(filter(None, (*keys, *others))))).with_columns(as_texts())
        return texts.with_columns(_as_numbers(texts, keys)).sort(keys)

    def grouped(self, by: By) -> GroupedCells:
        """The cells with their groups. A group has one model, one condition, and one value of each facet in `by`."""
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
        """For each measure, the first measure with the same denominators in all cells."""
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
        """For each measure and group, the mean, and the standard deviation over the group's units (divisor n - 1).

        `few` is the reason why a group with a single unit has no standard deviation. If `few` is None, no standard
        deviations are computed.
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
        """Lists of at most `most` measures with the same denominators, which can be computed at once."""
        found: dict[tuple[str, Range, str], list[Measure]] = {}
        for measure in measures:
            key = (measure.nothing, measure.within, self.denominators[measure.name])
            found.setdefault(key, []).append(measure)
        for alike in found.values():
            yield from (alike[start : start + most] for start in range(0, len(alike), most))

    def _sums(self, alike: Sequence[Measure], cells: GroupedCells) -> Sums:
        """The sums of measures with the same denominators, for each set of clusters that the jackknife leaves out
        together."""
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
        """The sums of squared deviations from the groups' means, arranged as by `_sums`."""
        left_out = self.over.group[cells.cluster]
        squares: list[Floats] = []
        for measure, mean in zip(alike, np.split(means, len(alike)), strict=True):
            within, weight, own = (part[cells.rows] for part in self._within(measure))
            squares.append(cells.sum_by(within + weight * (own - mean[cells.of]) ** 2, left_out, self.over.groups))
        return np.concatenate(squares, axis=1)

    def _within(self, measure: Measure) -> tuple[Floats, Floats, Floats]:
        """For each cell: the sum of squared deviations of its units from their mean, their weight, and that mean (0
        without values).

        From these numbers, squared deviations from a group's mean can be computed without subtracting one large number
        from another.
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
    """Several values, joined as in rows of numbers."""
    return " / ".join(map(str, values))


def in_condition(condition: str, values: Iterable[object]) -> str:
    """A condition ('' without conditions), joined with values of facets."""
    return join_values([condition, *values] if condition else values)


def _as_numbers(table: pl.DataFrame, keys: Iterable[str]) -> list[pl.Expr]:
    """Convert names to categories in alphabetical order. Grouping and sorting categories takes a fraction of the
    time."""
    named = [name for name in dict.fromkeys(keys) if isinstance(table[name].dtype, pl.String | pl.Categorical)]
    return [pl.col(name).cast(pl.Enum(table[name].drop_nulls().cast(pl.String).unique().sort())) for name in named]


def as_texts() -> pl.Expr:
    """Convert names that are categories in a table of units back to texts."""
    return pl.col(pl.Enum).cast(pl.String)


def value_of(measure: Measure, weight: str) -> pl.Expr:
    """Each unit's value, times the unit's weight."""
    value = pl.col(measure.column).cast(pl.Float64)
    return value * pl.col(weight) if weight else value


def weight_of(measure: Measure, weight: str) -> pl.Expr:
    """The weight of each unit with a value, 0 for other units."""
    has_value = pl.col(measure.column).is_not_null()
    of_value = (pl.when(has_value).then(measure.weight).otherwise(0.0) if measure.weight else has_value).cast(
        pl.Float64
    )
    return of_value * pl.col(weight) if weight else of_value
