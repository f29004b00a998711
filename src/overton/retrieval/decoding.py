"""From the bytes of a page to its characters, whatever it says about itself."""

from __future__ import annotations

import codecs
import re

__all__ = ["decoded"]

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CODEC = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|latin-?1|iso-?8859-?(?P<part>\d{1,2})|(windows-|cp|x-cp)(125\d|874)|"
    r"gb2312|gbk|gb18030|big5|big5-hkscs|euc-jp|(x-)?(shift[_-]?jis|sjis)|iso-2022-jp|euc-kr|koi8-[ru]|tis-620|"
    r"macintosh",
    re.IGNORECASE,
)
"""Charsets of pages. Python's codecs hold other things as well, such as decompressors."""


def decoded(body: bytes, charset: str = "") -> str:
    """The text of a page. `charset` is the one that its headers declare, '' for none.

    A byte order mark is believed first, then the declarations (header, then document) as far as the bytes follow
    them, then UTF-8, then what the bytes look like; what nothing can read becomes U+FFFD.
    """
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body.decode(codec, "replace")
    for label in (charset, _label(body), "utf-8"):
        if label and (text := _strictly(body, label)) is not None:
            return text
    return _guessed(body)


def _label(body: bytes) -> str:
    found = _META.search(body[:2048]) or _XML.search(body[:200])
    return found[1].decode("ascii") if found else ""


def _strictly(body: bytes, label: str) -> str | None:
    if not _CODEC.fullmatch(label):
        return None
    try:
        return body.decode(_python_codec(label.lower()))
    except (LookupError, UnicodeDecodeError):
        return None


def _python_codec(label: str) -> str:
    """What the label means on the web (the WHATWG's table): Latin-1 there is Windows' code page 1252."""
    if label in {"ascii", "us-ascii", "latin1", "latin-1", "iso-8859-1", "iso8859-1"}:
        return "cp1252"
    if label in {"gb2312", "gbk"}:
        return "gb18030"
    return label.removeprefix("x-").replace("windows-", "cp").replace("macintosh", "mac-roman")


def _guessed(body: bytes) -> str:
    from trafilatura.utils import detect_encoding

    for label in detect_encoding(body):
        if (text := _strictly(body, label.replace("_", "-"))) is not None:
            return text
    return body.decode("utf-8", "replace")
