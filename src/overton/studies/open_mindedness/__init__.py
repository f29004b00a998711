"""Open-mindedness: how arguments in context shift a model's stance on contested issues (MillStone)."""

from collections.abc import Mapping, Sequence

from overton.calls import Answerer
from overton.errors import InputError, Problem
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase
from overton.studies.open_mindedness.options import Options
from overton.studies.open_mindedness.protocol import IssueTrial, conduct, prompt_texts, trials
from overton.studies.open_mindedness.record import Record
from overton.studies.study import Study

__all__ = ["STUDY", "Argument", "Issue", "Options", "Paraphrase", "Record"]


def _simulated(issues: Sequence[Issue], name: str, arguments: Mapping[str, str]) -> Answerer:
    from overton.studies.open_mindedness.simulated import OpenMinded

    if name != "open-minded":
        raise InputError([Problem(f"simulated/{name}", "", "no such answerer; known is simulated/open-minded")])
    return OpenMinded.from_args(issues, arguments)


def _condition(trial: IssueTrial) -> str:
    """The configuration, and the wording where it has one."""
    return f"{trial.condition.name}/w{trial.wording}" if trial.wording else trial.condition.name


STUDY = Study(
    name="open-mindedness",
    roles=("subject",),
    item=Issue,
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=prompt_texts,
    simulated=_simulated,
    condition=_condition,
)
