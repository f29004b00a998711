"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from dataclasses import replace

from overton.studies.deliberation.figures import endings, form, influences, values
from overton.studies.deliberation.figures.deliberations import deliberation_table
from overton.studies.deliberation.figures.names import Names
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.exhibits import Method, Section

__all__ = ["deliberation_table", "sections"]


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by its reason.

    `judged` says who named values and how well they agree with people and themselves; it stands in every section that
    rests on it.
    """
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
        _signed(values.use(analysis, names), judged),
        _signed(values.inherited(analysis, names), judged),
        _signed(values.similarity(analysis, names), judged),
        influences.crowd(analysis, names),
        *(() if any(one.key == "faults" for one in leading) else form.faults(analysis)),
    ]
    return [section for section in made if section]


def _signed(section: Section | None, judged: str) -> Section | None:
    return replace(section, exhibits=[*section.exhibits, Method(judged)]) if section and judged else section
