"""The report of deliberation: its sections, in reading order.

Most numbers of deliberations are for settings. The layouts of `overton.studies.layouts` show only models and
conditions. So each section is a function that finds its numbers among the analysis' rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from overton.studies.deliberation.layouts import endings, influences, values
from overton.studies.deliberation.layouts.numbers import ReportSource
from overton.studies.frame import Analysis
from overton.studies.layouts import MeasureColumn, OverviewColumn
from overton.studies.sections import Section
from overton.studies.warnings import with_faults


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. A section that could not be computed is replaced by the reason.

    `judged` describes the judges of values and their agreement with people and themselves. It appears in every section
    that depends on a judge.
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


def overview(analysis: Analysis) -> Sequence[OverviewColumn]:
    """The columns of the report's first table."""
    return [
        MeasureColumn("changed", "Changed its verdict"),
        MeasureColumn("consensus"),
        MeasureColumn("rounds_to_consensus"),
    ]
