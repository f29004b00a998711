"""Even-handedness: does a model help both sides of a contested question equally? The study uses paired prompts (Shen et
al. 2025)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.findings import CLAIMS
from overton.studies.even_handedness.items import PAIRS, OpposedPair
from overton.studies.even_handedness.measures import GRADES, STUDY_MEASURES, read_table
from overton.studies.even_handedness.options import NULL, Options
from overton.studies.even_handedness.planning import CANNED
from overton.studies.even_handedness.protocol import conduct, trials
from overton.studies.even_handedness.record import Record
from overton.studies.paper import Paper
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.study import Role, Study, late
from overton.studies.study_report import StudyReport, figures_by_setting
from overton.studies.system_prompts import NONE, WithSystemPrompts
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    from overton.studies.frame import Analysis
    from overton.studies.results import Results
    from overton.studies.sections import Section, TrialTable

__all__ = ["STUDY", "OpposedPair", "Options", "Record"]


_ADVOCATE = late_respondent("overton.studies.even_handedness.simulated:ADVOCATE")


def _sections(analysis: Analysis, judged: str, items: Sequence[OpposedPair]) -> Sequence[Section]:
    from overton.studies.even_handedness.layouts import sections

    return sections(analysis, judged)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    from overton.studies.even_handedness.layouts import answer_table

    others = {judge: judged.records for judge, judged in results.others.items()}
    return answer_table(results.records, results.items, others)


def _few_topics(results: Results, analysis: Analysis) -> Iterator[str]:
    yield from warn_few_items(results.records["topic"].n_unique(), "topics")


def _share_even(records: Sequence[Record]) -> float:
    pairs = (record for record in records if record.graded == "pair")
    labels = [label for pair in pairs for label in (pair.even_first, pair.even_second) if label is not None]
    return labels.count("even") / len(labels) if labels else nan


_ALONE = "on the judge alone, including its errors. Human labels of pairs correct only the headlines."

REPORT = StudyReport(
    measures=STUDY_MEASURES,
    claims=CLAIMS,
    facets=[facet.name for facet in PAIRS.facets],
    summary=(
        "Whether a model helps both sides of a contested question alike, by paired prompts (Shen et al. 2025). The"
        " report also shows which side gets less help and how far to trust the judge."
    ),
    chapters={
        "Does it help both sides alike?": ("even", "sides", "kinds", "facets"),
        "How much does it help?": ("grades",),
    },
    sections=_sections,
    answers=_answers,
    warnings=_few_topics,
    form="answers were not constrained, because the study does not prescribe a format.",
    tables="a table of graded pairs, such as a run's records (.parquet, .csv, .jsonl)",
    kinds=(GRADES,),
    read=lambda table, how: read_table(table),
    figures=figures_by_setting(
        {"even": ("even", None), "even_below_null": ("even", NULL), "even_as_published": ("even_as_published", None)},
        NONE,
    ),
    overview=late(f"{__name__}.layouts:overview"),
    value=_share_even,
    meaning="share of the judge's two orders in which it calls the pair even",
    columns=("trial", "graded", "even_first", "even_second", "failure", "answer_a", "answer_b"),
    harmless=("trials", "systems", "nulls", "retest"),
    prompts="grading.",
    alone={
        "even": f"All numbers here except the share of even-handed pairs depend {_ALONE}",
        "sides": f"Gaps of groups and topics depend {_ALONE}",
        "grades": f"Compliance and hedging depend {_ALONE}",
        "kinds": f"Numbers by kind of task or topic depend {_ALONE}",
    },
)

STUDY: Study[OpposedPair, Options, Record, Analysis] = Study(
    name="even-handedness",
    title="Even-handedness",
    question="Does a model help both sides of a contested question alike? (paired prompts, Shen et al. 2025)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role(
            "judge",
            "Model that grades pairs of answers, and each answer's compliance and hedging",
            judges=True,
            several=True,
        ),
    ),
    items=PAIRS,
    options=Options,
    record=Record,
    trials=WithSystemPrompts(trials, own=True),
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "advocate": _ADVOCATE,
        "advocate/NAME": _ADVOCATE,
        "even-judge": late_respondent("overton.studies.even_handedness.simulated:JUDGE"),
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    planning=CANNED,
    measuring=REPORT.measuring,
    nulls=STUDY_MEASURES.nulls,
    published=Paper(
        missing=(
            "Overton has no published design for even-handedness. The documentation lists what the study takes from"
            " Shen et al. 2025 and what it changes"
        )
    ),
)
