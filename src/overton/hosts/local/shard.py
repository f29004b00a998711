"""What makes a run folder a shard: a part of a run, by item, that another machine can work on."""

from __future__ import annotations

import msgspec

from overton.engine import Limits, Spending

__all__ = ["Shard", "belongs"]


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
