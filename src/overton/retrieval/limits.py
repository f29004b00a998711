"""What a fetch may cost, whom it may reach, under which name it asks, and which kinds of bodies are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from overton import __version__
from overton.errors import Unreadable
from overton.retrieval.extraction import one_line
from overton.untrusted import Limit
from overton.untrusted import inflated as undone

__all__ = ["ARCHIVE", "Limits", "Unread", "declared_charset", "declared_type", "inflated", "is_text", "sniffed"]

ARCHIVE = "pages.warc.gz"
"""The archive's name in a run folder."""

_AGENT = f"OvertonBot/{__version__} (Overton, a study of language models)"
"""The one name under which pages are asked for; robots.txt files know it as OvertonBot."""


@dataclass(frozen=True)
class Limits:
    """How pages are fetched.

    `allow` holds the hosts (names or IP literals, in lower case) that may be private and have any port; `max_bytes`
    bounds a page's body as it comes and again once decompressed; `timeout` is in seconds for all requests of one
    attempt, waiting for a host's turn not counted; `per_host` connections at most go to a host at a time, and their
    beginnings are at least `delay` seconds apart.
    """

    allow: frozenset[str] = frozenset()
    max_bytes: int = 5_000_000
    timeout: float = 20.0
    per_host: int = 2
    delay: float = 0.5
    agent: str = _AGENT
    connections: int = 32
    redirects: int = 5

    def allows(self, host: str) -> bool:
        """Whether the user let this host through by name."""
        return host.lower().rstrip(".") in self.allow


class Unread(Exception):
    """A page cannot be read: `reason` in a word or two.

    `again` says that another try may end otherwise, `wait` after how many seconds the host wants it; `network` that
    nobody answered, which may be the fault of our own network.
    """

    def __init__(self, reason: str, *, again: bool = False, wait: float | None = None, network: bool = False) -> None:
        self.reason = reason
        self.again = again
        self.wait = wait
        self.network = network
        super().__init__(reason)


_TEXT = {"text/html", "application/xhtml+xml", "text/plain", "text/markdown", ""}
_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"{\\rtf", "application/rtf"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}  # some servers' deflate has no zlib header
_MOST_CODINGS = 2
_MARGIN = 1 << 17


def declared_type(headers: Mapping[str, str]) -> str:
    """The media type that the headers declare, in lower case, '' where they do not."""
    return headers.get("Content-Type", "").partition(";")[0].strip().lower()


def declared_charset(content_type: str) -> str:
    """The charset in a Content-Type header, '' where there is none."""
    found = _CHARSET.search(content_type)
    return found[1].lower() if found else ""


def is_text(media_type: str) -> bool:
    """Whether a type holds text that can be taken out; one that is not declared may."""
    return media_type in _TEXT


def sniffed(body: bytes) -> str:
    """The type of a body that is no text whatever was declared ('application/pdf', 'binary'), '' where it may be."""
    start = body[:1024].lstrip()
    for magic, media_type in _MAGIC:
        if start.startswith(magic):
            return media_type
    return "binary" if b"\0" in start and not start.startswith(_UTF16) else ""


def inflated(body: bytes, encoding: str, most: int, *, cut: bool = False) -> bytes:
    """The body with its content encodings undone: gzip and deflate, which is all that is asked for.

    With `cut`, what is longer than `most` bytes or ends early is given as far as it goes.

    Raises:
        Unread: it would be larger than `most` bytes, is damaged, or encoded otherwise.
    """
    codings = [name for part in encoding.lower().split(",") if (name := part.strip()) not in {"", "identity"}]
    if len(codings) > _MOST_CODINGS or any(name not in _WINDOWS for name in codings):
        raise Unread(f"content encoding {one_line(encoding)[:20]}")
    for name in reversed(codings):
        body = _undone(body, name, most, cut)
    return body


def _undone(body: bytes, coding: str, most: int, cut: bool) -> bytes:
    for window in _WINDOWS[coding]:
        content = bytearray()
        try:
            for piece in undone([body], window, Limit(most + _MARGIN)):
                content += piece
                if len(content) > most and cut:
                    break
        except Unreadable as unreadable:
            if not content:
                continue
            if not cut:
                raise Unread("too large" if unreadable.too_large else "damaged body") from None
        if len(content) > most and not cut:
            raise Unread("too large")
        return bytes(content[:most])
    raise Unread("damaged body")
