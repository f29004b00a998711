"""A batch: its calls, its progress, and the notes from which a later session resumes the batch.

The notes are rows of the journal whose speaker starts with `~`: first the calls and their largest possible price, then
each step.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import b32encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from math import inf
from time import time
from typing import TypeVar

import msgspec

from overton.calls import BatchStatus, Reply, Usage
from overton.engine.identity import CallKey, Identity, slot_of
from overton.engine.journal_file import JournalEntry
from overton.engine.journal_reader import NOTE
from overton.errors import AnswerError, JournalError, Unreadable
from overton.untrusted import decode_json

T = TypeVar("T")

Found = tuple[bytes, bytes | AnswerError]
"""The outcome of a call in a batch: the content with which it was sent, and the reply's body or, without a reply, the
error."""

_SPEAKER = f"{NOTE}batch/"
_SLOT_BYTES = 16
_IDENTITY_BYTES = 40
_CONTENTS, _STATE = 0, 1
_MAX_CALLS = 2**20
"""The maximum number of calls that a batch's note may name. Every provider's own limit is lower."""


def new_name() -> str:
    """A unique name for a new batch: eight letters and digits."""
    return b32encode(secrets.token_bytes(5)).decode().lower()


def call_id(identity: Identity, name: str) -> str:
    """A call's id in a batch: the call's whole identity (54 characters) and the batch's name. The id has 63 characters.
    Anthropic allows up to 64 characters (letters, digits, '-' and '_')."""
    return f"{urlsafe_b64encode(identity.slot + identity.content).decode().rstrip('=')}-{name}"


def identity_of(id_: str, name: str) -> Identity | None:
    """The call identity in an id, None if the id belongs to another batch."""
    text, dash, end = id_.rpartition("-") if id_.endswith(f"-{name}") else ("", "", "")
    if not dash or end != name or not id_.isascii():
        return None
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return Identity(found[:_SLOT_BYTES], found[_SLOT_BYTES:]) if len(found) == _IDENTITY_BYTES else None


class _ContentsNote(msgspec.Struct, frozen=True):
    """The note made before any part of a batch is sent: the slots of its calls, and the maximum cost of each call in
    dollars."""

    slots: str
    each: float


class _StateNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A later note of a batch. `at` is the Unix time of the note, `upload` the location of the uploaded calls, and `id`
    the provider's id of the batch.

    `held` has the slots for which money is still set aside; None means all slots. `over` is True if there is nothing
    left to do. `each` is the amount in dollars set aside per call, if it was raised after the first note. `refused` is
    the provider's reason for a refusal.
    """

    at: float
    upload: str = ""
    id: str = ""
    held: str | None = None
    over: bool = False
    each: float = 0.0
    refused: str = ""


_decode_contents, _decode_state = msgspec.json.Decoder(_ContentsNote).decode, msgspec.json.Decoder(_StateNote).decode
_encode = msgspec.json.Encoder().encode


@dataclass
class Batch:
    """A batch that was noted in the journal.

    `open` has the slots of the calls whose outcomes are not in the journal yet. `reserved` has the dollars set aside
    for each call that may still be billed. `id` is '' until the provider has given an id; `others` has further ids that
    may belong to this batch. `at` is the time at which the batch was last sent, and `since` the time at which this
    session began to send it (Unix times). Once the batch is over, `results` has each call's outcome and the content
    that was sent. `earlier` is True if an earlier session sent the batch. `unsure` is True if the provider may have
    made the batch, perhaps more than once, and its id is unknown. `disproved` has ids that turned out to belong to
    other batches. `refused` is the reason why the provider did not make the batch or ended it early. Open calls of a
    refused batch are sent again only on request.
    """

    name: str
    answerer: str
    calls: int
    each: float
    open: set[bytes]
    reserved: dict[bytes, float]
    at: float = field(default_factory=time)
    since: float = inf
    upload: str = ""
    id: str = ""
    others: list[str] = field(default_factory=list)
    looked: BatchStatus | None = None
    results: dict[bytes, Found] | None = None
    waiting: dict[bytes, asyncio.Future[Found]] = field(default_factory=dict)
    size: int = 0
    earlier: bool = False
    unsure: bool = False
    disproved: set[str] = field(default_factory=set)
    refused: str = ""
    whole: bool = True
    """Whether all of the money set aside for the batch is still reserved."""
    raised: float = 0.0
    """The value of `each` if it was raised after the batch was made, otherwise 0."""

    @property
    def is_out(self) -> bool:
        """Whether the batch is still in progress at the provider."""
        return bool(self.id) and self.results is None and not self.refused

    def contents(self) -> JournalEntry:
        """The note that lists its calls."""
        return self._note_entry(_CONTENTS, _ContentsNote(_encode_slots(list(self.reserved)), self.each))

    def state(self, *, over: bool = False) -> JournalEntry:
        """The note of its progress."""
        left = None if self.whole else _encode_slots(list(self.reserved))
        return self._note_entry(_STATE, _StateNote(time(), self.upload, self.id, left, over, self.raised, self.refused))

    def _note_entry(self, number: int, note: msgspec.Struct) -> JournalEntry:
        place = CallKey("", _SPEAKER + self.name, number, self.answerer)
        content = blake2b(f"{self.name}/{number}".encode(), digest_size=24).digest()
        text = _encode(note).decode()
        return JournalEntry(
            Identity(slot_of(place, content), content), place, Reply(text, finish="note", usage=Usage(0, 0))
        )


def noted_batches(notes: Sequence[JournalEntry]) -> Iterator[Batch]:
    """The unfinished batches that an earlier session noted, in the order in which they were sent.

    Raises:
        JournalError: a note is not one that Overton writes.
    """
    own = [note for note in notes if note.place.speaker.startswith(_SPEAKER)]
    states = {entry.place.speaker: _read_note(entry, _decode_state) for entry in own if entry.place.number == _STATE}
    for entry in own:
        if entry.place.number != _CONTENTS:
            continue
        contents, state = _read_note(entry, _decode_contents), states.get(entry.place.speaker)
        if state is not None and state.over:
            continue
        slots = set(_decode_slots(contents.slots))
        left = slots if state is None or state.held is None else set(_decode_slots(state.held)) & slots
        each = max(0.0, contents.each, 0.0 if state is None else state.each)
        yield Batch(
            name=entry.place.speaker.removeprefix(_SPEAKER),
            answerer=entry.place.answerer,
            calls=len(slots),
            each=each,
            open=slots,
            reserved=dict.fromkeys(left, each),
            at=0.0 if state is None else state.at,
            earlier=True,
            unsure=state is not None and not state.id,
            refused="" if state is None else state.refused,
            upload="" if state is None else state.upload,
            id="" if state is None else state.id,
            whole=state is None or state.held is None,
            raised=0.0 if state is None else state.each,
        )


def _read_note(note: JournalEntry, decode: Callable[[bytes | str], T]) -> T:
    text = note.outcome.text if isinstance(note.outcome, Reply) else ""
    try:
        return decode_json(text, decode)
    except Unreadable as error:
        raise JournalError(f"the journal's note of a batch {error.reason}") from None


def _encode_slots(slots: Sequence[bytes]) -> str:
    return urlsafe_b64encode(b"".join(slots)).decode()


def _decode_slots(text: str) -> list[bytes]:
    try:
        joined = urlsafe_b64decode(text)
    except ValueError:
        raise JournalError("the journal's note of a batch names no calls") from None
    return [joined[at : at + _SLOT_BYTES] for at in islice(range(0, len(joined), _SLOT_BYTES), _MAX_CALLS)]
