"""Units of a study: tables with a row for each thing that has values, such as a pair of answers or a conversation."""

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
    """The records with a text column for each facet, null where it is not known; `column` has the items' ids.

    Records that have the facet's column keep its values; others get those of their items.
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
    """The units with a text column for each facet that they lack: that of the item whose id is their cluster."""
    lacking = [facet for facet in facets if facet.name not in units.table.columns]
    if not lacking:
        return units
    table = with_facets(units.table.with_columns(pl.col(units.cluster).cast(pl.String)), lacking, items, units.cluster)
    return replace(units, table=table, facets=(*units.facets, *(facet.name for facet in lacking)))


class Finisher(Protocol):
    """Completes numbers over units by facts that the units' values do not contain."""

    def number(self, measure: Measure, model: str, condition: str, number: Estimate, cluster: str) -> Estimate:
        """The number that is shown: with the study's own reason if there is none, or with an interval for the only
        `cluster` that it is over. `cluster` is '' if there are several or none."""

    def contribution(self, made: Contribution, model: str, condition: str) -> Contribution:
        """A contribution with the number of answers that an item has, and with bounds for answers that failed or were
        refused."""


@dataclass(frozen=True)
class Units:
    """One kind of unit.

    table    one row for each unit: `model`, `condition`, the column `cluster`, the columns `facets`, and columns of
             values, null where a unit has none. `known` (all if there is no such column) says which units count as
             asked and answered: a facet's value with no such unit is in no table. `failed` and `refused` say which
             units lack a value because a call failed, and which rest on a reply that was flagged as a refusal. If there
             is a reason `void`, the column `void` says which units are
    cluster  the column of what intervals are over
    facets   the columns by which numbers may be grouped
    weight   the column of what a unit counts, '' if all count alike; counts of units do not depend on it
    sparse   whether only models and conditions with such units have numbers of them, and not all that were asked
    void     why there is no number if all units are void, '' if none are
    clusters  what intervals are over, in the plural, if that depends on the records; '' if it is as declared
    finisher  completes their numbers, None if these values are all that is known

    The `model` is '' in units of all models together, and the `condition` '' if there are no conditions: both are null
    in rows.
    """

    table: pl.DataFrame
    cluster: str
    facets: tuple[str, ...] = ()
    weight: str = ""
    void: str = ""
    sparse: bool = False
    clusters: str = ""
    finisher: Finisher | None = None
