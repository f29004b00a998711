"""Identities of calls: which calls count as the same, and how each call gets its address, identity and seed on any
execution backend."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from overton.calls import Form, Message, Settings

__all__ = [
    "CallKey",
    "Identity",
    "call_seed",
    "differing_parts",
    "digest",
    "identify",
    "slot_of",
]

_PARTS = ("messages", "settings", "form")
"""The parts of a call's content, in the order of their digests."""

_DIGEST_BYTES = 8


class Identity(msgspec.Struct, frozen=True, gc=False):
    """A call's identity: its address in the run, and the content that is sent.

    `slot` is a digest of trial, speaker, number of the call and model. `content` has the digests of messages, settings
    and reply format, one after the other. Each slot has only one call. If the slot's content in the journal is
    different, then code, prompts, items or settings have changed.
    """

    slot: bytes
    content: bytes

    def __str__(self) -> str:
        return (self.slot + self.content).hex()


class CallKey(NamedTuple):
    """A call's address in a run: it is the `number`-th call (from 0) that `trial` makes to `speaker`, and `answerer` is
    the model or service that answers.

    A call that all trials share belongs to no trial: its `trial` is empty and its number is 0.
    """

    trial: str
    speaker: str
    number: int
    answerer: str


def identify(place: CallKey, messages: Sequence[Message], settings: Settings, form: Form | None) -> Identity:
    """The identity of a call, which does not depend on order or time. The slot of a shared call follows from its
    content."""
    said = blake2b(b"".join(map(_encode_message, messages)), digest_size=_DIGEST_BYTES).digest()
    content = said + _digest_parts(_encode(settings), _encode(form))
    return Identity(slot_of(place, content), content)


def slot_of(place: CallKey, content: bytes) -> bytes:
    """The slot of a call with this content at this address."""
    where = "\0".join(map(str, place)).encode() + (b"" if place.trial else content)
    return blake2b(where, digest_size=16).digest()


def _encode_message(message: Message) -> bytes:
    """A message preceded by its length, so that no two conversations give the same bytes."""
    content = message.content.encode()
    return b"%s %d " % (message.role.encode(), len(content)) + content


def call_seed(identity: Identity, seed: int) -> int:
    """The seed sent with a call. Its 31 bits are computed from the call's identity and the seed in the settings."""
    word = blake2b(identity.slot + identity.content + str(seed).encode(), digest_size=4).digest()
    return int.from_bytes(word, "little") >> 1


def digest(value: object) -> str:
    """A hexadecimal digest of any value made of plain types and structs. It does not depend on the order of keys."""
    return blake2b(_encode(value), digest_size=16).hexdigest()


def differing_parts(content: bytes, other: bytes) -> list[str]:
    """Names of the parts in which the contents of two identities differ."""
    cut = [(index * _DIGEST_BYTES, (index + 1) * _DIGEST_BYTES) for index in range(len(_PARTS))]
    return [part for part, (start, end) in zip(_PARTS, cut, strict=True) if content[start:end] != other[start:end]]


# Keys are sorted, since the order of a dictionary (a schema, extra fields) has no meaning to an endpoint.
_encode = msgspec.json.Encoder(order="deterministic").encode


@lru_cache(maxsize=1024)
def _digest_parts(settings: bytes, form: bytes) -> bytes:
    return b"".join(blake2b(part, digest_size=_DIGEST_BYTES).digest() for part in (settings, form))
