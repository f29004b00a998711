"""From a study's trials to the samples of a task: an item in a condition, with its first prompt for display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from overton.calls import Message, Question, Trial
from overton.errors import Stopped
from overton.hosts.inspect.layout import KEY, SampleData
from overton.models.inspect import chat_messages
from overton.runs.event_loop import run_to_end
from overton.studies.study import AnyStudy

__all__ = ["Groups", "condition_of", "grouped", "samples_of"]

Groups = Mapping[str, Sequence[Trial]]
"""Trials by the name of the sample that they belong to, in plan order."""


def _sample_name(study: AnyStudy, trial: Trial) -> str:
    """The sample that a trial belongs to: its item and condition."""
    return f"{trial.item}/{condition_of(study, trial)}"


def condition_of(study: AnyStudy, trial: Trial) -> str:
    """The condition that a trial is in.

    Raises:
        TypeError: the study has no conditions, so it cannot become a task.
    """
    if study.condition is None:
        raise TypeError(f"{study.name} names no conditions")
    return study.condition(trial)


def grouped(study: AnyStudy, trials: Iterable[Trial]) -> Groups:
    """Trials by sample."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(_sample_name(study, trial), []).append(trial)
    return groups


def samples_of(study: AnyStudy, items: Sequence[Any], groups: Groups) -> list[Any]:
    """The samples of a task; each one's input is the first prompt of its first trial."""
    from inspect_ai.dataset import Sample

    by_id = {item.id: msgspec.to_builtins(item) for item in items}
    prompts = run_to_end(_first_prompts(study, [trials[0] for trials in groups.values()]))
    return [
        Sample(
            id=name,
            input=chat_messages(prompt),
            metadata={
                KEY: msgspec.to_builtins(
                    SampleData(by_id[trials[0].item], condition_of(study, trials[0]), [trial.name for trial in trials])
                )
            },
        )
        for (name, trials), prompt in zip(groups.items(), prompts, strict=True)
    ]


async def _first_prompts(study: AnyStudy, trials: Sequence[Trial]) -> list[Sequence[Message]]:
    return [await _first_prompt(study, trial) for trial in trials]


async def _first_prompt(study: AnyStudy, trial: Trial) -> Sequence[Message]:
    ask = _Listening()
    with suppress(_Heard):
        await study.conduct(trial, ask)
    return ask.heard


class _Heard(Stopped):
    """Ends a trial at its first call."""


class _Listening:
    """Records the first question and answers nothing."""

    def __init__(self) -> None:
        self.heard: Sequence[Message] = ()

    async def __call__(self, role: str, messages: Sequence[Message], **_: Any) -> Any:
        self.heard = self.heard or messages
        raise _Heard(role)

    async def all(self, questions: Sequence[Question]) -> Any:
        return [await self(one.role, one.messages) for one in questions]
