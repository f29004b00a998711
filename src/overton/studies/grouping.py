"""A study's units, with one row per unit, and numbers over groups of units.

A study turns its records into units once (`rows.py`). A unit is, for example, a pair of answers, a conversation, or a
thread in a condition. Each value has its own column. A `Measure` names the column. A `Frame` gives the measure's
estimates, standard deviations and contributions, by model, condition and any other grouping of the units. Intervals are
over clusters, by Overton's usual rule (`overton.statistics.jackknife`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec import structs

from overton.statistics import Estimate
from overton.statistics.arrays import Flags, Floats
from overton.statistics.cluster_sums import ClusterSums, Numbers
from overton.statistics.estimate import not_computed
from overton.statistics.jackknife import Jackknife, Resampling
from overton.studies.contrasts import contrast
from overton.studies.contributions import Contribution, Sides, of_pairs
from overton.studies.frame import Cells, EstimateRow
from overton.studies.measures import By, Grouping, Measure, key_in
from overton.studies.unit_cells import (
    ALL_MODELS,
    CLUSTER,
    MODEL,
    Group,
    UnitCells,
    as_texts,
    in_condition,
    join_values,
    value_of,
    weight_of,
)
from overton.studies.units import Units

_AT_ONCE = 256
"""The number of groups that are computed at a time. Memory use grows with the product of the numbers of groups and
clusters."""


class _Arrays(NamedTuple):
    """Groups of one model and condition, and a measure's sums by cluster and group [clusters, groups]."""

    groups: Sequence[Group]
    sums: Mapping[str, ClusterSums]


@dataclass(frozen=True)
class Frame:
    """The units from some results, and the rule for intervals. Each view of the results, such as the view without
    malformed replies, has its own frame.

    `measures` are all measures that the study declares. A measure is left out if the view lacks the measure's units or
    column. `settings` are pairs of a model and a condition, by default all pairs with units. Each pair has a row for
    each measure, even if the pair has no units. Differences between two sides have rows only for groups with units.
    """

    units: Mapping[str, Units]
    measures: Sequence[Measure]
    jackknife: Jackknife
    settings: Sequence[tuple[str, str]] = ()
    variant: str = "plain"

    def __post_init__(self) -> None:
        if not self.settings:
            object.__setattr__(
                self, "settings", sorted({setting for kind in self.units for setting in self._known[kind]})
            )

    @cached_property
    def _known(self) -> dict[str, list[tuple[str, str]]]:
        """The pairs of a model and a condition that each kind of units has."""
        return {
            kind: units.table.select(MODEL).unique().select(pl.col(MODEL).cast(pl.String)).sort(MODEL).rows()
            for kind, units in self.units.items()
        }

    def has(self, measure: Measure) -> bool:
        """Whether the view has a measure's units and the measure's column."""
        return measure.units in self.units and measure.column in self.units[measure.units].table.columns

    def rows(self, groupings: Iterable[Grouping]) -> Iterator[EstimateRow]:
        """The rows of some groupings, in order."""
        for grouping in groupings:
            frame = self.together if grouping.together else self
            frame = replace(frame, variant=grouping.variant) if grouping.variant else frame
            by, by_item = grouping.by, grouping.by_item
            measures = [measure for measure in grouping.measures if self.has(measure)]
            if grouping.sides != "difference":
                of_units = [measure for measure in measures if not (grouping.sides and measure.signed)]
                also = grouping.names or ()
                yield from frame.estimates(of_units, by, by_item=by_item, also=also, deviations=grouping.deviations)
            if grouping.sides:
                yield from frame.differences(measures, by, by_item=by_item, names=grouping.names)

    @cached_property
    def together(self) -> Frame:
        """The same units, with all models treated as one."""
        units = {
            kind: replace(units, table=units.table.with_columns(model=ALL_MODELS)) for kind, units in self.units.items()
        }
        made = replace(self, units=units, settings=())
        made._every_kind.update({kind: self._cells(kind).of_all_models(of_all) for kind, of_all in units.items()})
        return made

    def settings_of(self, kind: str) -> list[tuple[str, str]]:
        """The pairs of a model and a condition that have rows for a kind of units. The model is '' if the units are
        about all models together."""
        known = self._known[kind]
        if self.units[kind].sparse:
            return known
        models = {model for model, _ in known}
        return [setting for setting in self.settings if not models or bool(setting[0]) != ("" in models)]

    def has_units(self, grouping: Grouping) -> bool:
        """Whether some unit has a value of every facet of the grouping. For a grouping without facets, whether
        the grouping has measures."""
        if not grouping.by:
            return bool(grouping.measures)
        has_values = pl.all_horizontal(pl.col(column).is_not_null() for column in grouping.by.values())
        kinds = {measure.units for measure in grouping.measures if self.has(measure)}
        return any(bool(self.units[kind].table.select(has_values.any()).item()) for kind in kinds)

    def sides_of(self, grouping: Grouping) -> tuple[str, str, str]:
        """The facet whose two values are the grouping's sides, and the names of the first and the second side."""
        (facet, column), kind = list(grouping.by.items())[-1], grouping.measures[0].units
        table = self.units[kind].table
        first, second = (table.filter(pl.col(f"{column}_place") == at)[column].first() for at in (0, 1))
        return facet, str(first), str(second)

    def values_by_id(self, kind: str, groupings: Sequence[Grouping]) -> pl.DataFrame:
        """The units of a kind, by `id`, with a column for the value of each measure.

        If a measure is about another kind of units, its value comes from the unit of that kind with the same `id`. If a
        measure is a difference between two sides, its value comes from the unit of the first side.
        """
        units = self.units[kind]
        table = units.table.select("id", *MODEL, units.cluster).with_columns(as_texts())
        for grouping in groupings:
            for measure in grouping.measures:
                own = self.units[measure.units].table.filter(is_first(grouping) if grouping.sides else True)
                values = own.select(pl.col("id").cast(pl.String), pl.col(measure.column).alias(measure.name))
                table = table.join(values, on="id", how="left", maintain_order="left")
        return table

    def estimates(
        self,
        measures: Iterable[Measure],
        by: By | None = None,
        *,
        by_item: bool = False,
        also: Sequence[str] = (),
        deviations: bool = False,
    ) -> Iterator[EstimateRow]:
        """A row for each measure and group of units.

        A group has one model, one condition and one value of each facet in `by`. With `by_item`, it also has only one
        cluster. `also` lists values of the first facet that get rows even without units. With `deviations`, each group
        has a further row of the variant 'sd': the standard deviation over the group's units (divisor n - 1). Groups by
        item have no such row.
        """
        by, facet = by or {}, _facet(by or {})
        for kind, own in _by_units(measures):
            if by_item or also:
                yield from self._estimates_by_item(kind, own, by, also, by_item=by_item)
                continue
            cells = self._cells(kind).grouped(by)
            made = self._cells(kind).numbers(own, cells, few=f"too few {kind}" if deviations else None)
            places = cells.places(len(by))
            for setting in self.settings_of(kind):
                for measure, numbers in zip(own, made, strict=True):
                    for at, group in places.get(setting, []):
                        shown = self._unless_void(kind, numbers.means[at], void=cells.void[at])
                        row = self._row(measure, facet, group, shown, numbers.clusters[at])
                        yield self._finished(row, measure, setting, partial(cells.only_cluster, at, measure))
                        if deviations:
                            shown = self._unless_void(kind, numbers.deviations[at], void=cells.void[at])
                            yield structs.replace(self._row(measure, facet, group, shown), variant="sd")
                    if not by and setting not in places:
                        yield self._row(measure, facet, Group(*setting), self._none(measure), 0)

    def _unless_void(self, kind: str, number: Estimate, *, void: bool) -> Estimate:
        """Return the number. If all units are void, return a missing number that gives the reason."""
        return not_computed(self.units[kind].void, level=number.level) if void and not number.n else number

    def _finished(
        self, row: EstimateRow, measure: Measure, setting: tuple[str, str], cluster: Callable[[], str]
    ) -> EstimateRow:
        """Let the study complete a row's number with facts that the units' values do not show. If the row has only one
        cluster, `cluster` returns its name."""
        finisher = self.units[measure.units].finisher
        if finisher is None:
            return row
        number = finisher.number(measure, *setting, row.number, cluster() if row.clusters == 1 else "")
        return structs.replace(row, number=number)

    def _estimates_by_item(
        self, kind: str, measures: Sequence[Measure], by: By, also: Sequence[str], *, by_item: bool
    ) -> Iterator[EstimateRow]:
        """The rows of `estimates` if clusters have their own rows, or if some groups have rows even without units."""
        facet = _facet(by)
        for groups, sums in self._arrays(kind, measures, by, by_item=by_item, also=also):
            for measure in measures:
                for group, number, many in zip(groups, *self._ratios(measure, sums[measure.name]), strict=True):
                    yield self._row(measure, facet, group, number, many)

    def differences(
        self,
        measures: Iterable[Measure],
        by: By,
        *,
        by_item: bool = False,
        names: tuple[str, str] | None = None,
    ) -> Iterator[EstimateRow]:
        """A row for each measure and each group of units with two sides: the first side's number minus the second
        side's.

        The two sides are values of the last facet of `by`, in a column COLUMN. A second column, `COLUMN_place`, is 0
        for units of the first side and 1 for units of the second. The jackknife leaves each cluster out of both sides
        at once. If `names` gives the names of the two sides, groups have rows even if they have no units. A `signed`
        measure is already a difference, so its row has the mean over the first side.
        """
        *outer, (_, column) = by.items()
        place, facet = f"{column}_place", _facet(by)
        named = self._names_of_sides(by, by_item=by_item) if names is None else None
        for kind, own in _by_units(measures):
            two = (self._arrays(kind, own, dict(outer), by_item=by_item, side=(place, at)) for at in (0, 1))
            for (groups, first), (_, second) in zip(*two, strict=True):
                sides = [names or (named or {}).get(group) for group in groups]
                kept = [(at, groups[at].within(pair[0]), pair[1]) for at, pair in enumerate(sides) if pair is not None]
                for measure in own:
                    if measure.signed:
                        numbers, clusters = self._ratios(measure, first[measure.name])
                    else:
                        numbers, clusters = self._gaps(measure, first[measure.name], second[measure.name])
                    for at, group, other in kept:
                        yield self._row(measure, facet, group, numbers[at], clusters[at], other)

    def contributions(self, measure: Measure, keep: pl.Expr | None = None) -> dict[tuple[str, str], Contribution]:
        """Each cluster's contribution to a measure, by model and condition. A contribution has the cluster's sums, and
        the weights of its failed and of its refused units. Models and conditions without units are left out. `keep`
        selects the units that count."""
        units = self.units[measure.units]
        value, has_value = value_of(measure, units.weight), pl.col(measure.column).is_not_null()
        weight = pl.col(measure.weight or units.weight) if measure.weight or units.weight else pl.lit(1.0)
        flags = {"failed": pl.col("failed"), "refused": pl.col("refused") & has_value}
        known = {name: flag * weight for name, flag in flags.items() if name in units.table.columns}
        table = units.table if keep is None else units.table.filter(keep)
        summed = (
            table.group_by(*MODEL, units.cluster)
            .agg(
                value.sum().alias("above"),
                weight_of(measure, units.weight).sum().alias("below"),
                *(flag.cast(pl.Float64).sum().alias(name) for name, flag in known.items()),
            )
            .with_columns(pl.lit(0.0).alias(name) for name in flags if name not in known)
        )
        parts = (
            summed.with_columns(as_texts())
            .sort(*MODEL, units.cluster)
            .partition_by(*MODEL, as_dict=True, maintain_order=True)
        )
        found = {
            setting: _contribution(measure, parts[setting], units.cluster)
            for setting in self.settings_of(measure.units)
            if setting in parts
        }
        if units.finisher is None:
            return found
        return {setting: units.finisher.contribution(made, *setting) for setting, made in found.items()}

    def sums(self, measure: Measure, by: By | None = None) -> dict[tuple[str, ...], ClusterSums]:
        """A measure's sums for each model, condition and value of the facets in `by`, sorted. All sums are over the
        same clusters.

        Use them for comparisons of groups that `differences` does not offer.
        """
        kind = self._cells(measure.units)
        cells = kind.grouped(by or {})
        parts = ("above", "below", "many") if kind.units.weight else ("above", "below")
        sums = [cells.summed(f"{part} {measure.name}", cells.cluster, kind.clusters) for part in parts]
        return {name: ClusterSums(*(part[:, at] for part in sums)) for at, name in enumerate(cells.names)}

    def gaps(self, first: Measure, second: Measure, by: By) -> dict[tuple[str, ...], tuple[Estimate, int]]:
        """The first measure minus the second, for each model, condition and value of the facets in `by`. With each
        difference comes a number of clusters: the smaller of the two measures' numbers. The jackknife leaves each
        cluster out of both measures at once."""
        sums = [self.sums(measure, by) for measure in (first, second)]
        alike: dict[bytes, list[tuple[str, ...]]] = {}
        for group in sums[0]:
            speaks = np.logical_or(*(side[group].below > 0 for side in sums))
            alike.setdefault(speaks.tobytes(), []).append(group)
        made: dict[tuple[str, ...], tuple[Estimate, int]] = {}
        for groups in alike.values():
            both = (_side_by_side([side[group] for group in groups]) for side in sums)
            made |= zip(groups, zip(*self._gaps(first, *both), strict=True), strict=True)
        return {group: made[group] for group in sums[0]}

    def against(self, other: Frame, measures: Iterable[Measure], nothing: str) -> Iterator[EstimateRow]:
        """Two rows for each measure, model and condition: the number in `other`, and the number in this frame minus the
        number in `other`.

        `nothing` is the reason to give for a missing number of `other`, in case no unit there has a value.
        """
        for measure in measures:
            there = replace(measure, nothing=nothing)
            yield from other.estimates([there])
            own, others = self.contributions(measure), other.contributions(there)
            for setting in self.settings_of(measure.units):
                both = own.get(setting, no_contribution(measure)), others.get(setting, no_contribution(there))
                yield self._difference(*both, setting, other.variant, wider=True)

    def between_conditions(self, measure: Measure) -> Iterator[EstimateRow]:
        """Each model's number in one condition minus its number in another, for every pair of conditions with
        numbers."""
        settings = self.settings_of(measure.units)
        if len(settings) == len({model for model, _ in settings}):
            return
        own = {setting: made for setting, made in self.contributions(measure).items() if made.items}
        for first, second in combinations(sorted(own), 2):
            if first[0] == second[0]:
                yield self._difference(own[first], own[second], first, second[1], wider=False)

    def _difference(
        self, first: Contribution, second: Contribution, setting: tuple[str, str], against: str, *, wider: bool
    ) -> EstimateRow:
        model, condition = setting
        return EstimateRow(
            model=model or None,
            condition=condition or None,
            measure=first.measure.name,
            against=against,
            clusters=min(len(first.items), len(second.items)),
            number=contrast(first, second, self.jackknife, wider=wider),
        )

    def counts(self, kind: str, by: By) -> pl.DataFrame:
        """The numbers of known units and of their clusters in each group. The columns are `model`, `condition`, the
        facets' columns, `units` and `clusters`. The rows are sorted."""
        columns, cluster = [*MODEL, *by.values()], self.units[kind].cluster
        known = self._cells(kind).table.filter("known").drop_nulls(columns)
        counted = known.group_by(columns).agg(
            pl.col("units").sum().cast(pl.Int64), pl.col(cluster).n_unique().cast(pl.Int64).alias("clusters")
        )
        return counted.sort(columns)

    def unit_counts(self, facets: Iterable[str]) -> tuple[Cells, ...]:
        """The rows of the table 'counts' for the first kind of units.

        A row of a model and condition counts the known units, their clusters, and the units that `failed`. `labels`
        counts the units that did not fail, because Overton requests labels for these units only. `unread` counts labels
        that could not be parsed. A row of a facet's value counts only units and clusters.
        """
        (kind, units), *_ = self.units.items()
        clusters, columns = units.clusters or self.jackknife.unit, units.table.columns
        usual = {"known": pl.lit(value=True), "failed": pl.lit(value=False), "unread": pl.lit(0)}
        counted = (
            units.table.with_columns(**{name: value for name, value in usual.items() if name not in columns})
            .group_by(*MODEL)
            .agg(
                pl.col("known").sum().cast(pl.Int64).alias(kind),
                pl.col(units.cluster).filter("known").n_unique().cast(pl.Int64).alias(clusters),
                failed=pl.col("failed").sum().cast(pl.Int64),
                unread=pl.col("unread").sum().cast(pl.Int64),
                labels=(~pl.col("failed")).sum().cast(pl.Int64),
            )
            .sort(*MODEL)
        )
        cells: list[Cells] = [{"model": row["model"], "facet": None, **row} for row in counted.iter_rows(named=True)]
        for facet in facets:
            for model, condition, value, many, over in self.counts(kind, {facet: facet}).iter_rows():
                where = {"model": model, "facet": facet, "condition": in_condition(condition, [value])}
                cells.append({**where, kind: many, clusters: over})
        return tuple(cells)

    def _cells(self, kind: str) -> UnitCells:
        """The cells of a kind of units. Overton computes them once for all groupings."""
        if kind not in self._every_kind:
            own = [measure for measure in self.measures if measure.units == kind and self.has(measure)]
            self._every_kind[kind] = UnitCells(self.units[kind], own, self.jackknife)
        return self._every_kind[kind]

    @cached_property
    def _every_kind(self) -> dict[str, UnitCells]:
        return {}

    def _arrays(
        self,
        kind: str,
        measures: Sequence[Measure],
        by: By,
        *,
        by_item: bool,
        also: Sequence[str] = (),
        side: tuple[str, int] | None = None,
    ) -> Iterator[_Arrays]:
        """The sums of the groups of each model and condition, some groups at a time. With `side` (a column and its
        value), the sums are over the units of that side only. A group with known units on one side is listed for both
        sides."""
        units = self.units[kind]
        cluster = units.cluster
        columns = [*by.values(), *([cluster] if by_item else [])]
        parts = ("above", "below", "many") if units.weight else ("above", "below")
        cells = self._cells(kind).table.drop_nulls(columns)
        known = cells.filter("known") if side is None else cells.filter(pl.col("known"), pl.col(side[0]).is_not_null())
        groups = known.select(*MODEL, *columns).unique().sort(*MODEL, *columns)
        listed = groups.partition_by(*MODEL, as_dict=True, maintain_order=True) if columns else {}
        summed = (
            (cells if side is None else cells.filter(pl.col(side[0]) == side[1]))
            .group_by(*MODEL, *columns, CLUSTER)
            .agg(pl.col(f"{part} {measure.name}").sum() for measure in measures for part in parts)
            .sort(*MODEL, *columns, CLUSTER)
            .partition_by(*MODEL, as_dict=True, maintain_order=True)
        )
        empty = cells.clear().select(*MODEL, *columns)
        for model, condition in self.settings_of(kind):
            names = listed.get((model, condition), empty).select(columns).rows() if columns else [()]
            names += [(name,) for name in also if (name,) not in names]
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                own = [
                    Group(model, in_condition(condition, row[: len(by)]), str(row[-1]) if by_item else None)
                    for row in some
                ]
                table = summed.get((model, condition))
                yield _Arrays(own, _sums_of(table, measures, columns, some))

    def _names_of_sides(self, by: By, *, by_item: bool) -> dict[Group, tuple[str, str]]:
        """The names of the first and second side of each group that has both sides, from units of all kinds."""
        *outer, (_, column) = by.items()
        found: dict[Group, tuple[str, str]] = {}
        for kind, units in self.units.items():
            if f"{column}_place" not in units.table.columns:
                continue
            keys = [*MODEL, *(name for _, name in outer), *([units.cluster] if by_item else [])]
            sides = self._cells(kind).table.filter("known").drop_nulls([*keys, column]).sort(*keys, f"{column}_place")
            for names, some in (
                sides.select(*keys, column)
                .unique(maintain_order=True)
                .partition_by(keys, as_dict=True, maintain_order=True)
                .items()
            ):
                model, condition, *rest = map(str, names)
                group = Group(model, in_condition(condition, rest[: len(outer)]), rest[-1] if by_item else None)
                first, second = some[column].to_list()[:2]
                found[group] = (str(first), str(second))
        return found

    def _row(  # noqa: PLR0917
        self,
        measure: Measure,
        facet: str | None,
        group: Group,
        number: Estimate,
        clusters: int | None = None,
        against: str | None = None,
    ) -> EstimateRow:
        return EstimateRow(
            model=group.model or None,
            item=group.item,
            facet=facet,
            condition=group.condition or None,
            measure=measure.name,
            variant=self.variant,
            against=against,
            number=number,
            clusters=clusters,
        )

    def _resampling(self, *sums: ClusterSums) -> tuple[Resampling | None, list[ClusterSums]]:
        """The rule for intervals over the clusters with values in any of `sums`, and the sums of these clusters. The
        rule is None if no cluster has a value."""
        speaks: Flags = np.asarray(np.concatenate([each.below for each in sums], axis=1).any(1), bool)
        if not speaks.any():
            return None, list(sums)
        return self.jackknife.over(int(speaks.sum())), [_speaking(each, speaks) for each in sums]

    def _ratios(self, measure: Measure, sums: ClusterSums) -> tuple[list[Estimate], list[int]]:
        over, (kept,) = self._resampling(sums)
        clusters = np.count_nonzero(sums.below, axis=0).tolist()
        if over is None:
            return [self._none(measure)] * sums.below.shape[1], clusters
        return over.ratios([kept], measure.nothing, measure.within)[0], clusters

    def _gaps(self, measure: Measure, first: ClusterSums, second: ClusterSums) -> tuple[list[Estimate], list[int]]:
        """The ratios of `first` minus the ratios of `second`, and the smaller of the two numbers of clusters. The
        jackknife leaves each cluster out of both ratios at once. The `n` of a difference is the smaller of the two
        ratios' `n`."""
        over, kept = self._resampling(first, second)
        clusters = np.minimum(*(np.count_nonzero(each.below, axis=0) for each in (first, second))).tolist()
        if over is None:
            return [self._none(measure)] * first.below.shape[1], clusters
        minuend, subtrahend = (over.sums(each) for each in kept)
        (value, n, behind), (less, m, others) = minuend.numbers, subtrahend.numbers
        numbers = Numbers(value - less, np.minimum(n, m), np.minimum(behind, others))
        moved = over.influence(minuend) - over.influence(subtrahend)
        reach = measure.within[1] - measure.within[0]
        return over.estimates(numbers, moved, measure.nothing, few=measure.nothing, within=(-reach, reach)), clusters

    def _none(self, measure: Measure) -> Estimate:
        return not_computed(measure.nothing, level=self.jackknife.level)


def _speaking(sums: ClusterSums, speaks: Flags) -> ClusterSums:
    """The sums of only those clusters that `speaks` marks."""
    if speaks.all():
        return sums
    return ClusterSums(sums.above[speaks], sums.below[speaks], None if sums.many is None else sums.many[speaks])


def _side_by_side(sums: Sequence[ClusterSums]) -> ClusterSums:
    """Combine the sums of single groups into one array with a column for each group."""
    above, below, many = zip(*sums, strict=True)
    return ClusterSums(np.stack(above, 1), np.stack(below, 1), None if many[0] is None else np.stack(many, 1))


def is_first(grouping: Grouping) -> pl.Expr:
    """A Polars expression that is true for the units on a grouping's first side."""
    return pl.col(f"{list(grouping.by.values())[-1]}_place") == 0


def compared(contributions: Iterable[tuple[Measure, Mapping[tuple[str, str], Contribution]]], plain: str) -> Sides:
    """Contributions by model, for a comparison of models. Each measure in each condition is treated as a separate
    measure.

    The name of the separate measure is the original measure's key, followed by the condition with '_' in place of '-'
    and '+'. The `plain` condition adds nothing to the name, and only measures in the plain condition are headlines. If
    `plain` is '', measures in all conditions can be headlines.
    """
    found: dict[str, list[Contribution]] = {}
    every = [(*setting, measure, made) for measure, by in contributions for setting, made in by.items()]
    for model, condition, measure, made in sorted(every, key=lambda entry: entry[:2]):
        found.setdefault(model, []).append(replace(made, measure=measure_in(measure, condition, plain)))
    return found


def measure_in(measure: Measure, condition: str, plain: str) -> Measure:
    """Make a separate measure for a condition. In the `plain` condition, the measure is unchanged."""
    if condition == plain:
        return measure
    title, leads = f"{measure.title}, {condition}", measure.leads and not plain
    phrase = f"{measure.words} in the condition '{condition}'"
    return replace(measure, name=key_in(measure.name, condition, plain), title=title, leads=leads, phrase=phrase)


def _facet(by: By) -> str | None:
    return join_values(by) or None


def _by_units(measures: Iterable[Measure]) -> Iterator[tuple[str, list[Measure]]]:
    found: dict[str, list[Measure]] = {}
    for measure in measures:
        found.setdefault(measure.units, []).append(measure)
    yield from found.items()


def no_contribution(measure: Measure) -> Contribution:
    """The contribution of a model without any value. It has the measure's reason for a missing number."""
    return Contribution(measure, (), np.empty((0, 2)), why=measure.nothing)


def _contribution(measure: Measure, summed: pl.DataFrame, cluster: str) -> Contribution:
    above, below, failed, refused = (summed[name].to_numpy() for name in ("above", "below", "failed", "refused"))
    made = of_pairs(measure, summed[cluster].to_list(), above, below, failed_weight=failed, refused_weight=refused)
    return made if made.items else no_contribution(measure)


def _sums_of(
    summed: pl.DataFrame | None,
    measures: Sequence[Measure],
    columns: Sequence[str],
    names: Sequence[tuple[str, ...]],
) -> dict[str, ClusterSums]:
    """Each measure's sums by cluster and group. `names` has the values of each group in `columns`."""
    if summed is None:
        return {measure.name: ClusterSums(*(np.zeros((1, len(names))) for _ in range(2))) for measure in measures}
    if columns:
        table = pl.DataFrame(names, schema={name: summed.schema[name] for name in columns}, orient="row")
        summed = summed.join(table.with_row_index("at"), on=list(columns), maintain_order="left")
    clusters, rows = np.unique(summed[CLUSTER].to_numpy(), return_inverse=True)
    at = (rows, summed["at"].to_numpy() if columns else np.zeros(summed.height, np.int64))

    def array(name: str) -> Floats:
        made = np.zeros((max(len(clusters), 1), len(names)))
        made[at] = summed[name].to_numpy()
        return made

    def sums(name: str) -> ClusterSums:
        many = array(f"many {name}") if f"many {name}" in summed.columns else None
        return ClusterSums(array(f"above {name}"), array(f"below {name}"), many)

    return {measure.name: sums(measure.name) for measure in measures}
