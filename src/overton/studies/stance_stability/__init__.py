"""Stance stability: does a model keep its view over fifteen turns of searching and questioning? (Chameleon)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from overton.calls import Answerer
from overton.studies.simulated import degenerate
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.canned import CANNED
from overton.studies.stance_stability.items import ProbingQuestion, Topic
from overton.studies.stance_stability.measuring import MEASURING
from overton.studies.stance_stability.nulls import NULLS
from overton.studies.stance_stability.options import Options
from overton.studies.stance_stability.precise import BLOCKS
from overton.studies.stance_stability.protocol import TopicTrial, conduct, trials
from overton.studies.stance_stability.questions import SHEET
from overton.studies.stance_stability.reading import TOPICS
from overton.studies.stance_stability.record import Record
from overton.studies.stance_stability.transcripts import JUDGING
from overton.studies.study import Role, Study

if TYPE_CHECKING:
    from overton.studies.stance_stability.measures import Analysis

__all__ = ["JUDGING", "STUDY", "Options", "ProbingQuestion", "Record", "Topic"]


def _chameleon(topics: Sequence[Topic], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.stance_stability.simulated import Chameleon

    return Chameleon.from_args(f"simulated/{name}", arguments)


def _judge(topics: Sequence[Topic], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.stance_stability.simulated import StanceJudge

    return StanceJudge.from_args(arguments)


def _condition(trial: TopicTrial) -> str:
    """Temperature and order of the questions."""
    return f"t{'own' if trial.temperature is None else f'{trial.temperature:g}'}/{trial.ordering}"


def _prompts() -> dict[str, str]:
    return prompts.texts("subject", "judge", "stance")


STUDY: Study[Topic, Options, Record, Analysis] = Study(
    name="stance-stability",
    title="Stance stability",
    question="Does a model keep its view over a conversation of searching and questioning? (Chameleon)",
    roles=(
        Role("subject", "Model to measure", flag="model"),
        Role("judge", "Model that reads the stance of every answer", judges=True, several=True),
        Role(
            "search",
            "starter, index/DIR, archive/RUN, serper, brave or searxng/http://HOST:PORT",
            retrieves="search",
            usual="starter",
        ),
        Role(
            "pages",
            "starter, index/DIR, archive/RUN or web; by default the one that goes with the search",
            retrieves="pages",
        ),
        Role("queries", "Model that writes the queries for all; by default each model writes its own", optional=True),
    ),
    items=TOPICS,
    options=Options,
    record=Record,
    row_key=("conversation", "turn"),
    trials=trials,
    conduct=conduct,
    prompts=_prompts,
    simulated={
        "chameleon": _chameleon,
        "chameleon/NAME": _chameleon,
        "degenerate": degenerate,
        "degenerate/NAME": degenerate,
        "stance-judge": _judge,
    },
    canned=CANNED,
    condition=_condition,
    measuring=MEASURING,
    sheet=SHEET,
    nulls=NULLS,
    blocks=BLOCKS,
)
