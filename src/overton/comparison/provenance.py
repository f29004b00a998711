"""The record of how a run asked its questions, in a form that a baseline file can store, without addresses or paths."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import Any

import msgspec

from overton.calls import Reply
from overton.engine import entries
from overton.runs.answerers import public_spec
from overton.runs.folder import ModelEntry
from overton.runs.run import Run


class Upstream(msgspec.Struct, frozen=True, omit_defaults=True):
    """An endpoint's reports about itself, collected from its replies: each distinct value once, sorted.

    The reports are names of models, fingerprints of their configuration, and servers. A server is a router's provider,
    or the package that computes on this machine.
    """

    reported: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()


NOBODY = Upstream()
"""The record of an endpoint that reported nothing about itself."""


class AnswererRecord(msgspec.Struct, frozen=True):
    """The model or service in a role. Answerers with the same `identity` are called in the same way; the seed of random
    choices is not part of the identity.

    `reported`, `fingerprints` and `servers` are the endpoint's reports about itself: see `Upstream`.
    """

    name: str
    spec: str
    identity: str
    settings: dict[str, Any]
    holds_form: bool = False
    not_sent: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    @property
    def upstream(self) -> Upstream:
        """Its endpoint's report about itself."""
        return Upstream(self.reported, self.fingerprints, self.servers)

    @property
    def instrument(self) -> tuple[Any, ...]:
        """The fields that decide whether two records are of the same judge."""
        return self.identity, self.settings, self.holds_form, self.not_sent


class Provenance(msgspec.Struct, frozen=True):
    """The record of how a run asked its questions. `items` maps each item's id to a digest of the item, and `cost` is
    the cost of all calls in US dollars.

    `replaced` names the study's prompts that the user replaced (`--prompts`), and is absent if there are none.
    """

    study: str
    prompts: dict[str, str]
    options: dict[str, Any]
    items: dict[str, str]
    roles: dict[str, list[AnswererRecord]]
    seed: int
    overton: str
    missing: dict[str, list[str]] = {}
    cost: float = 0.0
    replaced: list[str] | msgspec.UnsetType = msgspec.UNSET


def provenance_of(run: Run, *, journal: bool = False) -> Provenance:
    """Collect the record of how a run asked its questions. With `journal`, also collect the endpoints' reports about
    themselves."""
    manifest = run.manifest
    said = upstream_of(run) if journal else {}
    return Provenance(
        manifest.study,
        manifest.prompts,
        manifest.options,
        {item.id: blake2b(msgspec.json.encode(item), digest_size=16).hexdigest() for item in run.items()},
        {
            role: [_answerer_record(answerer, said.get(answerer.identity, NOBODY)) for answerer in answerers]
            for role, answerers in manifest.models.items()
        },
        manifest.seed,
        manifest.overton,
        manifest.missing,
        manifest.spent.cost,
        manifest.replaced,
    )


def _answerer_record(entry: ModelEntry, said: Upstream) -> AnswererRecord:
    settings = msgspec.to_builtins(msgspec.structs.replace(entry.settings, seed=None))
    own = (entry.name, public_spec(entry.spec), entry.identity, settings, entry.holds_form, tuple(entry.not_sent))
    return AnswererRecord(*own, said.reported, said.fingerprints, said.servers)


def upstream_of(run: Run) -> dict[str, Upstream]:
    """Collect the endpoints' reports about themselves from the replies in the journal, by the answerer's identity."""
    journal = run.path / "journal.db"
    found: defaultdict[str, tuple[set[str], set[str], set[str]]] = defaultdict(lambda: (set(), set(), set()))
    for row in entries(journal) if journal.is_file() else ():
        if isinstance(reply := row.outcome, Reply):
            words = (reply.model, reply.fingerprint, reply.served_by)
            for seen, word in zip(found[row.place.answerer], words, strict=True):
                seen.update([word] if word else [])
    return {identity: Upstream(*(tuple(sorted(seen)) for seen in words)) for identity, words in found.items()}
