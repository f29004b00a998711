"""Requests to a search engine and to a page fetcher, and their replies.

Both are answerers like any other: a call's single message is a query or an address; the reply's text is JSON. A page
that cannot be read is an answer too: what a conversation saw of the web is what it will see again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import msgspec

from overton.calls.types import Reply
from overton.errors import CallFailed, Unreadable
from overton.untrusted import decode_json


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One result of a search: its address, title and snippet, as the engine gave them."""

    url: str
    title: str = ""
    snippet: str = ""


class Hits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The results of one query, best first."""

    hits: tuple[Hit, ...]


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page as it was read, or why it was not.

    `url` is the requested address, `final_url` where redirects led ('' if nowhere else); `digest` is the SHA-256 of the
    body as received, in hexadecimal, under which the archive stores it; `date` is YYYY-MM-DD or ''. If the page was
    not read, `skipped` says why in a word or two ('robots.txt', 'application/pdf', 'HTTP 404', 'too large',
    'timeout', 'private address', ...) and there is no text.
    """

    url: str
    title: str = ""
    date: str = ""
    text: str = ""
    digest: str = ""
    final_url: str = ""
    skipped: str = ""


def hits_of(reply: Reply) -> tuple[Hit, ...]:
    """The hits in a search engine's reply.

    Raises:
        CallFailed: the reply contains none in the agreed form.
    """
    return _decode_reply(_decode_hits, reply, "hits").hits


def page_of(reply: Reply) -> Page:
    """The page in a fetcher's reply.

    Raises:
        CallFailed: the reply contains none in the agreed form.
    """
    return _decode_reply(_decode_page, reply, "a page")


# All models and conditions that search for the same get the same pages.
_decode_hits = lru_cache(maxsize=16)(msgspec.json.Decoder(Hits).decode)
_decode_page = lru_cache(maxsize=16)(msgspec.json.Decoder(Page).decode)

T = TypeVar("T")


def _decode_reply(decode: Callable[[str], T], reply: Reply, what: str) -> T:
    try:
        return decode_json(reply.text, decode)
    except Unreadable as error:
        raise CallFailed("malformed", f"the reply does not contain {what}: {error}") from error
