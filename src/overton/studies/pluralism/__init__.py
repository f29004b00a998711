"""Pluralism: which views a model voices, and which it drops once it knows yours (PluralEval)."""

from collections.abc import Mapping, Sequence

from overton.calls import Answerer
from overton.errors import InputError, Problem
from overton.studies.pluralism import prompts
from overton.studies.pluralism.canned import CANNED
from overton.studies.pluralism.items import Comment, ReferenceThread, Thread, Viewpoint
from overton.studies.pluralism.options import Options
from overton.studies.pluralism.protocol import ThreadTrial, conduct, trials
from overton.studies.pluralism.record import Record
from overton.studies.study import Study

__all__ = ["STUDY", "Comment", "Options", "Record", "ReferenceThread", "Thread", "Viewpoint"]


def _simulated(threads: Sequence[ReferenceThread], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.pluralism.simulated import Pluralist, PluralistJudge

    kind, slash, own = name.partition("/")
    if kind == "pluralist" and bool(slash) == bool(own):
        return Pluralist.from_args(threads, f"simulated/{name}", arguments)
    if name == "pluralist-judge":
        return PluralistJudge.from_args(threads, arguments)
    known = "simulated/pluralist, simulated/pluralist/NAME and simulated/pluralist-judge"
    raise InputError([Problem(f"simulated/{name}", "", f"no such answerer; known are {known}")])


def _condition(trial: ThreadTrial) -> str:
    """Experiment, how pairs were chosen where there are any, and condition."""
    return "/".join(filter(None, [trial.experiment, trial.pairing, trial.condition.name]))


STUDY = Study(
    name="pluralism",
    roles=("subject", "judge"),
    item=ReferenceThread,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated=_simulated,
    canned=CANNED,
    condition=_condition,
)
