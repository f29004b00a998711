"""The content of our logs for Overton, and how Inspect's viewer shows them.

A log records the run, what each sample asks, and each call's outcome, and so can become a run folder again: its calls
are the journal's rows, from which `conduct` rebuilds the records. So nothing that a measure depends on is read from a
log's prose.
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
"""The key of a task's `TaskData` in its metadata, and of a sample's `SampleData` in its."""
CALLS = "overton:calls"
"""The key of a sample's calls in its store, in the order in which their outcomes came."""
RECORDS = "records"
"""The key of the sample's records, as JSON objects, in its score's metadata."""
CONDITION = "condition"
"""The key of the sample's condition there."""


class TaskData(msgspec.Struct, frozen=True):
    """A run without its items: the fields of the same names in a run's manifest.

    `models` has one model for the study's first role, or with `together` all that meet: a log is one lane. `replaced`
    has the texts that replace the study's own, by name; it is absent if there are none.
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
    """A row of a journal; `slot` and `content` in hexadecimal, `failure` replaces `reply` if it failed."""

    slot: str
    content: str
    trial: str
    speaker: str
    number: int
    answerer: str
    reply: Reply | None = None
    failure: Failure | None = None


def call_data(identity: Identity, place: CallKey, outcome: Reply | Failure) -> CallData:
    """A call and its outcome as in a sample's store."""
    reply, failure = (None, outcome) if isinstance(outcome, Failure) else (outcome, None)
    return CallData(identity.slot.hex(), identity.content.hex(), *place, reply=reply, failure=failure)


def null_scorer(scorer: str) -> str:
    """The scorer of samples in null conditions, in a task whose other samples have `scorer`."""
    return f"{scorer}_null"


def location_of(plural: str, digest: str) -> str:
    """Where a task's items come from: which they are, by the digest in a run's manifest.

    A path would say something about the machine, and NAME/NAME would be taken for a dataset of the Hugging Face hub.
    """
    return f"overton:{plural}/{digest}"


def span_name(trial: Trial) -> str:
    """A trial's name in a transcript: without its item, and without slashes, at which the viewer truncates names."""
    return trial.name.removeprefix(f"{trial.item}/").replace("/", " ")


def viewer_config(scorer: str) -> Any:
    """The list of samples with the columns that distinguish them, and all text shown verbatim.

    Items, pages and replies are foreign text: the viewer is set to render no markup, link or image in them.
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


def inspect_name(name: str, identity: str) -> str:
    """A model's name for Inspect; for a server given by its address, its identity, which does not contain it."""
    return identity if "://" in name else name.removeprefix("inspect/")
