"""The report of deliberation: its sections, in reading order.

Numbers are of settings, which the layouts of models and conditions (`overton.studies.layouts`) do not name, so sections
are functions that look them up among the analysis' rows.
"""

from __future__ import annotations

from overton.studies.deliberation.layouts import endings, influences, values
from overton.studies.deliberation.layouts.numbers import ReportSource
from overton.studies.frame import Analysis
from overton.studies.sections import Section
from overton.studies.warnings import with_faults


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by the reason.

    `judged` says who named values and how well they agree with people and themselves; it appears in every section that
    depends on it.
    """
    source = ReportSource(analysis)
    of_values = (section(source) for section in (values.use, values.inherited, values.similarity))
    made = [
        endings.consensus(source),
        endings.changes(source),
        influences.choice(source),
        influences.order(source),
        influences.steering(source),
        endings.verdicts(source),
        endings.archetypes(source),
        *(section and section.signed(judged) for section in of_values),
        influences.crowd(source),
    ]
    return with_faults(made, influences.faults(source), analysis.warnings)
