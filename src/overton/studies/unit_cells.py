"""Sums of measures over cells: units of one kind with the same values of all facets. Every grouping sums some cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cell_means import count_different
from overton.statistics.cluster_sums import Numbers, Sums
from overton.statistics.jackknife import Jackknife, Resampling
from overton.studies.measures import By, Measure
from overton.studies.units import Units

MODEL = ("model", "condition")
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


class GroupedCells(NamedTuple):
    """Cells of a kind of units, and the G groups that they belong to.

    cells    those with values of all facets, whose column `clusters` names their clusters
    group    the group of each, by its number; `cluster` likewise
    places   by model and condition, the numbers of its groups that are known, and what they are
    void     [G] whether all of a group's units are void
    """

    cells: pl.DataFrame
    clusters: str
    group: Ints
    cluster: Ints
    places: Mapping[tuple[str, str], Sequence[tuple[int, Group]]]
    void: Flags

    def only_cluster(self, at: int, measure: Measure) -> str:
        """The one cluster of a group that says something of a measure."""
        own = self.cells.filter(pl.Series(self.group == at) & (pl.col(f"below {measure.name}") > 0))
        return str(own[self.clusters][0])


@dataclass(frozen=True)
class UnitCells:
    """The units of one kind, the measures of them, and the rule for intervals."""

    units: Units
    measures: Sequence[Measure]
    jackknife: Jackknife

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each cell, sorted, with the number of its cluster from 1 on.

        `units` counts them, and `sound` those that are not void. Each measure has 'above NAME' and 'below NAME', of
        which numbers are ratios, and if units have weights 'many NAME', how many units have a value.
        """
        units, table = self.units, self.units.table
        table = table if "known" in table.columns else table.with_columns(known=pl.lit(value=True))
        keys = [*MODEL, units.cluster, *units.facets, "known"]
        counted = self.measures if units.weight else []
        return (
            table.with_columns(_as_numbers(table, keys))
            .group_by(keys)
            .agg(
                pl.len().alias("units"),
                *([(~pl.col("void")).sum().alias("sound")] if units.void else []),
                *(value_of(measure, units.weight).sum().alias(f"above {measure.name}") for measure in self.measures),
                *(weight_of(measure, units.weight).sum().alias(f"below {measure.name}") for measure in self.measures),
                *(pl.col(measure.column).count().alias(f"many {measure.name}") for measure in counted),
            )
            .sort(keys)
            .with_columns(pl.col(units.cluster).to_physical().rank("dense").cast(pl.Int64).alias(CLUSTER))
        )

    @cached_property
    def over(self) -> Resampling:
        """Intervals over all clusters."""
        return self.jackknife.over(max(self.table[CLUSTER].n_unique(), 1))

    @cached_property
    def sorted_units(self) -> pl.DataFrame:
        """The units in an order that does not depend on that of records, so that sums are rounded alike."""
        return self.units.table.with_columns(as_texts()).sort(*MODEL, self.units.cluster, *self.units.facets)

    def grouped(self, by: By) -> GroupedCells:
        """The cells with the group of each: a model and condition, and a value of each facet in `by`."""
        key = tuple(by.values())
        if key not in self._every_grouping:
            self._every_grouping[key] = self._group(by)
        return self._every_grouping[key]

    @cached_property
    def _every_grouping(self) -> dict[tuple[str, ...], GroupedCells]:
        return {}

    def _group(self, by: By) -> GroupedCells:
        columns = [*MODEL, *by.values()]
        cells = self.table.drop_nulls(list(by.values()))
        groups = cells.group_by(columns).agg(pl.col("known").any()).sort(columns).with_row_index("at")
        group = cells.select(columns).join(groups, on=columns, how="left", maintain_order="left")["at"]
        places: dict[tuple[str, str], list[tuple[int, Group]]] = {}
        for at, model, condition, *values, known in groups.iter_rows():
            if known or not by:
                own = Group(model, in_condition(condition, values))
                places.setdefault((model, condition), []).append((at, own))
        numbers = group.to_numpy().astype(np.int64)
        sound = cells["sound"].to_numpy() if self.units.void else np.ones(cells.height)
        void = np.bincount(numbers, sound, groups.height) == 0
        return GroupedCells(cells, self.units.cluster, numbers, cells[CLUSTER].to_numpy() - 1, places, void)

    def ratios(self, measure: Measure, cells: GroupedCells) -> tuple[list[Estimate], list[int]]:
        """A measure's ratio in each group, and how many clusters say something of it."""
        width, over = len(cells.void), self.over
        if not width:
            return [], []
        flat = over.group[cells.cluster] * width + cells.group

        def summed(part: str) -> Floats:
            values = cells.cells[f"{part} {measure.name}"].cast(pl.Float64).to_numpy()
            return np.asarray(np.bincount(flat, values, over.groups * width), float).reshape(over.groups, width)

        above, below = summed("above"), summed("below")
        whole = below.sum(0)
        n = summed("many").sum(0) if self.units.weight else whole
        with np.errstate(divide="ignore", invalid="ignore"):
            value = above.sum(0) / whole
        speaks = cells.cells[f"below {measure.name}"].to_numpy() > 0
        clusters = count_different(cells.cluster[speaks], cells.group[speaks], width)
        numbers = Numbers(value, n, clusters.astype(float))
        sums = Sums(above - np.nan_to_num(value) * below, below, np.arange(width), numbers)
        return over.ratios([sums], measure.nothing, measure.within)[0], clusters.tolist()


def join_values(values: Iterable[object]) -> str:
    """Several values as a row of numbers has them."""
    return " / ".join(map(str, values))


def in_condition(condition: str, values: Iterable[object]) -> str:
    """A condition, if there are any, and values of facets in it."""
    return join_values([condition, *values] if condition else values)


def _as_numbers(table: pl.DataFrame, keys: Iterable[str]) -> list[pl.Expr]:
    """Names as categories in the order of texts: these are grouped and sorted in a fraction of the time."""
    named = [name for name in dict.fromkeys(keys) if table.schema[name] in {pl.String, pl.Categorical}]
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
