"""Units of a study: tables with one row for each object that has values, such as a pair of answers or a
conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from overton.studies.items import Facet

if TYPE_CHECKING:
    from overton.statistics import Estimate
    from overton.studies.contributions import Contribution
    from overton.studies.measures import Measure


def with_facets(records: pl.DataFrame, facets: Iterable[Facet], items: Iterable[Any], column: str) -> pl.DataFrame:
    """The records with a text column for each facet, null if the value is unknown. `column` has the items' ids.

    If records have the facet's column, its values stay. Otherwise, each record gets its item's value of the facet.
    """
    every, known = list(items), list[pl.Expr]()
    for facet in facets:
        value = pl.lit(None, pl.String)
        having = [item for item in every if hasattr(item, facet.name)]
        if facet.name not in records.columns and having and facet.divides(having):
            of_item = {item.id: facet.text(getattr(item, facet.name)) for item in having}
            value = pl.col(column).replace_strict(of_item, default=None, return_dtype=pl.String)
        elif facet.name in records.columns and records.schema[facet.name] != pl.Null:
            value = pl.col(facet.name)
            if facet.words:
                value = value.replace_strict(facet.words, default=None, return_dtype=pl.String)
        known.append(value.cast(pl.String).alias(facet.name))
    return records.with_columns(known)


def join_facets(units: Units, facets: Iterable[Facet], items: Sequence[Any]) -> Units:
    """The units with a text column for each missing facet. A unit's value is the facet's value for the item that is the
    unit's cluster."""
    lacking = [facet for facet in facets if facet.name not in units.table.columns]
    if not lacking:
        return units
    table = with_facets(units.table.with_columns(pl.col(units.cluster).cast(pl.String)), lacking, items, units.cluster)
    return replace(units, table=table, facets=(*units.facets, *(facet.name for facet in lacking)))


class Finisher(Protocol):
    """Completes numbers over units with facts that the units' values do not contain."""

    def number(self, measure: Measure, model: str, condition: str, number: Estimate, cluster: str) -> Estimate:
        """The number to display. It may have the study's own reason for a missing number, or an interval if `cluster`
        is the only cluster. `cluster` is '' if there are several clusters or none."""

    def contribution(self, made: Contribution, model: str, condition: str) -> Contribution:
        """The contribution, with the number of answers per item, and with bounds for answers that failed or were
        refused."""


@dataclass(frozen=True)
class Units:
    """One kind of unit.

    table    one row for each unit: `model`, `condition`, the column `cluster`, the columns `facets`, and columns of
             values, null if a unit has no value. The column `known` marks units that were asked and answered; without
             it, all units are known. Tables leave out facet values without a known unit. `failed` marks units that lack
             a value because a call failed, and `refused` units that depend on a reply flagged as a refusal. If the
             field `void` is not '', the column `void` marks units with hardly any usable answer
    cluster  the column with the clusters that intervals are over
    facets   the columns by which numbers may be grouped
    weight   the column with a unit's weight, '' if all units have the same weight; counts of units ignore weights
    sparse   True if numbers are only computed for models and conditions with units of this kind, False if they are
             computed for all models and conditions that were asked
    void     the reason for a missing number if all its units are void, '' if no unit is void
    clusters  the plural word for the clusters that intervals are over, if the word depends on the records; '' if the
             declared word applies
    finisher  completes the numbers, None if this is not necessary

    Units of all models jointly have the `model` '', and units without conditions have the `condition` ''. In rows of
    numbers, both are null.
    """

    table: pl.DataFrame
    cluster: str
    facets: tuple[str, ...] = ()
    weight: str = ""
    void: str = ""
    sparse: bool = False
    clusters: str = ""
    finisher: Finisher | None = None
