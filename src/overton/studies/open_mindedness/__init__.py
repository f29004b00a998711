"""Open-mindedness: how arguments in context shift a model's stance on contested issues (MillStone)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from overton.calls import Answerer
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase
from overton.studies.open_mindedness.measuring import MEASURING
from overton.studies.open_mindedness.nulls import NULLS
from overton.studies.open_mindedness.options import Options
from overton.studies.open_mindedness.planning import CANNED
from overton.studies.open_mindedness.precision import BLOCKS
from overton.studies.open_mindedness.protocol import conduct, prompt_texts, trials
from overton.studies.open_mindedness.questions import QUESTIONS
from overton.studies.open_mindedness.reading import ISSUES
from overton.studies.open_mindedness.record import Record
from overton.studies.simulated import degenerate
from overton.studies.study import Role, Study

if TYPE_CHECKING:
    from overton.studies.frame import Analysis

__all__ = ["STUDY", "Argument", "Issue", "Options", "Paraphrase", "Record"]


def _open_minded(issues: Sequence[Issue], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.open_mindedness.simulated import OpenMinded

    return OpenMinded.from_args(issues, arguments)


def _judge(issues: Sequence[Issue], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.open_mindedness.simulated import JudgeParameters, labelled
    from overton.studies.simulated import respondent  # a module of this package has the same name

    return respondent(JudgeParameters, labelled)(issues, name, arguments)


"""A small model on all starter issues, in minutes."""


STUDY: Study[Issue, Options, Record, Analysis] = Study(
    name="open-mindedness",
    title="Open-mindedness",
    question="How far do arguments in its context move a model's stance on contested issues? (MillStone)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role("judge", "Model that labels free answers (--answers)", optional=True, judges=True),
    ),
    items=ISSUES,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompt_texts,
    simulated={
        "open-minded": _open_minded,
        "side-judge": _judge,
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
    },
    planning=CANNED,
    measuring=MEASURING,
    questions=QUESTIONS,
    nulls=NULLS,
    blocks=BLOCKS,
)
