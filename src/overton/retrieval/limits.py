"""Limits on fetching pages: size, time, allowed hosts, the agent name, and the types of bodies that are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from overton.errors import Unreadable
from overton.retrieval.page_text import one_line
from overton.untrusted import Limit
from overton.untrusted import inflated as inflate_pieces
from overton.version import __version__

ARCHIVE = "pages.warc.gz"
"""The archive's name in a run folder."""

_AGENT = f"OvertonBot/{__version__} (Overton, a study of language models)"
"""The agent name under which pages are fetched. Sites' robots.txt files call it OvertonBot."""


@dataclass(frozen=True)
class FetchLimits:
    """The limits for fetching pages.

    `allow` has the hosts (names or IP literals, in lower case) that may have private addresses and any port.
    `max_bytes` limits a page's body both before and after decompression. `timeout` limits the seconds that all requests
    of one attempt take together. The wait for a host's turn does not count. Each host gets at most `per_host`
    connections at a time, started at least `delay` seconds apart.
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
        """Whether the user allowed this host by name."""
        return host.lower().rstrip(".") in self.allow


class PageSkipped(Exception):
    """A page cannot be read.

    `reason` is a word or two. `again` means that a retry may succeed, and `wait` is the number of seconds that the host
    wants before a retry. `network` means that the host did not answer, possibly because this machine's network is down.
    """

    def __init__(self, reason: str, *, again: bool = False, wait: float | None = None, network: bool = False) -> None:
        self.reason = reason
        self.again = again
        self.wait = wait
        self.network = network
        super().__init__(reason)


_TEXT_TYPES = {"text/html", "application/xhtml+xml", "text/plain", "text/markdown", ""}
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
_WINDOW_BITS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}  # some servers' deflate has no zlib header
_MOST_CODINGS = 2
_MARGIN_BYTES = 1 << 17


def declared_type(headers: Mapping[str, str]) -> str:
    """The media type that the headers declare, in lower case; '' if they declare none."""
    return headers.get("Content-Type", "").partition(";")[0].strip().lower()


def declared_charset(content_type: str) -> str:
    """The charset in a Content-Type header; '' if the header has none."""
    found = _CHARSET.search(content_type)
    return found[1].lower() if found else ""


def is_text(media_type: str) -> bool:
    """Whether text can be extracted from a body of this type. True if no type was declared."""
    return media_type in _TEXT_TYPES


def sniffed(body: bytes) -> str:
    """The type of a body that is not text ('application/pdf', 'binary'), '' if the body may be text. The declared type
    is ignored."""
    start = body[:1024].lstrip()
    for magic, media_type in _MAGIC:
        if start.startswith(magic):
            return media_type
    return "binary" if b"\0" in start and not start.startswith(_UTF16) else ""


def inflate(body: bytes, encoding: str, most: int, *, cut: bool = False) -> bytes:
    """The body with its content encodings undone. Only gzip and deflate can be undone, because Overton requests no
    other encoding.

    With `cut`, a body that ends early is returned as far as it goes, and a body of more than `most` bytes is cut.

    Raises:
        PageSkipped: the body would be larger than `most` bytes, is damaged, or has another encoding.
    """
    codings = [name for part in encoding.lower().split(",") if (name := part.strip()) not in {"", "identity"}]
    if len(codings) > _MOST_CODINGS or any(name not in _WINDOW_BITS for name in codings):
        raise PageSkipped(f"content encoding {one_line(encoding)[:20]}")
    for name in reversed(codings):
        body = _undo_coding(body, name, most, cut)
    return body


def _undo_coding(body: bytes, coding: str, most: int, cut: bool) -> bytes:
    for window in _WINDOW_BITS[coding]:
        content = bytearray()
        try:
            for piece in inflate_pieces([body], window, Limit(most + _MARGIN_BYTES)):
                content += piece
                if len(content) > most and cut:
                    break
        except Unreadable as unreadable:
            if not content:
                continue
            if not cut:
                raise PageSkipped("too large" if unreadable.too_large else "damaged body") from None
        if len(content) > most and not cut:
            raise PageSkipped("too large")
        return bytes(content[:most])
    raise PageSkipped("damaged body")
