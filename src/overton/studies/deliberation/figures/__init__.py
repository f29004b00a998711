"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from overton.studies.deliberation.figures import endings, form, influences, values
from overton.studies.deliberation.figures.deliberations import deliberation_table
from overton.studies.deliberation.figures.names import Names
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.exhibits import Section

__all__ = ["deliberation_table", "sections"]


def sections(analysis: Analysis) -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by its reason."""
    names = Names.of(analysis)
    leading = [*form.first(analysis)]
    made = [
        *leading,
        endings.consensus(analysis, names),
        endings.changes(analysis, names),
        influences.choice(analysis, names),
        influences.order(analysis, names),
        influences.steering(analysis, names),
        endings.verdicts(analysis, names),
        endings.archetypes(analysis, names),
        values.use(analysis, names),
        values.inherited(analysis, names),
        values.similarity(analysis, names),
        influences.crowd(analysis, names),
        *(() if any(one.key == "faults" for one in leading) else form.faults(analysis)),
    ]
    return [section for section in made if section]
