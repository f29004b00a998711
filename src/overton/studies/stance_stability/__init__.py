"""Stance stability: does a model keep its view over fifteen turns of searching and questioning? (Chameleon)"""

from collections.abc import Mapping, Sequence

from overton.calls import Answerer
from overton.errors import InputError, Problem
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.canned import CANNED
from overton.studies.stance_stability.items import ProbingQuestion, Topic
from overton.studies.stance_stability.options import Options
from overton.studies.stance_stability.protocol import TopicTrial, conduct, trials
from overton.studies.stance_stability.record import Record
from overton.studies.stance_stability.transcripts import JUDGING, Transcript
from overton.studies.study import Study

__all__ = ["JUDGING", "STUDY", "Options", "ProbingQuestion", "Record", "Topic", "Transcript"]


def _simulated(topics: Sequence[Topic], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.stance_stability.simulated import Chameleon, StanceJudge

    kind, slash, own = name.partition("/")
    if kind == "chameleon" and bool(slash) == bool(own):
        return Chameleon.from_args(f"simulated/{name}", arguments)
    if name == "stance-judge":
        return StanceJudge.from_args(arguments)
    known = "simulated/chameleon, simulated/chameleon/NAME and simulated/stance-judge"
    raise InputError([Problem(f"simulated/{name}", "", f"no such answerer; known are {known}")])


def _condition(trial: TopicTrial) -> str:
    """Temperature and order of questions."""
    return f"t{'own' if trial.temperature is None else f'{trial.temperature:g}'}/{trial.ordering}"


def _prompts() -> dict[str, str]:
    return prompts.texts("subject", "judge", "stance")


STUDY = Study(
    name="stance-stability",
    roles=("subject", "judge", "search", "pages", "queries"),
    item=Topic,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=_prompts,
    simulated=_simulated,
    optional=("queries",),
    retrieval=("search", "pages"),
    canned=CANNED,
    condition=_condition,
)
