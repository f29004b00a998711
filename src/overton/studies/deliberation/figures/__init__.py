"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from overton.studies.deliberation.figures import consensus, influence, values, verdicts
from overton.studies.deliberation.figures.choice import choice
from overton.studies.deliberation.figures.deliberations import deliberation_table
from overton.studies.deliberation.figures.names import Names
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.exhibits import Section

__all__ = ["deliberation_table", "sections"]


def sections(analysis: Analysis) -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by its reason."""
    names = Names.of(analysis)
    made = [
        consensus.consensus(analysis, names),
        consensus.changes(analysis, names),
        choice(analysis, names),
        influence.order(analysis, names),
        influence.steering(analysis, names),
        verdicts.verdicts(analysis, names),
        verdicts.archetypes(analysis, names),
        values.use(analysis, names),
        values.inherited(analysis, names),
        values.similarity(analysis, names),
        influence.crowd(analysis, names),
    ]
    return [section for section in made if section]
