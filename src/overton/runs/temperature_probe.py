"""Which judges accept a temperature: each whose endpoint may refuse one is tried once, before the first call.

Reasoning models often accept only their own, and say so in an error. The request is one of the run's: paced, paid for,
counted and journaled, so that neither a resumed run nor a replay sends it again. A refusal is journaled as an answer,
for it is one. Any other error is handled as usual: an endpoint that does not answer stops the run before anything is
measured, and one that rejects this request for another reason is called as planned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from overton.calls import Answerer, Reply, Request, Settings, Usage, user
from overton.engine import Dispatcher, Journal, Lane, Seat
from overton.engine.ask import Placing, S
from overton.engine.dispatcher import CallTarget
from overton.engine.identity import CallKey, Identity
from overton.engine.rate_limit import OVERLOAD
from overton.errors import RejectedError, Stopped
from overton.runs.folder import Manifest, ModelEntry
from overton.studies.study import AnyStudy

READY = "ready"
PROBE = (user(f"Reply with the single word: {READY}"),)
"""The prompt. The settings are the judge's own, since they are what is tried."""

NOT_SENT = "refuses the temperature: none is sent, and its endpoint's default applies"
"""The note on a judge that refused."""

_TEMPERATURE = "temperature"
REFUSED = "temperature refused"
"""The stop reason of a reply that represents a refusal."""
_TEMPERATURE_REFUSAL = re.compile(r"temperature|only the default( \(\S+\))? value is supported", re.IGNORECASE)


def probe_call(seat: S) -> tuple[S, Identity, CallKey, Request]:
    """The request to a judge: one call for the whole run, whichever trials the judge serves."""
    return Placing("", {"probe": seat}).call("probe", PROBE, None, None, None, shared=True)


def refusal(message: str) -> Reply | None:
    """A rejection as an answer; None if its message is about something else."""
    return Reply(message, finish=REFUSED, usage=Usage(0, 0)) if _TEMPERATURE_REFUSAL.search(message) else None


def sent(settings: Settings, not_sent: Sequence[str]) -> Settings:
    """The settings without those that are not sent."""
    return msgspec.structs.replace(settings, **dict.fromkeys(not_sent)) if not_sent else settings


async def probe_judges(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], dispatcher: Dispatcher) -> None:
    """Find out for each `unsure` judge whether it accepts a temperature, and update bindings and manifest.

    Raises:
        Stopped: a judge did not answer, or the run is stopping.
    """
    for probe in _find_probes(study, manifest, lanes):
        found = await dispatcher.outcome(*probe.call)
        if isinstance(found, Reply):
            probe.settle(manifest, found)
        elif found.kind in OVERLOAD:
            raise Stopped(
                f"{probe.entry.name} did not answer the request that tests whether it accepts temperature 0"
                f" ({found.message}); resume the run with --retry-failed to ask again"
            )


def recall_probes(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], journal: Journal) -> None:
    """The same from the journal alone, as far as it goes; no calls are made."""
    for probe in _find_probes(study, manifest, lanes):
        found = journal.recall(probe.call[1])
        if isinstance(found, Reply):
            probe.settle(manifest, found)


@dataclass(frozen=True)
class _Probe:
    """A judge for which this is unknown: the name of its role, its position there, and its binding."""

    role: str
    number: int
    entry: ModelEntry
    bound: Seat

    @property
    def call(self) -> tuple[Seat, Identity, CallKey, Request]:
        tried = _ProbedAnswerer(self.bound.answerer)
        alone = replace(self.bound, answerer=tried, through=_ProbedServer, batching=None, batched=False, judges=False)
        return probe_call(alone)

    def settle(self, manifest: Manifest, found: Reply) -> None:
        """Apply what was found to all later calls and to the manifest."""
        not_sent = (_TEMPERATURE,) if found.finish == REFUSED else ()
        self.bound.settings = sent(self.bound.settings, not_sent)
        manifest.models[self.role][self.number] = msgspec.structs.replace(
            self.entry, settings=self.bound.settings, unsure=False, not_sent=not_sent
        )
        if not_sent:
            manifest.notes[f"{self.entry.name} as {self.role}"] = NOT_SENT


def _find_probes(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane]) -> Iterator[_Probe]:
    """The judges for which this is unknown, each once."""
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
class _ProbedAnswerer:
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
        """See `Answerer`; a rejection that does not mention temperature stays one."""
        return await _answer_or_refusal(self.answerer, request)

    async def close(self) -> None:
        """See `Answerer`."""
        await self.answerer.close()


@dataclass(frozen=True)
class _ProbedServer:
    """The same of one server of several."""

    server: CallTarget

    async def answer(self, request: Request) -> Reply:
        """See `_ProbedAnswerer`."""
        return await _answer_or_refusal(self.server, request)


async def _answer_or_refusal(who: CallTarget, request: Request) -> Reply:
    try:
        return await who.answer(request)
    except RejectedError as error:
        if (found := refusal(str(error))) is None:
            raise
        return found
