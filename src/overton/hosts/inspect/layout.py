"""Where an Inspect log keeps what Overton needs: what the run is, what a sample asks, and each call's outcome.

A log that holds these can become a run folder again: its calls are the journal's rows, and `conduct` makes the records
anew from them. So nothing that a measure rests on is read from a log's prose.
"""

from __future__ import annotations

from typing import Any

import msgspec

from overton.calls import Failure, Reply
from overton.hosts.local import ModelEntry

__all__ = ["CALLS", "FORMAT", "KEY", "RECORDS", "CallData", "SampleData", "TaskData"]

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
