"""One batch: its calls, its progress, and the notes from which a later session resumes it."""

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
"""The outcome of a call in a batch: the content it was sent with, and its reply's body or why there is none."""

_SPEAKER = f"{NOTE}batch/"
_SLOT_BYTES = 16
_IDENTITY_BYTES = 40
_CONTENTS, _STATE = 0, 1
_MAX_CALLS = 2**20
"""Most calls that a batch's note may name: more than any provider accepts."""


def new_name() -> str:
    """The name of a new batch: eight letters and digits, unique."""
    return b32encode(secrets.token_bytes(5)).decode().lower()


def call_id(identity: Identity, name: str) -> str:
    """A call's id in a batch: its whole identity, 54 characters, and the batch's name; 63 in all, of the characters
    that Anthropic allows and within its limit of 64."""
    return f"{urlsafe_b64encode(identity.slot + identity.content).decode().rstrip('=')}-{name}"


def identity_of(id_: str, name: str) -> Identity | None:
    """The identity in an id, None if the id is not of this batch."""
    text, dash, end = id_.rpartition("-") if id_.endswith(f"-{name}") else ("", "", "")
    if not dash or end != name or not id_.isascii():
        return None
    try:
        found = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return Identity(found[:_SLOT_BYTES], found[_SLOT_BYTES:]) if len(found) == _IDENTITY_BYTES else None


class _ContentsNote(msgspec.Struct, frozen=True):
    """A note made before any part of a batch is sent: its calls' slots and the most each can cost, in dollars."""

    slots: str
    each: float


class _StateNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """The later notes of a batch: `at` is their time (Unix), `upload` where its calls are, `id` the provider's for it.

    `held` are the slots for which money is still set aside, None for all of them. `over` says that nothing is left to
    do. `each` is how many dollars are set aside for a call, if more than at first. `refused` is the provider's reason.
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

    `open` are the slots of calls missing from the journal, `reserved` the dollars set aside for each call that may
    still be billed. `id` is '' until the provider has given one; `others` are further ids that may be this batch's.
    `at` is when it was last sent, `since` when this session began to send it (Unix times).
    `results` exist once it is over: each call's outcome, with the content it was sent with. `earlier` says that an
    earlier session sent it; `unsure` that it may have been made without our knowing its id, perhaps more than once;
    `disproved` are ids that turned out to be of other batches. `refused` is why the provider made none of it, or ended
    it early: its open calls are asked only if that is requested.
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
    """Whether none of the money set aside for it has been settled yet."""
    raised: float = 0.0
    """`each` if it was raised after the batch was made, otherwise 0."""

    @property
    def is_out(self) -> bool:
        """Whether it continues at the provider."""
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
    """The batches that an earlier session noted and that are not over, in the order sent.

    Raises:
        JournalError: a note is not one of ours.
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
