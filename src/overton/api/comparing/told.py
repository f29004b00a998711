"""What a run says of how it was asked, in a form that a baseline file can keep; no address and no path is in it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from overton.api.runs import Run
from overton.calls import Reply
from overton.engine import entries
from overton.hosts.local import ModelEntry
from overton.hosts.local.opening import published

__all__ = ["Answering", "Told", "reported", "told_of"]


class Answering(msgspec.Struct, frozen=True):
    """Who answered in a role: `identity` is what makes its calls the same, and the seed of its draws is no part of it.

    `reported` are the names of models that its endpoint gave with replies.
    """

    name: str
    spec: str
    identity: str
    settings: dict[str, Any]
    holds_form: bool = False
    not_sent: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()

    @property
    def instrument(self) -> tuple[Any, ...]:
        """What makes it the same where it judges."""
        return self.identity, self.settings, self.holds_form, self.not_sent


class Told(msgspec.Struct, frozen=True):
    """How a run was asked. `items` maps ids to digests of what was asked; `cost` is in US dollars, of all calls."""

    study: str
    prompts: dict[str, str]
    options: dict[str, Any]
    items: dict[str, str]
    roles: dict[str, list[Answering]]
    seed: int
    overton: str
    missing: dict[str, list[str]] = {}
    cost: float = 0.0


def told_of(run: Run, *, journal: bool = False) -> Told:
    """What a run tells; with `journal` also which models its endpoints named."""
    manifest = run.manifest
    return Told(
        manifest.study,
        manifest.prompts,
        manifest.options,
        {item.id: blake2b(msgspec.json.encode(item), digest_size=16).hexdigest() for item in run.items()},
        {
            role: [_answering(one, reported(run, one.identity) if journal else ()) for one in held]
            for role, held in manifest.models.items()
        },
        manifest.seed,
        manifest.overton,
        manifest.missing,
        manifest.spent.cost,
    )


def _answering(entry: ModelEntry, named: tuple[str, ...]) -> Answering:
    settings = msgspec.to_builtins(msgspec.structs.replace(entry.settings, seed=None))
    return Answering(
        entry.name, published(entry.spec), entry.identity, settings, entry.holds_form, tuple(entry.not_sent), named
    )


def reported(run: Run, identity: str) -> tuple[str, ...]:
    """The names of models that an endpoint gave with its replies, as the journal has them."""
    journal = run.path / "journal.db"
    if not journal.is_file():
        return ()
    found = {
        row.outcome.model
        for row in entries(journal)
        if isinstance(row.outcome, Reply) and row.place.answerer == identity and row.outcome.model
    }
    return tuple(sorted(found))
