"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from collections.abc import Mapping

from overton.studies.probabilities import probabilities_section
from overton.studies.sections import Section
from overton.studies.stance_stability.figures import conditions, parts
from overton.studies.stance_stability.figures.conversations import conversation_table, traces
from overton.studies.stance_stability.figures.reuse import by_turn, relations
from overton.studies.stance_stability.figures.scores import behind, flips, premise, scores
from overton.studies.stance_stability.measures.analysis import Analysis

__all__ = ["conversation_table", "sections"]


def sections(analysis: Analysis, judged: str = "", topics: Mapping[str, str] | None = None) -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by the reason.

    `judged` says who judged and how well they agree with people; it appears in every section, as each depends on it.
    `topics` maps ids of topics to words, for charts.
    """
    made = [
        *parts.faults(analysis),
        scores(analysis),
        relations(analysis),
        by_turn(analysis),
        conditions.temperatures(analysis),
        conditions.domains(analysis),
        conditions.orderings(analysis),
        parts.topics(analysis),
        premise(analysis),
        flips(analysis),
        traces(analysis, topics or {}),
        behind(analysis),
        probabilities_section(analysis.chances),
    ]
    return [section.signed(judged) for section in made if section]
