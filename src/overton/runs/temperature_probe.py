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

from overton.calls import Failure, Question, Reply, Settings, Usage, user
from overton.engine import Dispatcher, JournalReader, Lane, Seat
from overton.engine.ask import Call, call_of
from overton.engine.identity import CallKey
from overton.engine.rate_limit import OVERLOAD
from overton.errors import Stopped
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


def probe_call(seat: Seat) -> Call:
    """The request to a judge: one call for the whole run, whichever trials the judge serves."""
    return call_of(seat, CallKey("", "probe", 0, seat.model.answerer.identity), Question("probe", PROBE, shared=True))


def refusal(failure: Failure) -> Reply | None:
    """A rejection as an answer; None if it is about something else."""
    if failure.kind in OVERLOAD or not _TEMPERATURE_REFUSAL.search(failure.message):
        return None
    return Reply(failure.message, finish=REFUSED, usage=Usage(0, 0))


def sent(settings: Settings, not_sent: Sequence[str]) -> Settings:
    """The settings without those that are not sent."""
    return msgspec.structs.replace(settings, **dict.fromkeys(not_sent)) if not_sent else settings


async def probe_judges(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], dispatcher: Dispatcher) -> None:
    """Find out for each `unsure` judge whether it accepts a temperature, and update seats and manifest.

    Raises:
        Stopped: a judge did not answer, or the run is stopping.
    """
    for probe in _find_probes(study, manifest, lanes):
        found = await dispatcher.outcome(*probe.call, rejected=refusal)
        if isinstance(found, Reply):
            probe.settle(manifest, found)
        elif found.kind in OVERLOAD:
            raise Stopped(
                f"{probe.entry.name} did not answer the request that tests whether it accepts temperature 0"
                f" ({found.message}); resume the run with --retry-failed to ask again"
            )


def recall_probes(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], journal: JournalReader) -> None:
    """The same from the journal alone, as far as it goes; no calls are made."""
    for probe in _find_probes(study, manifest, lanes):
        found = journal.recall(probe.call[1])
        if isinstance(found, Reply):
            probe.settle(manifest, found)


@dataclass(frozen=True)
class _Probe:
    """A judge for which this is unknown: the name of its role, its position there, and its seat."""

    role: str
    number: int
    entry: ModelEntry
    seat: Seat

    @property
    def call(self) -> Call:
        """The call: never in a batch, and without the features that judges need."""
        return probe_call(replace(self.seat, batched=False, judges=False))

    def settle(self, manifest: Manifest, found: Reply) -> None:
        """Apply what was found to all later calls and to the manifest."""
        not_sent = (_TEMPERATURE,) if found.finish == REFUSED else ()
        self.seat.settings = sent(self.seat.settings, not_sent)
        manifest.models[self.role][self.number] = msgspec.structs.replace(
            self.entry, settings=self.seat.settings, unsure=False, not_sent=not_sent
        )
        if not_sent:
            manifest.notes[f"{self.entry.name} as {self.role}"] = NOT_SENT


def _find_probes(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane]) -> Iterator[_Probe]:
    """The judges for which this is unknown, each once."""
    for role in (role.name for role in study.roles if role.judges):
        seated = {
            seat.model.answerer.identity: seat
            for lane in lanes
            for name, seat in lane.seats.items()
            if name.partition("/")[0] == role
        }
        for number, entry in enumerate(manifest.models.get(role, [])):
            if entry.unsure:
                yield _Probe(role, number, entry, seated[entry.identity])
