"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from dataclasses import replace

from overton.studies.exhibits import Callout, Method, Section
from overton.studies.pluralism.figures.behind import behind
from overton.studies.pluralism.figures.popularity import pairs, ranking
from overton.studies.pluralism.figures.shifts import shifts
from overton.studies.pluralism.figures.threads import thread_table
from overton.studies.pluralism.figures.voices import voices
from overton.studies.pluralism.measures.analysis import Analysis

__all__ = ["sections", "thread_table"]

_UNJUDGED = ("ranking", "pairs")


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by its reason.

    `judged` says who labelled and matched responses and how well they agree with people; it stands in every section
    that rests on it.
    """
    parts = (shifts(analysis), voices(analysis), ranking(analysis), pairs(analysis), behind(analysis))
    first, *others = [_signed(section, judged) for section in parts if section]
    notes = [Callout("\n".join(analysis.notes), "warning", summary=True)] if analysis.notes else []
    return [replace(first, exhibits=[*notes, *first.exhibits]), *others]


def _signed(section: Section, judged: str) -> Section:
    if not judged or section.key in _UNJUDGED:
        return section
    return replace(section, exhibits=[*section.exhibits, Method(judged)])
