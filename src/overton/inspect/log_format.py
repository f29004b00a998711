"""The data that Overton stores in Inspect logs, and the display of these logs in Inspect's viewer.

A log records the run, each sample's questions, and each call's outcome, so it can be turned into a run folder again.
Records are rebuilt from the log's calls, as from a journal. So measures do not depend on the log's readable text.
"""

from __future__ import annotations

from typing import Any

import msgspec

from overton.calls import Failure, Reply, Trial
from overton.engine.identity import CallKey, Identity
from overton.runs.folder import ModelEntry
from overton.studies.null_conditions import null_of

FORMAT = 2
KEY = "overton"
"""The key of `TaskData` in a task's metadata, and of `SampleData` in a sample's metadata."""
CALLS = "overton:calls"
"""The key of a sample's calls in its store. Calls are in the order in which their outcomes arrived."""
RECORDS = "records"
"""The key of the sample's records, as JSON objects, in its score's metadata."""
CONDITION = "condition"
"""The key of the sample's condition in its score's metadata."""


class TaskData(msgspec.Struct, frozen=True):
    """The description of a run without its items.

    Fields have the same meaning as in a run's manifest. A log contains one pipeline. So `models` has one model for the
    study's first role, or all models if they interact. `replaced` has the texts that replace the study's own, by name;
    it is absent if no text was replaced.
    """

    study: str
    seed: int
    options: dict[str, Any]
    models: dict[str, list[ModelEntry]]
    prompts: dict[str, str]
    overton: str
    format: int = FORMAT
    left_out: str = ""
    replaced: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class SampleData(msgspec.Struct, frozen=True):
    """An item in a condition, with the names of its trials in plan order."""

    item: dict[str, Any]
    condition: str
    trials: list[str]

    @property
    def null(self) -> bool:
        """Whether the condition is a null condition."""
        return any(map(null_of, self.trials))


class CallData(msgspec.Struct, frozen=True):
    """A row of a journal. `slot` and `content` are in hexadecimal. A failed call has `failure` in place of `reply`."""

    slot: str
    content: str
    trial: str
    speaker: str
    number: int
    answerer: str
    reply: Reply | None = None
    failure: Failure | None = None


def call_data(identity: Identity, place: CallKey, outcome: Reply | Failure) -> CallData:
    """A call and its outcome in the format of a sample's store."""
    reply, failure = (None, outcome) if isinstance(outcome, Failure) else (outcome, None)
    return CallData(identity.slot.hex(), identity.content.hex(), *place, reply=reply, failure=failure)


def null_scorer(scorer: str) -> str:
    """The name of the scorer for samples in null conditions, if all other samples are scored by `scorer`."""
    return f"{scorer}_null"


def location_of(plural: str, digest: str) -> str:
    """The location of a task's items, as shown in logs.

    The location contains the items' digest from the run's manifest. It has no path, because a path would tell readers
    about the machine. Without 'overton:', it would look like the name of a dataset on the Hugging Face hub.
    """
    return f"overton:{plural}/{digest}"


def span_name(trial: Trial) -> str:
    """A trial's name in a transcript, without its item, and without slashes, because the viewer truncates names at
    slashes."""
    return trial.name.removeprefix(f"{trial.item}/").replace("/", " ")


def viewer_config(scorer: str) -> Any:
    """The configuration of Inspect's viewer: the columns of its list of samples, and the display of all text without
    formatting.

    Items, pages and replies are untrusted, so the viewer must not render their markup, links or images.
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
    view = TaskSamplesView(name="Items by condition", columns=columns, multiline=False)
    return ViewerConfig(trust_content=False, task_samples_view=view)


def inspect_name(name: str, identity: str) -> str:
    """A model's name for Inspect. If the user gave a server's address, the name is the model's identity, which does not
    contain the address."""
    return identity if "://" in name else name.removeprefix("inspect/")
