"""What a run is: everything needed to go on with it, or to repeat it, but for the keys."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from overton.calls import Price, Settings
from overton.engine import Limits
from overton.hosts.local.shard import Shard
from overton.studies.precision import Reached, Wanted

__all__ = ["FORMAT", "Manifest", "ModelEntry", "Spent", "Unmade"]

FORMAT = 2


class ModelEntry(msgspec.Struct, frozen=True):
    """A model of a run, as it was asked for and as it was found.

    `name` is the key by which records, tables and messages know it: the one that the user gave it, else its spec as it
    is published. `spec` may hold a path of this machine, without which the run could not be resumed; it stands in the
    manifest only. `identity` is what makes its calls the same as other calls. `unsure` says that the temperature among
    its settings is a default that its endpoint has not been found to take yet; `not_sent` names the settings that the
    study wanted and the endpoint refused, which are then not among them. `batched` says that its calls go out in
    batches.
    """

    name: str
    spec: str
    identity: str
    settings: Settings
    arguments: tuple[tuple[str, str], ...] = ()
    holds_form: bool = False
    price: Price | None = None
    family: str = ""
    unsure: bool = False
    not_sent: tuple[Literal["temperature"], ...] = ()
    batched: bool = False


class Spent(msgspec.Struct, frozen=True):
    """What a run has used in all its sessions: requests sent (retries included) and dollars.

    `cost` counts the worst case for requests whose bill is not known; it is 0 for models without a price. After a kill
    both are bounds, by a block more than what was sent at most. `failed` is how many calls have a failure as their last
    outcome; `outcomes` how many rows the journal had, and `last` the checksum of the last of them, by which a journal
    that was cut or replaced is told.
    """

    requests: int = 0
    cost: float = 0.0
    failed: int = 0
    outcomes: int = 0
    last: int = 0


class Unmade(msgspec.Struct, frozen=True):
    """How many trials of a lane ended with records that no table can hold; `trials` names the first, each with why."""

    count: int = 0
    trials: list[str] = []


class Manifest(msgspec.Struct, omit_defaults=False):
    """`manifest.json` of a run.

    `models` maps each role to its models; each model of the study's first role is a lane of its own. `prompts` and
    `items` hold digests. `status` is 'running' (or killed), 'finished', or 'stopped' with the reason in `stopped`,
    and in `reached` the limit that stopped it. `notes` are what is to be known of models' bills, by name. `missing`
    names, for each lane, the items that records leave out since they are not whole; `unmade` says, for each lane
    that has any, of which trials records could not be made. `dataset` is the format of the items that the run made,
    0 where it made none. `out` is how many calls are in batches that went on when the last session ended. `shard` says
    which part of a run it is; `precision` what it stops at, and `precise` what was decided last of each lane.
    """

    study: str
    seed: int
    options: dict[str, Any]
    models: dict[str, list[ModelEntry]]
    items: str
    prompts: dict[str, str]
    created: str
    overton: str
    format: int = FORMAT
    limits: Limits = Limits()
    status: Literal["running", "finished", "stopped"] = "running"
    stopped: str = ""
    reached: Literal["", "calls", "cost"] = ""
    notes: dict[str, str] = {}
    missing: dict[str, list[str]] = {}
    unmade: dict[str, Unmade] = {}
    trials: int = 0
    spent: Spent = Spent()
    sessions: int = 0
    left_out: str = ""
    dataset: int = 0
    out: int = 0
    shard: Shard | None = None
    precision: Wanted | None = None
    precise: dict[str, Reached] = {}
