"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from dataclasses import replace

from overton.studies.exhibits import Method, Section
from overton.studies.stance_stability.figures import behind, conditions
from overton.studies.stance_stability.figures.conversations import conversation_table
from overton.studies.stance_stability.figures.relations import relations
from overton.studies.stance_stability.figures.scores import scores
from overton.studies.stance_stability.figures.traces import traces
from overton.studies.stance_stability.figures.turns import by_turn
from overton.studies.stance_stability.measures.analysis import Analysis

__all__ = ["conversation_table", "sections"]


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by its reason.

    `judged` says who judged and how well they agree with people; it stands in every section, since each rests on it.
    """
    made = [
        scores(analysis),
        relations(analysis),
        by_turn(analysis),
        conditions.temperatures(analysis),
        conditions.domains(analysis),
        conditions.orderings(analysis),
        behind.premise(analysis),
        behind.flips(analysis),
        traces(analysis),
        behind.behind(analysis),
    ]
    return [_signed(section, judged) for section in made if section]


def _signed(section: Section, judged: str) -> Section:
    return replace(section, exhibits=[*section.exhibits, Method(judged)]) if judged else section
