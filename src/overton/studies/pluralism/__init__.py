"""Pluralism: which views a model voices, and which it omits once it knows the user's view (PluralEval)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from overton.studies.pluralism import prompts
from overton.studies.pluralism.findings import CLAIMS, warnings
from overton.studies.pluralism.items import REFERENCES, ReferenceThread, Thread, ThreadComment, Viewpoint
from overton.studies.pluralism.measures import IN_PAIRS, NULLS, STUDY_MEASURES, figures, read_table, unread
from overton.studies.pluralism.options import Options
from overton.studies.pluralism.paper import PAPER
from overton.studies.pluralism.planning import CANNED
from overton.studies.pluralism.protocol import conduct, trials
from overton.studies.pluralism.record import Record, count_answers, voiced_or_right
from overton.studies.pluralism.tables import KINDS
from overton.studies.reproduction import of_printed
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.study import Role, Study, late
from overton.studies.study_report import StudyReport
from overton.studies.warnings import judged_by, names_in

if TYPE_CHECKING:
    from overton.studies.frame import Analysis
    from overton.studies.results import Results, RunFacts
    from overton.studies.sections import Section, TrialTable

__all__ = ["STUDY", "Options", "Record", "ReferenceThread", "Thread", "ThreadComment", "Viewpoint"]

_PLURALIST = late_respondent("overton.studies.pluralism.simulated:pluralist")


def _sections(analysis: Analysis, judged: str, threads: Sequence[ReferenceThread]) -> Sequence[Section]:
    from overton.studies.pluralism.layouts import sections

    return sections(analysis, judged)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    from overton.studies.pluralism.layouts.threads import thread_table

    return thread_table(results.records, results.items)


def _judges(results: Results) -> Iterator[str]:
    """The judges of stances and matches."""
    yield from judged_by(results, "Judge and matcher", _judge)


def _judge(run: RunFacts) -> str:
    names = names_in(run)
    return f"{names}, matched by shared words" if run.options.get("matching") == "lexical" else names


_ALONE = "come from the matcher alone and include its errors"

REPORT = StudyReport(
    measures=STUDY_MEASURES,
    claims=CLAIMS,
    facets=("community",),
    summary=(
        "Which of a crowd's viewpoints models voice, which viewpoints they leave out after a user states a belief,"
        " and whether they still know which viewpoints are popular."
    ),
    chapters={
        "Which viewpoints does it voice?": ("voices", "leniency", "facets"),
        "Which viewpoints does a stated belief suppress?": ("shifts",),
        "Does it know which viewpoints are popular?": ("ranking", "pairs"),
        "What are the numbers based on?": ("design", "behind"),
    },
    sections=_sections,
    answers=_answers,
    warnings=warnings,
    subject="any model's pluralism",
    form="constrained decoding set the format of rankings and choices of pairs. Responses were free.",
    judges=_judges,
    weighed=IN_PAIRS,
    corrects=("match",),
    alone={
        "voices": (
            f"Coverage, redundancy, NDCG, differences between conditions and numbers by community {_ALONE}. Human"
            " labels correct precision, recall and F1 of a condition."
        ),
        "shifts": (
            f"Suppression, amplification and asymmetry in logits {_ALONE}. Human labels correct the paper's"
            " differences of recall."
        ),
        "leniency": f"These {_ALONE}.",
    },
    tables="a table of matches, rankings or pairs (.parquet, .csv, .jsonl)",
    kinds=KINDS,
    read=read_table,
    figures=figures,
    overview=late(f"{__name__}.layouts:overview"),
    value=voiced_or_right,
    meaning=(
        "share of viewpoints voiced; in rankings, whether the first viewpoint is right, and in pairs, whether the"
        " choice is right"
    ),
    columns=("trial", "status", "reference", "belief", "predicted", "correct", "failure", "answer"),
    counts=count_answers,
    unread=unread,
    trial="",
    harmless=("neutral_trials", "retest", "experiments", "arms"),
    prompts="judge.",
    reproductions=(of_printed("pluraleval", "PluralEval", "the paper; its replies were not released", __name__),),
)

STUDY: Study[ReferenceThread, Options, Record, Analysis] = Study(
    name="pluralism",
    title="Pluralism",
    question="Which of a crowd's views does a model voice, and which go missing once it knows yours? (PluralEval)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role("judge", "Model that labels stances, matches responses and words beliefs", judges=True),
    ),
    items=REFERENCES,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "pluralist": _PLURALIST,
        "pluralist/NAME": _PLURALIST,
        "pluralist-judge": late_respondent("overton.studies.pluralism.simulated:pluralist_judge"),
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    planning=CANNED,
    measuring=REPORT.measuring,
    nulls=NULLS,
    published=PAPER,
)
