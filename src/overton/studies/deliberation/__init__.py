"""Deliberation: who changes their mind, who holds out, and why, when models discuss a dilemma over rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from overton.calls import Answerer
from overton.studies.deliberation import prompts
from overton.studies.deliberation.canned import CANNED
from overton.studies.deliberation.items import VERDICTS, CrowdVerdicts, Dilemma, Verdict
from overton.studies.deliberation.measuring import MEASURING
from overton.studies.deliberation.nulls import NULLS
from overton.studies.deliberation.options import Options
from overton.studies.deliberation.precise import BLOCKS
from overton.studies.deliberation.protocol import DilemmaTrial, conduct, trials
from overton.studies.deliberation.questions import SHEET
from overton.studies.deliberation.reading import DILEMMAS
from overton.studies.deliberation.record import Record
from overton.studies.simulated import degenerate
from overton.studies.study import Command, Role, Study

if TYPE_CHECKING:
    from overton.studies.deliberation.measures import Analysis

__all__ = ["STUDY", "VERDICTS", "CrowdVerdicts", "Dilemma", "Options", "Record", "Verdict"]


def _deliberator(dilemmas: Sequence[Dilemma], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.deliberation.simulated import Deliberator

    return Deliberator.from_args(dilemmas, f"simulated/{name}", arguments)


def _values_judge(dilemmas: Sequence[Dilemma], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.deliberation.simulated import ValuesJudge

    return ValuesJudge.from_args(arguments)


def _condition(trial: DilemmaTrial) -> str:
    """Format, goal, and who sits at the table in which order."""
    return f"{trial.format}/{trial.goal}/{'-'.join(map(str, trial.order))}"


STUDY: Study[Dilemma, Options, Record, Analysis] = Study(
    name="deliberation",
    title="Deliberation",
    question="Who changes their mind, who holds out, and why, when models discuss a dilemma over rounds?",
    roles=(
        Role("agent", "Model at the table; the same model may have several seats"),
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
    row_key=("deliberation", "round", "agent"),
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated={
        "deliberator": _deliberator,
        "deliberator/NAME": _deliberator,
        "values-judge": _values_judge,
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    together=True,
    canned=CANNED,
    condition=_condition,
    measuring=MEASURING,
    sheet=SHEET,
    nulls=NULLS,
    blocks=BLOCKS,
    commands=(
        Command(
            "dilemmas",
            "Build dilemmas from forum dumps, step by step (appendix A of the deliberation paper).",
            "overton.commands.deliberation:dilemmas",
        ),
    ),
)
