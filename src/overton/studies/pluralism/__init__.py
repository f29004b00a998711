"""Pluralism: which views a model voices, and which it drops once it knows yours (PluralEval)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from overton.calls import Answerer
from overton.studies.pluralism import prompts
from overton.studies.pluralism.canned import CANNED
from overton.studies.pluralism.items import ReferenceThread, Thread, ThreadComment, Viewpoint
from overton.studies.pluralism.measuring import MEASURING
from overton.studies.pluralism.nulls import NULLS
from overton.studies.pluralism.options import Options
from overton.studies.pluralism.protocol import ThreadTrial, conduct, trials
from overton.studies.pluralism.questions import QUESTIONS
from overton.studies.pluralism.reading import REFERENCES
from overton.studies.pluralism.record import Record
from overton.studies.simulated import degenerate
from overton.studies.study import Command, Role, Study

if TYPE_CHECKING:
    from overton.studies.pluralism.measures import Analysis

__all__ = ["STUDY", "Options", "Record", "ReferenceThread", "Thread", "ThreadComment", "Viewpoint"]


def _pluralist(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.pluralism.simulated import Pluralist

    return Pluralist.from_args(threads, f"simulated/{name}", arguments)


def _judge(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.pluralism.simulated import PluralistJudge

    return PluralistJudge.from_args(threads, arguments)


def _condition(trial: ThreadTrial) -> str:
    """Experiment, how pairs were chosen if there are any, and condition."""
    return "/".join(filter(None, [trial.experiment, trial.pairing, trial.condition.name]))


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
    row_key=("trial",),
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "pluralist": _pluralist,
        "pluralist/NAME": _pluralist,
        "pluralist-judge": _judge,
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    canned=CANNED,
    condition=_condition,
    measuring=MEASURING,
    questions=QUESTIONS,
    nulls=NULLS,
    commands=(
        Command(
            "threads",
            "Sample threads from forum dumps, step by step, without names and identifiers (PluralEval, table 2).",
            "overton.commands.pluralism:threads",
        ),
        Command(
            "compare-clusterings",
            "Compare two clusterings that one run made of the same threads; a sheet on which people prefer one.",
            "overton.commands.pluralism:compare_clusterings",
        ),
        Command(
            "compare-references",
            "Compare two sets of reference viewpoints (one may be hand-made) by the comments that each names.",
            "overton.commands.pluralism:compare_references",
        ),
        Command(
            "preferences",
            "Read back sheets on which people preferred one of two clusterings.",
            "overton.commands.pluralism:preferences",
        ),
    ),
)
