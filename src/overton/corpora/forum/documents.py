"""Posts and comments in responses of Reddit's API: listings, things, and the replies nested in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from overton.errors import Unreadable
from overton.untrusted import decode_json

__all__ = ["is_document", "things"]

_DEEPEST = 200
"""Most levels of nested things. A reply adds two, and pages show replies at most ten deep."""

_BEGIN = re.compile(rb'\s*(?:\[|\{\s*"(?:kind|data)"\s*:)')


class _Thing(msgspec.Struct, frozen=True):
    kind: str | None = None
    data: msgspec.Raw = msgspec.Raw()  # a union of Raw and None would never give Raw


class _Listing(msgspec.Struct, frozen=True):
    children: list[msgspec.Raw] = []


class _Answered(msgspec.Struct, frozen=True):
    replies: msgspec.Raw = msgspec.Raw()


_THING = msgspec.json.Decoder(_Thing).decode
_LISTING = msgspec.json.Decoder(_Listing).decode
_ANSWERED = msgspec.json.Decoder(_Answered).decode
_MEMBERS = msgspec.json.Decoder(list[msgspec.Raw]).decode


def is_document(begin: bytes) -> bool:
    """Whether a file with this start is an API response; a dump's lines start with a post's or comment's fields."""
    return _BEGIN.match(begin) is not None


def things(document: bytes) -> Iterator[tuple[str, bytes | memoryview] | Unreadable]:
    """Every thing of a document, in order, with its kind ('t3' a post, 't1' a comment, '' unknown).

    Accepted are a listing, a list of listings (as for a page of comments), replies nested in comments, and plain
    objects in a list or under 'data', as from other archives. What cannot be read is yielded as the error.
    """
    waiting: list[tuple[int, bytes | memoryview]] = [(0, document)]
    while waiting:
        depth, value = waiting.pop()
        try:
            if depth > _DEEPEST:
                raise Unreadable("is nested too deeply")
            kind, data, inner = _opened(value)
        except Unreadable as error:
            yield error
            continue
        if data is not None:
            yield kind, data
        waiting += [(depth + 1, memoryview(member)) for member in reversed(inner)]


def _opened(value: bytes | memoryview) -> tuple[str, bytes | memoryview | None, list[msgspec.Raw]]:
    """A value's kind, its data if it is a thing, and the values inside that may be or contain things."""
    if _first(value) == b"[":
        return "", None, decode_json(value, _MEMBERS)
    thing = decode_json(value, _THING)
    data = memoryview(thing.data)
    if not data:
        return ("", value, []) if thing.kind is None else ("", None, [])
    if thing.kind == "Listing":
        return "", None, decode_json(data, _LISTING).children
    if thing.kind is None:
        return "", None, [thing.data]
    return thing.kind, data, _replies(data) if thing.kind == "t1" else []


def _replies(data: memoryview) -> list[msgspec.Raw]:
    replies = decode_json(data, _ANSWERED).replies
    return [replies] if _first(memoryview(replies)) == b"{" else []


def _first(value: bytes | memoryview) -> bytes:
    return bytes(value[:64]).lstrip()[:1]
