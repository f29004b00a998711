"""Layouts that no study declares: of its measures by facet of items, and, if it declares none, by model and by item."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from overton.studies.claims import MEASURES
from overton.studies.frame import Analysis
from overton.studies.items import Facet
from overton.studies.layouts import (
    CONDITION,
    ITEM,
    CountColumn,
    DotsOf,
    MeasureColumn,
    Part,
    RowsOf,
    SectionOf,
    TableOf,
)
from overton.studies.sections import Method
from overton.studies.standard_parts import table_by_facet, tables_by_facet
from overton.studies.study_measures import StudyMeasures


def layouts_of(measures: StudyMeasures[Any]) -> SectionOf:
    """The only section of such a report."""
    return SectionOf(MEASURES, "Measures", list(_parts(measures)))


def facets_of(
    measures: StudyMeasures[Any], analysis: Analysis, layouts: Sequence[SectionOf], shown: Collection[str]
) -> list[SectionOf]:
    """The section of headlines by facets of items that are not `shown` elsewhere, nor by a table or chart of these
    `layouts`; none if there are no such numbers."""
    by_layouts = {part.rows.by for layout in layouts for part in layout.parts if isinstance(part, TableOf | DotsOf)}
    facets = [facet for facet in measures.items.facets if facet.name not in {*shown, *by_layouts}]
    parts = [part for facet in facets for part in _tables_by_facet(measures, analysis, facet)]
    return [SectionOf("facets", f"By group of {measures.items.plural}", parts)] if parts else []


def _tables_by_facet(measures: StudyMeasures[Any], analysis: Analysis, facet: Facet) -> Iterator[TableOf]:
    """A table by model, and one of all models together, each of the headlines that have such numbers."""
    for together in (False, True):
        columns = [
            MeasureColumn(measure.name)
            for measure in measures.headlines[0].measures
            if any((row.model is None) == together for row in analysis.rows_of(measure.name, facet.name))
        ]
        if columns:
            yield table_by_facet(facet, columns, together=together)


def _parts(measures: StudyMeasures[Any]) -> Iterator[Part]:
    first, clusters = measures.first_headline, measures.clusters
    columns = [MeasureColumn(name) for name in measures.declared]
    headlines = [MeasureColumn(measure.name) for measure in measures.headlines[0].measures]
    counts = [CountColumn(name, name.capitalize()) for name in dict.fromkeys((first.units, clusters))]
    counts += [CountColumn("failed", "Failed"), CountColumn("unread", "Unreadable labels")]
    yield TableOf("By model", [*columns, *counts[:2]], summary=True)
    yield TableOf(
        "Conditions against each other",
        [MeasureColumn(column.measure, of="difference") for column in headlines],
        RowsOf(sides=(CONDITION,)),
        note="The first minus the second.",
    )
    if measures.by_facet:
        yield from tables_by_facet(measures.items.facets, columns)
    if any(grouping.by_item and first in grouping.measures for grouping in measures.groupings):
        noun = measures.items.noun
        words = (f"{noun}s", f"By {noun}", f"{first.title} by {noun}.")
        yield DotsOf(*words, MeasureColumn(first.name), RowsOf(ITEM), first.title)
    yield TableOf("Behind the numbers", [columns[0], *counts])
    yield Method(f"Intervals are over {clusters}: there are none below five.")
