"""Stance stability: does a model keep its view over fifteen turns of searching and questioning? (Chameleon)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import nan
from typing import TYPE_CHECKING

from overton.studies.arm_weights import LEFT_OUT, is_weighted
from overton.studies.measurement import Position
from overton.studies.reproduction import of_printed
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.findings import CLAIMS
from overton.studies.stance_stability.items import TOPICS, ProbingQuestion, Topic
from overton.studies.stance_stability.measures import NULLS, STUDY_MEASURES
from overton.studies.stance_stability.options import Options, StanceHow
from overton.studies.stance_stability.paper import PAPER
from overton.studies.stance_stability.planning import CANNED
from overton.studies.stance_stability.precision import BLOCKS
from overton.studies.stance_stability.protocol import conduct, trials
from overton.studies.stance_stability.record import TURNS, Record
from overton.studies.stance_stability.sycon import SYCON, read_turns
from overton.studies.study import Role, Study, late
from overton.studies.study_report import StudyReport
from overton.studies.warnings import warn_refusals

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.frame import Analysis
    from overton.studies.results import Results
    from overton.studies.sections import Section, TrialTable

__all__ = ["STUDY", "Options", "ProbingQuestion", "Record", "Topic"]


_CHAMELEON = late_respondent("overton.studies.stance_stability.simulated:make_chameleon")


def _sections(analysis: Analysis, judged: str, items: Sequence[object]) -> Sequence[Section]:
    from overton.studies.stance_stability.layouts import sections

    return sections(analysis, judged, items)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    from overton.studies.stance_stability.layouts.conversations import conversation_table

    return conversation_table(results.records, analysis, results.items)


_MOST_LISTED = 2_000
"""The largest number of conversations whose measures a report lists. With more, it has only the measures of groups."""


def unlisted(analysis: Analysis) -> tuple[str, ...]:
    """The parts of the results that are left out of a report's data."""
    return ("conversations",) if analysis.listed["conversations"].height > _MOST_LISTED else ()


def _warnings(results: Results, analysis: Analysis) -> Iterator[str]:
    asked = any(run.options.get("shares", "sampled") != "sampled" for run in results.runs)
    if asked and is_weighted(results.records):
        yield f"The judge's certainty about its labels is {LEFT_OUT}."
    yield from warn_refusals(results.records, "answers")


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    for name in ("chameleon", "source_reuse", "confidence", "stance_changes"):
        if (row := analysis.row(name)) is not None:
            yield name, row.number


def _counts(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """The number of answers whose stance is unclear, and of those without a usable label from the judge."""
    came = records.filter(records["failure"].is_null())
    yield "answers_other", came.filter(came["stance"] == "unclear").height, came.height
    yield "judge_unread", came["stance"].null_count(), came.height


def _share_supportive(records: Sequence[Record]) -> float:
    labelled = [record.stance == "supportive" for record in records if record.stance is not None]
    return sum(labelled) / len(labelled) if labelled else nan


_ALONE = (
    "on the judge alone, errors included. Human labels correct only the change rate, Chameleon score and flips of"
    " groups."
)

REPORT: StudyReport[StanceHow, Record] = StudyReport(
    blocks=BLOCKS,
    measures=STUDY_MEASURES,
    claims=CLAIMS,
    facets=("domain", "initial_belief", "debate_strength"),
    summary=(
        "Whether models keep their view in a conversation with searches and further questions, how confidently they"
        " change it, and how few sources they use."
    ),
    chapters={
        "How often did it change its stance?": ("scores", "turns", "flips", "traces"),
        "When does it change its stance?": ("relations", "temperatures", "domains", "topics", "orderings", "facets"),
        "Does it follow the question's premise?": ("premise",),
        "What are the numbers based on?": ("behind",),
    },
    sections=_sections,
    answers=_answers,
    warnings=_warnings,
    without=unlisted,
    subject="any model's stances",
    tables="a table with conversation, turn and stance, or SYCON-Bench's labels as released (.parquet, .csv, .jsonl)",
    kinds=(TURNS,),
    read=read_turns,
    figures=_figures,
    overview=late(f"{__name__}.layouts:overview"),
    value=_share_supportive,
    meaning="share of labelled turns that are supportive",
    columns=("conversation", "turn", "stance", "confidence", "question", "query", "failure", "answer"),
    position=Position("stance"),
    counts=_counts,
    trial="conversation",
    prompts="judge.",
    corrects=("stance", "premise_stance"),
    apart=("conversation",),
    reproductions=(
        SYCON,
        of_printed("chameleon", "The Chameleon Nature of LLMs", "the paper, whose data were not released", __name__),
    ),
    alone={
        "scores": f"Bands, standard deviations, reversals, drift and the score's parts depend {_ALONE}",
        "temperatures": f"The variance between temperatures depends {_ALONE}",
        "relations": f"Scores that are related to re-use depend {_ALONE}",
        "turns": f"The share of conversations that change at each turn depends {_ALONE}",
        "traces": f"Traces depend {_ALONE}",
    },
)

STUDY: Study[Topic, Options, Record, Analysis] = Study(
    name="stance-stability",
    title="Stance stability",
    question="Does a model keep its view over a conversation of searching and questioning? (Chameleon)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role("judge", "Model that labels the stance of every answer", judges=True, several=True),
        Role(
            "search",
            "Search engine: starter, index/DIR, archive/RUN, serper, brave or searxng/http://HOST:PORT",
            retrieves="search",
            usual="starter",
        ),
        Role(
            "pages",
            "Page reader: starter, index/DIR, archive/RUN or web; by default the reader that belongs to --search",
            retrieves="pages",
        ),
        Role(
            "queries",
            "Model that writes the search queries for all models; by default each model writes its own",
            optional=True,
        ),
    ),
    items=TOPICS,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=partial(prompts.texts, "subject", "judge", "stance", "certainty"),
    simulated={
        "chameleon": _CHAMELEON,
        "chameleon/NAME": _CHAMELEON,
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
        "stance-judge": late_respondent("overton.studies.stance_stability.simulated:make_judge"),
    },
    planning=CANNED,
    measuring=REPORT.measuring,
    nulls=NULLS,
    published=PAPER,
)
