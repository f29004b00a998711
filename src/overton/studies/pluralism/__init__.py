"""Pluralism: which views a model voices, and which it drops once it knows yours (PluralEval)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

from overton.studies.pluralism import prompts
from overton.studies.pluralism.canned import CANNED
from overton.studies.pluralism.findings import CLAIMS, warnings
from overton.studies.pluralism.items import ReferenceThread, Thread, ThreadComment, Viewpoint
from overton.studies.pluralism.measures import STUDY_MEASURES, figures, read_records, unread
from overton.studies.pluralism.nulls import NULLS
from overton.studies.pluralism.options import Options
from overton.studies.pluralism.protocol import ThreadTrial, conduct, trials
from overton.studies.pluralism.reading import REFERENCES
from overton.studies.pluralism.record import Record
from overton.studies.pluralism.sheet import SHEET
from overton.studies.pluralism.tables import MATCHES, PAIRS, RANKINGS, SUMMARIES
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.study import Command, Role, Study
from overton.studies.study_report import StudyReport
from overton.studies.warnings import judged_by, names_in

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Analysis
    from overton.studies.results import Results, RunFacts
    from overton.studies.sections import Section, TrialTable

__all__ = ["STUDY", "Options", "Record", "ReferenceThread", "Thread", "ThreadComment", "Viewpoint"]

_PLURALIST = late_respondent("overton.studies.pluralism.simulated:PLURALIST")


def _condition(trial: ThreadTrial) -> str:
    """Experiment, how pairs were chosen if there are any, and condition."""
    return "/".join(filter(None, [trial.experiment, trial.pairing, trial.condition.name]))


def _sections(analysis: Analysis, judged: str, threads: Sequence[ReferenceThread]) -> Sequence[Section]:
    from overton.studies.pluralism.layouts import sections

    return sections(analysis, judged)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    from overton.studies.pluralism.threads import thread_table

    return thread_table(results.records, results.items)
