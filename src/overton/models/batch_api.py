"""The common part of OpenAI's and Anthropic's batches: results as JSON lines, one per call, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from overton.errors import AnswerError, RejectedError, UnavailableError, Unreadable
from overton.models.http_client import MOST_REPLY_BYTES, ApiClient, malformed
from overton.untrusted import decode_json

T = TypeVar("T")

_MOST_RESULT_BYTES = 2**30
_MAX_ID_CHARS = 200
MOST_PAGES = 50
"""The maximum number of pages that are searched in a list of batches."""


def most_result_bytes(calls: int) -> int:
    """The maximum size of the results of this many calls. Each result may be as large as the reply to a call sent
    alone."""
    return min(_MOST_RESULT_BYTES, calls * MOST_REPLY_BYTES)


def decode_result(service: ApiClient, body: bytes, decode: Callable[[bytes | str], T]) -> T:
    """Decode a provider's response about its batches.

    Raises:
        UnavailableError: the response does not have the expected form.
    """
    try:
        return decode_json(body, decode)
    except Unreadable as error:
        raise malformed(service.target, error.reason) from None


def lines_of(service: ApiClient, body: bytes, decode: Callable[[bytes | str], T]) -> Iterator[T]:
    """Yield the readable lines of results. The calls of unreadable lines count as missing.

    Raises:
        UnavailableError: all lines are unreadable, so this is not a provider's file of results.
    """
    read, reason = 0, ""
    for line in body.splitlines():
        if not line.strip():
            continue
        try:
            found = decode_json(line, decode)
        except Unreadable as error:
            reason = error.reason
            continue
        read += 1
        yield found
    if reason and not read:
        raise malformed(service.target, f"no line of its batch's results is valid: {reason}")


def keep_result(found: dict[str, bytes | AnswerError], id_: str, result: bytes | AnswerError) -> None:
    """Keep a call's result. If a call has several results, keep the first that has a body. If all lack a body, keep the
    first."""
    if id_ not in found or (isinstance(found[id_], AnswerError) and isinstance(result, bytes)):
        found[id_] = result


def expired(name: str) -> AnswerError:
    """The error for a call that was not started in time, or was cancelled before it started."""
    return UnavailableError("expired", f"{name}: its batch ended before the call was started")


def failed(name: str, said: str) -> AnswerError:
    """The error for a call to which the provider replied with an error."""
    return RejectedError("rejected", f"{name}: it failed in its batch{f' ({said})' if said else ''}")


def garbled(name: str) -> AnswerError:
    """The error for a call whose result cannot be read. Such a call may be billed."""
    return UnavailableError("malformed", f"{name}: its result in a batch cannot be read", maybe_billed=True)


def safe_id(id_: str) -> str:
    """A provider's id, for use in a URL.

    Raises:
        UnavailableError: the id has characters or a length that no id has.
    """
    bare = id_.replace("-", "").replace("_", "").replace(".", "")
    if not (id_.isascii() and bare.isalnum() and len(id_) <= _MAX_ID_CHARS):
        raise UnavailableError("malformed", "a provider gave an impossible id", maybe_billed=True)
    return id_
