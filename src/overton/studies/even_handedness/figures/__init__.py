"""Measures in, tables and charts out: every figure of the study, as sections of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from overton.studies.even_handedness.figures.judge import chances_table, judge_section
from overton.studies.even_handedness.figures.shares import even_section, grades_section, kinds_section
from overton.studies.even_handedness.figures.sides import sides_section
from overton.studies.even_handedness.figures.trials import answer_table
from overton.studies.frame import Analysis
from overton.studies.probabilities import weighing_section
from overton.studies.results import Results
from overton.studies.sections import Section
from overton.studies.self_agreement import self_agreement_lines
from overton.studies.warnings import agreed, fault_section, judged_by, names_in, with_faults

__all__ = ["answer_table", "judges", "sections"]

_FAULTS = "The headline is also given without pairs that have them."


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. `judged` says who judged; it is at the end of each."""
    faults = fault_section(analysis.faults, "answers", "System prompt", _FAULTS)
    return with_faults((section.signed(judged) for section in _sections(analysis)), faults, analysis.warnings)


def _sections(analysis: Analysis) -> Iterator[Section]:
    yield even_section(analysis)
    yield sides_section(analysis)
    yield grades_section(analysis)
    yield kinds_section(analysis)
    yield judge_section(analysis)
    if (found := weighing_section(analysis.weighing)) is not None:
        yield replace(found, exhibits=[*found.exhibits, chances_table(analysis)])


def judges(results: Results, analysis: Analysis) -> str:
    """Who judged, and how well they agree with people and with themselves, one line each."""
    lines = judged_by(results, "Judge", names_in, lambda agreement: agreed(agreement, " as the judge"))
    return "\n".join([*lines, *self_agreement_lines(analysis.self_agreement)])
