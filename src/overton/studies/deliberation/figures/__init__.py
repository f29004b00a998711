"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from overton.studies.deliberation.figures import endings, form, influences, values
from overton.studies.deliberation.figures.deliberations import deliberation_table
from overton.studies.deliberation.figures.names import SettingNames
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.sections import Section
from overton.studies.warnings import with_faults

__all__ = ["deliberation_table", "sections"]


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by the reason.

    `judged` says who named values and how well they agree with people and themselves; it appears in every section that
    depends on it.
    """
    names = SettingNames.of(analysis)
    of_values = (values.use(analysis, names), values.inherited(analysis, names), values.similarity(analysis, names))
    made = [
        endings.consensus(analysis, names),
        endings.changes(analysis, names),
        influences.choice(analysis, names),
        influences.order(analysis, names),
        influences.steering(analysis, names),
        endings.verdicts(analysis, names),
        endings.archetypes(analysis, names),
        *(section and section.signed(judged) for section in of_values),
        influences.crowd(analysis, names),
    ]
    return with_faults(made, form.faults(analysis), analysis.warnings)
