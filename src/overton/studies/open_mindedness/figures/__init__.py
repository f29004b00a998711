"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from collections.abc import Mapping

from overton.studies.open_mindedness.figures import bias, scores, shifts, stances
from overton.studies.open_mindedness.figures.trials import trial_table
from overton.studies.open_mindedness.free.figures import free_section
from overton.studies.open_mindedness.measures.analysis import Analysis
from overton.studies.probabilities import probabilities_section, weighing_section
from overton.studies.sections import Section
from overton.studies.warnings import fault_section, with_faults

__all__ = ["sections", "trial_table"]


def sections(analysis: Analysis, *, questions: Mapping[str, str] | None = None) -> list[Section]:
    """The report's sections, in reading order.

    `questions` maps issue ids to their questions, for the tips of charts. What the analysis could not compute is
    replaced by the reason.
    """
    asked = questions or {}
    comparison = analysis.comparison
    made = [
        scores.headline(analysis),
        scores.by_issue(analysis, asked),
        scores.definition(analysis),
        stances.baseline(analysis, asked),
        stances.agreement(comparison) if comparison else None,
        shifts.shifts(analysis),
        shifts.topics(analysis),
        shifts.contrary(analysis),
        shifts.counter(analysis),
        shifts.correlations(comparison) if comparison else None,
        stances.refusals(analysis, asked),
        bias.bias(analysis),
        free_section(analysis),
        shifts.draws(analysis),
        bias.respondent(analysis),
        stances.readings(analysis),
        weighing_section(analysis.weighing),
        probabilities_section(analysis.chances),
    ]
    return with_faults(made, fault_section(analysis.faults, "answers", "Configuration", _FAULTS), analysis.warnings)


_FAULTS = "The score without these answers is shown beside the score."
