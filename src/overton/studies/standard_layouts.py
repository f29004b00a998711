"""The layouts of a study that declares none: its measures by model, by facet of items, and by item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from overton.studies.claims import MEASURES
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
from overton.studies.standard_parts import tables_by_facet
from overton.studies.study_measures import StudyMeasures


def layouts_of(measures: StudyMeasures[Any]) -> SectionOf:
    """The only section of such a report."""
    return SectionOf(MEASURES, "Measures", list(_parts(measures)))


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
