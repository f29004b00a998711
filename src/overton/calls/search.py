"""Requests to a search engine and to a page fetcher, and their replies.

Search engines and page fetchers are called like models: the single message of a call is a query or an address, and the
reply's text is JSON. If a page cannot be read, the reply says so, and is journaled like any other reply. So a resumed
conversation sees the same pages again.
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
    """A page as it was read, or the reason why it was not read.

    `url` is the requested address, and `final_url` the address after redirects ('' without redirects). `digest` is the
    SHA-256 of the body as received, in hexadecimal; the archive stores the body under this digest. `date` is YYYY-MM-DD
    or ''. If the page was not read, `skipped` gives the reason in a word or two ('robots.txt', 'application/pdf', 'HTTP
    404', 'too large', 'timeout', 'private address', ...) and there is no text.
    """

    url: str
    title: str = ""
    date: str = ""
    text: str = ""
    digest: str = ""
    final_url: str = ""
    skipped: str = ""


def hits_of(reply: Reply) -> tuple[Hit, ...]:
    """Parse the hits in a search engine's reply.

    Raises:
        CallFailed: the reply contains no hits in the agreed format.
    """
    return _decode_reply(_decode_hits, reply, "hits").hits


def page_of(reply: Reply) -> Page:
    """Parse the page in a fetcher's reply.

    Raises:
        CallFailed: the reply contains no page in the agreed format.
    """
    return _decode_reply(_decode_page, reply, "a page")


# Models and conditions with the same query get the same pages, so decoding is cached.
_decode_hits = lru_cache(maxsize=16)(msgspec.json.Decoder(Hits).decode)
_decode_page = lru_cache(maxsize=16)(msgspec.json.Decoder(Page).decode)

T = TypeVar("T")


def _decode_reply(decode: Callable[[str], T], reply: Reply, what: str) -> T:
    try:
        return decode_json(reply.text, decode)
    except Unreadable as error:
        raise CallFailed("malformed", f"the reply does not contain {what}: {error}") from error
