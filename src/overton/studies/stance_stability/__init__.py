"""Stance stability: does a model keep its view over fifteen turns of searching and questioning? (Chameleon)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from overton.calls import Answerer
from overton.errors import InputError, Problem
from overton.studies.simulated import degenerate
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.canned import CANNED
from overton.studies.stance_stability.items import ProbingQuestion, Topic
from overton.studies.stance_stability.measuring import MEASURING
from overton.studies.stance_stability.nulls import NULLS
from overton.studies.stance_stability.options import Options, remarks, weighed
from overton.studies.stance_stability.precise import BLOCKS
from overton.studies.stance_stability.protocol import TopicTrial, conduct, trials
from overton.studies.stance_stability.reading import TOPICS
from overton.studies.stance_stability.record import Record
from overton.studies.stance_stability.sheet import SHEET
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


_PAGES_OF_STARTER = 3
"""Pages per turn from the starter collection, which has twenty per domain; for the web, the published number."""


def _complete(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Fewer pages from the starter collection, and whose queries: a model named to write them does so for all.

    Raises:
        InputError: shared queries without a model that writes them, or such a model without shared queries.
    """
    written = bool(models.get("queries"))
    queries = options.get("queries", "shared" if written else "own")
    if written != (queries == "shared"):
        reason = "shared queries need a model that writes them" if not written else "the named model would write none"
        raise InputError([Problem("role queries", queries, reason)])
    fewer = {"pages_per_turn": _PAGES_OF_STARTER} if list(models.get("search", ())) == ["starter"] else {}
    return {**fewer, **options, "queries": queries}


def _arguments(options: Options) -> dict[str, dict[str, str]]:
    """A search returns as many hits as there are pages to read."""
    return {"search": {"top": str(options.pages_per_turn)}}


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
    complete=_complete,
    remarks=remarks,
    arguments=_arguments,
    weighs=weighed,
    measuring=MEASURING,
    sheet=SHEET,
    nulls=NULLS,
    blocks=BLOCKS,
)
