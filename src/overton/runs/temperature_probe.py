"""Probes that find out whether judges accept a temperature. Each judge whose endpoint may refuse a temperature gets one
request before any other call is made.

Reasoning models often accept only their default temperature, and return an error for others. The request is one of the
run's calls: it is paced, paid for, counted and journaled, so that neither a resumed run nor a replay sends it again. A
refusal of the temperature is journaled as an answer. Other errors are handled as usual. If the endpoint does not
answer, the run stops before anything is measured. If the endpoint rejects the request for another reason, the judge is
used as planned.
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
"""The prompt of the probe. It is sent with the judge's own settings, because the probe tests these."""

NOT_SENT = "refuses a temperature, so Overton sends none and its endpoint's default applies"
"""The note on a judge that refused."""

_TEMPERATURE = "temperature"
REFUSED = "temperature refused"
"""The stop reason of a reply that represents a refusal."""
_TEMPERATURE_REFUSAL = re.compile(r"temperature|only the default( \(\S+\))? value is supported", re.IGNORECASE)


def probe_call(seat: Seat) -> Call:
    """The test request to a judge, which is made once for the whole run."""
    return call_of(seat, CallKey("", "probe", 0, seat.model.answerer.identity), Question("probe", PROBE, shared=True))


def refusal(failure: Failure) -> Reply | None:
    """The reply that represents a refusal of the temperature, None if the request was rejected for another reason."""
    if failure.kind in OVERLOAD or not _TEMPERATURE_REFUSAL.search(failure.message):
        return None
    return Reply(failure.message, finish=REFUSED, usage=Usage(0, 0))


def sent(settings: Settings, not_sent: Sequence[str]) -> Settings:
    """The settings without those that the endpoint refused."""
    return msgspec.structs.replace(settings, **dict.fromkeys(not_sent)) if not_sent else settings


async def probe_judges(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane], dispatcher: Dispatcher) -> None:
    """Find out for each `unsure` judge whether its endpoint accepts a temperature. Apply the result to later calls and
    to the manifest.

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
    """Take the results of earlier probes from the journal, without any calls."""
    for probe in _find_probes(study, manifest, lanes):
        found = journal.recall(probe.call[1])
        if isinstance(found, Reply):
            probe.settle(manifest, found)


@dataclass(frozen=True)
class _Probe:
    """A judge for which it is unknown whether a temperature is accepted, with the name of its role, its position in
    that role, and its seat."""

    role: str
    number: int
    entry: ModelEntry
    seat: Seat

    @property
    def call(self) -> Call:
        """The call of the probe. It is never sent in a batch, and its reply is not parsed."""
        return probe_call(replace(self.seat, batched=False, judges=False, sample=None))

    def settle(self, manifest: Manifest, found: Reply) -> None:
        """Apply the result to all later calls and to the manifest."""
        not_sent = (_TEMPERATURE,) if found.finish == REFUSED else ()
        self.seat.settings = sent(self.seat.settings, not_sent)
        manifest.models[self.role][self.number] = msgspec.structs.replace(
            self.entry, settings=self.seat.settings, unsure=False, not_sent=not_sent
        )
        if not_sent:
            manifest.notes[f"{self.entry.name} as {self.role}"] = NOT_SENT


def _find_probes(study: AnyStudy, manifest: Manifest, lanes: Sequence[Lane]) -> Iterator[_Probe]:
    """Find the judges for which it is unknown whether a temperature is accepted, each once."""
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
