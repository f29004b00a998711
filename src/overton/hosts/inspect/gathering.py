"""What the samples of several logs hold together: each item once, each call once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from overton.calls import Failure, Reply
from overton.engine.identity import Identity, Place
from overton.engine.journal import Entry
from overton.errors import InputError, Problem
from overton.hosts.inspect.layout import CallData
from overton.hosts.inspect.reading import Log, LoggedSample
from overton.studies.study import AnyStudy

__all__ = ["Gathered"]


@dataclass
class Gathered:
    """Items in the order in which samples tell of them, and which calls are known.

    `samples` holds the ids of all that were read, `unfinished` counts those that did not come to their end, and
    `told_otherwise` those that were told something else in a call that a run makes once, as after an `eval-retry`
    without a cache: their calls are left out.
    """

    study: AnyStudy
    items: dict[str, Any] = field(default_factory=dict)
    samples: set[str] = field(default_factory=set)
    unfinished: int = 0
    told_otherwise: int = 0
    _own: set[bytes] = field(default_factory=set)
    _shared: dict[bytes, tuple[str, Path]] = field(default_factory=dict)

    def add(self, log: Log, sample: LoggedSample) -> list[Entry]:
        """The rows that a sample adds to the journal.

        Raises:
            InputError: its item is not what an earlier sample asks under this name; a call is damaged; another log was
                told something else in a call that a run makes once.
        """
        self._add_item(log, sample)
        self.samples.add(sample.id)
        self.unfinished += not sample.whole
        entries = [_entry(log, sample, call) for call in sample.calls]
        if not all(self._agrees(log, sample, entry) for entry in entries):
            self.told_otherwise += 1
            return []
        return [entry for entry in entries if self._is_new(log, entry)]

    @property
    def lacking(self) -> str:
        """Why a run of these samples may not be whole."""
        reasons = [f"{self.unfinished} of the samples did not come to their end"] if self.unfinished else []
        if self.told_otherwise:
            reasons.append(f"{self.told_otherwise} were told something else in a call that all share")
        return "; ".join(reasons or ["the logs do not hold all samples"])

    def tells_of_all(self, planned: Iterable[str]) -> bool:
        """Whether every sample planned belongs to an item that is known; a sample's id is ITEM/CONDITION."""
        known = tuple(f"{item}/" for item in self.items)
        return all(name in self.samples or name.startswith(known) for name in planned)

    def _add_item(self, log: Log, sample: LoggedSample) -> None:
        try:
            item = msgspec.convert(sample.data.item, self.study.items.kind)
        except msgspec.ValidationError as error:
            raise InputError([Problem(str(log.path), f"sample {sample.id}", f"its item is damaged: {error}")]) from None
        name = getattr(item, "id", "")
        if self.items.setdefault(name, item) != item:
            reason = f"asks of {name} something else than an earlier sample does"
            raise InputError([Problem(str(log.path), f"sample {sample.id}", reason)])

    def _agrees(self, log: Log, sample: LoggedSample, entry: Entry) -> bool:
        """Whether a shared call's outcome is the one that is known, if any is."""
        if entry.place.trial or entry.identity.slot not in self._shared:
            return True
        said, where = self._shared[entry.identity.slot]
        if said != _said(entry.outcome) and where != log.path:
            reason = (
                f"{entry.place.speaker} was asked the same as in {where}, once for all trials, and answered otherwise:"
                " the two cannot be one run. Import each by itself; 'overton report RUN RUN' shows them side by side"
            )
            raise InputError([Problem(str(log.path), f"sample {sample.id}", reason)])
        return said == _said(entry.outcome)

    def _is_new(self, log: Log, entry: Entry) -> bool:
        slot = entry.identity.slot
        if slot in self._own or slot in self._shared:
            return False
        if entry.place.trial:
            self._own.add(slot)
        else:
            self._shared[slot] = (_said(entry.outcome), log.path)
        return True


def _said(outcome: Reply | Failure) -> str:
    """What of an outcome goes on into other calls."""
    return outcome.text if isinstance(outcome, Reply) else f"{outcome.kind}: {outcome.message}"


def _entry(log: Log, sample: LoggedSample, call: CallData) -> Entry:
    outcome = call.reply or call.failure
    try:
        identity = Identity(bytes.fromhex(call.slot), bytes.fromhex(call.content))
    except ValueError:
        outcome = None
    if outcome is None:
        where = f"sample {sample.id}"
        reason = f"ask {call.number} of {call.speaker} in {call.trial or 'all trials'} is damaged"
        raise InputError([Problem(str(log.path), where, reason)])
    return Entry(identity, Place(call.trial, call.speaker, call.number, call.answerer), outcome)
