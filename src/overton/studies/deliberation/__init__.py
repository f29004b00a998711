"""Deliberation: who changes their mind, who holds out, and why, when models discuss a dilemma over rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING

from overton.studies.deliberation import prompts
from overton.studies.deliberation.findings import CLAIMS
from overton.studies.deliberation.items import DILEMMAS, VERDICTS, CrowdVerdicts, Dilemma, Verdict
from overton.studies.deliberation.measures import NULLS, STUDY_MEASURES
from overton.studies.deliberation.options import Options
from overton.studies.deliberation.paper import PAPER
from overton.studies.deliberation.planning import CANNED
from overton.studies.deliberation.precision import BLOCKS
from overton.studies.deliberation.protocol import conduct, trials
from overton.studies.deliberation.record import DECISIONS, Record
from overton.studies.deliberation.run_lists import PUBLISHED, list_in
from overton.studies.measurement import Position, UnreadRecords
from overton.studies.reproduction import of_printed
from overton.studies.simulated import degenerate, late_respondent
from overton.studies.study import Role, Study, late
from overton.studies.study_report import StudyReport
from overton.studies.warnings import judged_by, names_in, warn_refusals

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics import Estimate
    from overton.studies.frame import Analysis
    from overton.studies.results import Results
    from overton.studies.sections import Section, TrialTable

__all__ = ["STUDY", "VERDICTS", "CrowdVerdicts", "Dilemma", "Options", "Record", "Verdict"]


_deliberator = late_respondent("overton.studies.deliberation.simulated:deliberator")


def _sections(analysis: Analysis, judged: str, items: Sequence[Dilemma]) -> Sequence[Section]:
    from overton.studies.deliberation.layouts import sections

    return sections(analysis, judged)


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    from overton.studies.deliberation.layouts.answers import deliberation_table

    return deliberation_table(results.records, results.items)


def _judges(results: Results) -> Iterator[str]:
    """Sentences about the judges of values, and about their list of values if it is not the published list. Empty if
    there is no judge."""
    if results.answering("values"):
        yield from judged_by(results, "Judge of values", lambda run: names_in(run, "values"))
        if (values := list_in(results)) is not PUBLISHED:
            yield f"The judge chose from the run's own list of {len(values)} values instead of the published 48."


def _warnings(results: Results, analysis: Analysis) -> Iterator[str]:
    if any(dilemma.crowd is not None and dilemma.crowd.simulated for dilemma in results.items):
        yield "Some of the crowds' verdicts are simulated, so agreement with them is not agreement with people."
    if any(not run.roles.get("values") for run in results.runs):
        yield "No judge named the values behind the explanations, so the report has no numbers about values."
    yield from warn_refusals(results.records, "messages")


def _figures(analysis: Analysis) -> Iterator[tuple[str, Estimate]]:
    yield "consensus", analysis.estimate("consensus")
    yield "rounds_to_consensus", analysis.estimate("rounds_to_consensus")
    for model in analysis.models:
        yield f"changed_{model.removeprefix('inspect/')}", analysis.estimate("changed", model=model)


def _unread(analysis: Analysis) -> Iterator[UnreadRecords]:
    for row in analysis.counts["counts"]:
        if row["model"]:
            yield UnreadRecords(str(row["model"]), "verdicts", int(row["invalid"] or 0), int(row["messages"] or 0))


def _count_unread(records: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Count messages without a readable verdict."""
    came = records.filter(records["failure"].is_null())
    yield "answers_unread", came["verdict"].null_count(), came.height


def _agreed_share(records: Sequence[Record]) -> float:
    failed = {record.deliberation for record in records if record.failure}
    ends = {record.deliberation: record.agreed for record in records if record.last}
    whole = [agreed for name, agreed in ends.items() if name not in failed]
    return sum(whole) / len(whole) if whole else nan


_ALONE = "depend on the judge alone and include its errors"

REPORT = StudyReport(
    blocks=BLOCKS,
    measures=STUDY_MEASURES,
    claims=CLAIMS,
    summary=(
        "Which models change their verdicts, which hold out, and which values are behind the verdicts, when models"
        " discuss everyday moral dilemmas over several rounds."
    ),
    chapters={
        "Do the models agree in the end?": ("consensus", "verdicts", "facets"),
        "Who gives way?": ("changes", "choice", "order", "steering", "archetypes"),
        "Which values do they name?": ("values", "inherited", "similarity"),
        "Do they agree with people?": ("crowd",),
    },
    sections=_sections,
    answers=_answers,
    subject="the values behind any model's verdicts",
    form="constrained decoding put a verdict at the start of every message, so the model always gave a verdict.",
    kinds=(DECISIONS,),
    tables="a table of decisions (.parquet, .csv, .jsonl)",
    figures=_figures,
    overview=late(f"{__name__}.layouts:overview"),
    value=_agreed_share,
    meaning="share of deliberations that end in consensus",
    columns=("deliberation", "round", "agent", "model", "verdict", "failure", "explanation"),
    position=Position("verdict", by="agent"),
    judges=_judges,
    corrects=("value",),
    alone={
        "values": f"How often each value is used, and its differences between models, {_ALONE}.",
        "inherited": f"Values inherited by the authors' definition {_ALONE}.",
        "similarity": f"The tests of differences {_ALONE}.",
    },
    warnings=_warnings,
    counts=_count_unread,
    unread=_unread,
    trial="deliberation",
    said=("similarity", "inherited"),
    reported={"others": True},
    joined=("agents",),
    apart=("deliberation",),
    reproductions=(
        of_printed("deliberation", "Deliberation", "the paper; its discussions were not released", __name__),
    ),
)

STUDY: Study[Dilemma, Options, Record, Analysis] = Study(
    name="deliberation",
    title="Deliberation",
    question="Who changes their mind, who holds out, and why, when models discuss a dilemma over rounds?",
    roles=(
        Role("agent", "Model that takes part (the same model may take part several times)", together=True),
        Role(
            "values",
            "Model that names the values behind each explanation",
            flag="values_judge",
            optional=True,
            judges=True,
            several=True,
        ),
    ),
    items=DILEMMAS,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "deliberator": _deliberator,
        "deliberator/NAME": _deliberator,
        "values-judge": late_respondent("overton.studies.deliberation.simulated:values_judge"),
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    planning=CANNED,
    measuring=REPORT.measuring,
    nulls=NULLS,
    published=PAPER,
)
