"""What kind of thing a response is: by what it says, and by what it begins with."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

from overton.retrieval.limits import Unread
from overton.retrieval.plaintext import one_line

__all__ = ["declared_charset", "declared_type", "inflated", "is_text", "sniffed"]

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
        decompressor = zlib.decompressobj(window)
        try:
            content = decompressor.decompress(body, most + 1)
        except zlib.error:
            continue
        if len(content) > most and not cut:
            raise Unread("too large")
        if not (decompressor.eof or cut):
            raise Unread("damaged body")
        return content[:most]
    raise Unread("damaged body")
