"""Deliberation: who changes their mind, who holds out, and why, where models discuss a dilemma over rounds."""

from collections.abc import Mapping, Sequence

from overton.calls import Answerer
from overton.errors import InputError, Problem
from overton.studies.deliberation import prompts
from overton.studies.deliberation.canned import CANNED
from overton.studies.deliberation.items import VERDICTS, Crowd, Dilemma, Verdict
from overton.studies.deliberation.options import Options
from overton.studies.deliberation.protocol import DilemmaTrial, conduct, trials
from overton.studies.deliberation.record import Record
from overton.studies.study import Study

__all__ = ["STUDY", "VERDICTS", "Crowd", "Dilemma", "Options", "Record", "Verdict"]


def _simulated(dilemmas: Sequence[Dilemma], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.deliberation.simulated import Deliberator, ValuesJudge

    kind, slash, own = name.partition("/")
    if kind == "deliberator" and bool(slash) == bool(own):
        return Deliberator.from_args(dilemmas, f"simulated/{name}", arguments)
    if name == "values-judge":
        return ValuesJudge.from_args(arguments)
    known = "simulated/deliberator, simulated/deliberator/NAME and simulated/values-judge"
    raise InputError([Problem(f"simulated/{name}", "", f"no such answerer; known are {known}")])


def _condition(trial: DilemmaTrial) -> str:
    """Format, goal, and who sits at the table in which order."""
    return f"{trial.format}/{trial.goal}/{'-'.join(map(str, trial.order))}"


STUDY = Study(
    name="deliberation",
    roles=("agent", "values"),
    item=Dilemma,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompts.texts,
    simulated=_simulated,
    together=True,
    optional=("values",),
    canned=CANNED,
    condition=_condition,
)
