"""What our logs hold for Overton, and how Inspect's viewer shows them to people.

A log keeps what the run is, what a sample asks, and each call's outcome, and so can become a run folder again: its
calls are the journal's rows, and `conduct` makes the records anew from them. So nothing that a measure rests on is read
from a log's prose.
"""

from __future__ import annotations

from typing import Any

import msgspec

from overton.calls import Failure, Reply, Trial
from overton.hosts.local import ModelEntry

__all__ = ["CALLS", "FORMAT", "KEY", "RECORDS", "CallData", "SampleData", "TaskData", "span_name", "viewer_config"]

FORMAT = 2
KEY = "overton"
"""Under this key a task's metadata holds its `TaskData`, and a sample's metadata its `SampleData`."""
CALLS = "overton:calls"
"""Under this key a sample's store holds its calls, in the order in which their outcomes came."""
RECORDS = "records"
"""Under this key a score's metadata holds the sample's records, as JSON objects."""


class TaskData(msgspec.Struct, frozen=True):
    """What a run is, but for its items: the fields of a run's manifest of the same names.

    `models` names one model for the study's first role, or with `together` all that meet: a log is one lane.
    """

    study: str
    seed: int
    options: dict[str, Any]
    models: dict[str, list[ModelEntry]]
    prompts: dict[str, str]
    overton: str
    format: int = FORMAT
    left_out: str = ""


class SampleData(msgspec.Struct, frozen=True):
    """An item in a condition, with the names of its trials in plan order."""

    item: dict[str, Any]
    condition: str
    trials: list[str]


class CallData(msgspec.Struct, frozen=True):
    """A row of a journal; `slot` and `content` in hexadecimal, `failure` in the place of `reply` where it failed."""

    slot: str
    content: str
    trial: str
    speaker: str
    number: int
    answerer: str
    reply: Reply | None = None
    failure: Failure | None = None


def span_name(trial: Trial) -> str:
    """A trial's name in a transcript: without its item, and without slashes, at which the viewer cuts names short."""
    return trial.name.removeprefix(f"{trial.item}/").replace("/", " ")


def viewer_config(scorer: str) -> Any:
    """The list of samples with what tells them apart, and all text shown as it is.

    Items, pages and replies are other people's text: the viewer is told to render no markup, link or image of theirs.
    """
    from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesView, ViewerConfig

    shown = ("sampleStatus", "sampleId", "answer", "tokens", "duration", "error")
    hidden = ("input", "target", "epoch")
    columns = [
        *(TaskSamplesColumn(id=name) for name in shown[:3]),
        TaskSamplesColumn.score(scorer),
        *(TaskSamplesColumn(id=name) for name in shown[3:]),
        *(TaskSamplesColumn(id=name, visible=False) for name in hidden),
    ]
    view = TaskSamplesView(name="Items in conditions", columns=columns, multiline=False)
    return ViewerConfig(trust_content=False, task_samples_view=view)
