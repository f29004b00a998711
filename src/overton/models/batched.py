"""What batches of OpenAI's and Anthropic's kind share: results as lines of JSON, one for each call, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from overton.errors import AnswerError, RejectedError, UnavailableError, Unreadable
from overton.models.http import Service, malformed
from overton.untrusted import json_of

__all__ = [
    "CALL_BYTES",
    "MOST_PAGES",
    "decoded",
    "expired",
    "failed",
    "garbled",
    "kept",
    "lines_of",
    "most_result_bytes",
    "word",
]

T = TypeVar("T")

CALL_BYTES = 2**16
"""Bytes of one call's result that are read, on average over a batch."""
_MOST_RESULT_BYTES = 2**29
_LONGEST_ID = 200
MOST_PAGES = 50
"""Pages of a list of batches that are looked through."""


def most_result_bytes(calls: int) -> int:
    """How large the results of so many calls may be."""
    return min(_MOST_RESULT_BYTES, 2**20 + calls * CALL_BYTES)


def decoded(service: Service, body: bytes, decode: Callable[[bytes | str], T]) -> T:
    """What a provider says of its batches.

    Raises:
        UnavailableError: nothing of that form.
    """
    try:
        return json_of(body, decode)
    except Unreadable as error:
        raise malformed(service.target, error.reason) from None


def lines_of(service: Service, body: bytes, decode: Callable[[bytes | str], T]) -> Iterator[T]:
    """The lines of results that can be read; what cannot be belongs to nobody, and whose it is will be missing.

    Raises:
        UnavailableError: not one of them can be: that is no provider's file of results.
    """
    read, reason = 0, ""
    for line in body.splitlines():
        if not line.strip():
            continue
        try:
            found = json_of(line, decode)
        except Unreadable as error:
            reason = error.reason
            continue
        read += 1
        yield found
    if reason and not read:
        raise malformed(service.target, f"of its batch's results no line is one: {reason}")


def kept(found: dict[str, bytes | AnswerError], id_: str, result: bytes | AnswerError) -> None:
    """Keep a call's result: of several a body counts, else the first."""
    if id_ not in found or (isinstance(found[id_], AnswerError) and isinstance(result, bytes)):
        found[id_] = result


def expired(name: str) -> AnswerError:
    """What became of a call that was not begun in time, or cancelled before it was."""
    return UnavailableError("expired", f"{name}: its batch ended before the call was begun")


def failed(name: str, said: str) -> AnswerError:
    """What became of a call that was answered with an error."""
    return RejectedError("rejected", f"{name}: it failed in its batch{f' ({said})' if said else ''}")


def garbled(name: str) -> AnswerError:
    """What became of a call of whose result nothing can be made: it may be paid."""
    return UnavailableError("malformed", f"{name}: its result in a batch cannot be read", maybe_billed=True)


def word(id_: str) -> str:
    """A provider's id as it stands in an address.

    Raises:
        UnavailableError: it cannot be one.
    """
    bare = id_.replace("-", "").replace("_", "").replace(".", "")
    if not (id_.isascii() and bare.isalnum() and len(id_) <= _LONGEST_ID):
        raise UnavailableError("malformed", "a provider gave an id that cannot be one", maybe_billed=True)
    return id_
