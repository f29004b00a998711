"""A run's manifest: everything needed to resume it or to repeat it, except the keys."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from overton.calls import Price, Settings
from overton.engine import Limits, Spending
from overton.studies.precision import Reached, Wanted

__all__ = ["FORMAT", "Manifest", "ModelEntry", "Shard", "Spent", "Unmade", "belongs"]

FORMAT = 2


class ModelEntry(msgspec.Struct, frozen=True):
    """A model of a run, as requested and as found.

    `name` is the key by which records, tables and messages refer to it: the user's name for it, otherwise its spec as
    published. `spec` may contain a path of this machine, without which the run could not be resumed; it is in the
    manifest only. `identity` makes its calls the same as other calls. `unsure` says that the temperature among its
    settings is a default that its endpoint is not yet known to accept; `not_sent` names the settings that the study
    wanted and the endpoint refused, which are then not among them. `batched` says that its calls are sent in
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

    `cost` counts the worst case for requests whose bill is unknown; it is 0 for models without a price. After a kill
    both are upper bounds, at most a block above what was sent. `failed` is how many calls have a failure as their last
    outcome; `outcomes` is the journal's number of rows, and `last` the checksum of the last of them, by which a
    truncated or replaced journal is detected.
    """

    requests: int = 0
    cost: float = 0.0
    failed: int = 0
    outcomes: int = 0
    last: int = 0


class Unmade(msgspec.Struct, frozen=True):
    """How many trials of a lane have records that no table can store; `trials` names the first, with reasons."""

    count: int = 0
    trials: list[str] = []


class Shard(msgspec.Struct, frozen=True):
    """Part `number` of `of` of a run: the trials of these `items`, out of all the run's.

    `split` is a word that the shards of one split share, and no others; `plan` a digest of the whole run. `limits` are
    the whole run's. `requests` and `cost` are those of the calls answered before the run was split, and `outcomes` and
    `archive` the resulting rows of its journal and bytes of its archive: every shard has these.
    """

    number: int
    of: int
    items: list[str]
    split: str
    plan: str
    limits: Limits = Limits()
    requests: int = 0
    cost: float = 0.0
    outcomes: int = 0
    archive: int = 0

    @property
    def before(self) -> Spending:
        """What was spent before the run was split."""
        return Spending(self.requests, self.cost)


def belongs(shard: Shard | None) -> frozenset[str] | None:
    """The items whose trials a run conducts, None for all."""
    return None if shard is None else frozenset(shard.items)


class Manifest(msgspec.Struct, omit_defaults=False):
    """`manifest.json` of a run.

    `models` maps each role to its models; each model of the study's first role is a lane of its own. `prompts` and
    `items` are digests. `status` is 'running' (or killed), 'finished', or 'stopped' with the reason in `stopped`, and
    in `reached` the limit that stopped it. `notes` are remarks on models (their bills, say), by name. `missing` names,
    for each lane, the items left out of the records because they are incomplete; `unmade` says, for each lane with
    any, of which trials records could not be made. `dataset` is the format of the items that the run made, 0 if it
    made none. `out` is how many calls are in batches still out when the last session ended. `shard` says which part of
    a run it is; `precision` what it stops at, and `precise` the last decision on each lane. `batch_refused` says that a
    provider refused a batch, which is created again only on request.
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
    batch_refused: bool = False
