"""Which judges take a temperature: each whose endpoint may refuse one is asked once, before the run's first call.

Reasoning models often take none but their own, and say so in an error. The request is one of the run's: paced, paid,
counted and journaled, so that neither a resumed run nor a replay sends it again. A refusal is journaled as an answer,
for it is one. Whatever else goes wrong is an error like any other: an endpoint that does not answer stops the run
before anything is measured, and one that rejects this request for another reason is asked the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from overton.calls import Answerer, Reply, Request, Settings, Usage, user
from overton.engine import Bound, Desk, Journal, Lane
from overton.engine.desk import OVERLOAD, Answering
from overton.engine.identity import Identity, Place, Placing, S
from overton.errors import RejectedError, Stopped
from overton.hosts.local.folder import Manifest, ModelEntry
from overton.studies.study import AnyStudy

__all__ = ["NOT_SENT", "PROBE", "READY", "REFUSED", "probe_call", "probe_judges", "recall_probes", "refusal", "sent"]

READY = "ready"
PROBE = (user(f"Reply with the single word: {READY}"),)
"""What is asked. The settings are the judge's own, since it is they that are tried."""

NOT_SENT = "takes no temperature of ours: none is sent, and it samples as its endpoint does by default"
"""What is said of a judge that refused."""

_TEMPERATURE = "temperature"
REFUSED = "temperature refused"
"""How the reply ends that stands for a refusal."""
_ABOUT_TEMPERATURE = re.compile(r"temperature|only the default( \(\S+\))? value is supported", re.IGNORECASE)


def probe_call(seat: S) -> tuple[S, Identity, Place, Request]:
    """The request to a judge, one call for the whole run, whoever else it is asked of."""
    return Placing("", {"probe": seat}).call("probe", PROBE, None, None, None, shared=True)


def refusal(message: str) -> Reply | None:
    """The answer that a rejection is; None where its message is about something else."""
    return Reply(message, finish=REFUSED, usage=Usage(0, 0)) if _ABOUT_TEMPERATURE.search(message) else None


def sent(settings: Settings, not_sent: Sequence[str]) -> Settings:
    """The settings without those that are not sent."""
    return msgspec.structs.replace(settings, **dict.fromkeys(not_sent)) if not_sent else settings


async def probe_judges(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], desk: Desk) -> None:
    """Find out of each judge that is `unsure` whether it takes a temperature; bindings and manifest then say so.

    Raises:
        Stopped: one did not answer, or the run is stopping.
    """
    for probe in _open(study, manifest, lanes):
        found = await desk.outcome(*probe.call)
        if isinstance(found, Reply):
            probe.settle(manifest, found)
        elif found.kind in OVERLOAD:
            raise Stopped(
                f"{probe.entry.name} was asked whether it takes temperature 0 and did not answer ({found.message});"
                " resume the run with --retry-failed to ask again"
            )


def recall_probes(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], journal: Journal) -> None:
    """The same from the journal alone, where it knows; nothing is asked."""
    for probe in _open(study, manifest, lanes):
        found = journal.recall(probe.call[1])
        if isinstance(found, Reply):
            probe.settle(manifest, found)


@dataclass(frozen=True)
class _Probe:
    """A judge of which it is not known yet: the name of its role, its place there, and how it is bound."""

    role: str
    number: int
    entry: ModelEntry
    bound: Bound

    @property
    def call(self) -> tuple[Bound, Identity, Place, Request]:
        tried = _Tried(self.bound.answerer)
        return probe_call(replace(self.bound, answerer=tried, through=_TriedServer, batching=None, batched=False))

    def settle(self, manifest: Manifest, found: Reply) -> None:
        """Have all later calls, and the manifest, go by what was found."""
        not_sent = (_TEMPERATURE,) if found.finish == REFUSED else ()
        self.bound.settings = sent(self.bound.settings, not_sent)
        manifest.models[self.role][self.number] = msgspec.structs.replace(
            self.entry, settings=self.bound.settings, unsure=False, not_sent=not_sent
        )
        if not_sent:
            manifest.notes[f"{self.entry.name} as {self.role}"] = NOT_SENT


def _open(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane]) -> Iterator[_Probe]:
    """The judges of which it is not known, each once."""
    for role in (role.name for role in study.roles if role.judges):
        seated = {
            bound.answerer.identity: bound
            for lane in lanes
            for name, bound in lane.bindings.items()
            if name.partition("/")[0] == role
        }
        for number, entry in enumerate(manifest.models.get(role, [])):
            if entry.unsure:
                yield _Probe(role, number, entry, seated[entry.identity])


@dataclass(frozen=True)
class _Tried:
    """An answerer whose refusal of a temperature is an answer."""

    answerer: Answerer

    @property
    def name(self) -> str:
        """See `Answerer`."""
        return self.answerer.name

    @property
    def identity(self) -> str:
        """See `Answerer`."""
        return self.answerer.identity

    @property
    def holds_form(self) -> bool:
        """See `Answerer`."""
        return self.answerer.holds_form

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`; without a word on temperatures, what was rejected stays so."""
        return await _tried(self.answerer, request)

    async def close(self) -> None:
        """See `Answerer`."""
        await self.answerer.close()


@dataclass(frozen=True)
class _TriedServer:
    """The same of one server of several."""

    server: Answering

    async def answer(self, request: Request) -> Reply:
        """See `_Tried`."""
        return await _tried(self.server, request)


async def _tried(who: Answering, request: Request) -> Reply:
    try:
        return await who.answer(request)
    except RejectedError as error:
        if (found := refusal(str(error))) is None:
            raise
        return found
