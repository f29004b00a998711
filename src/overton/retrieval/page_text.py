"""The readable text, the title and the date of a page, extracted from its bytes."""

from __future__ import annotations

import codecs
import re
from typing import Literal

import msgspec

_DATES = {"original_date": True, "extensive_search": False, "outputformat": "%Y-%m-%d"}


class PageBody(msgspec.Struct, frozen=True):
    """A body to read: its bytes, the charset declared in the headers ('' if undeclared), and its type."""

    body: bytes
    charset: str = ""
    kind: Literal["html", "text"] = "html"


class PageText(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page's content. `text` is '' if the page has no text; `date` is YYYY-MM-DD or ''."""

    text: str = ""
    title: str = ""
    date: str = ""


def extract(job: PageBody) -> PageText:
    """The main text of an HTML page, without boilerplate (trafilatura), or a plain text unchanged."""
    text = page_source(job.body, job.charset)
    return PageText(clean(text)) if job.kind == "text" else _extract_html(text)


def _extract_html(text: str) -> PageText:
    from trafilatura import bare_extraction

    document = bare_extraction(text, with_metadata=True, include_comments=False, date_extraction_params=_DATES)
    if document is None or isinstance(document, dict):
        return PageText()
    return PageText(clean(document.text or ""), one_line(document.title), one_line(document.date))


_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")


def clean(text: str) -> str:
    """The text without control characters, lone surrogates and repeated blank lines."""
    return _BLANK_LINES.sub("\n\n", _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))).strip()


def one_line(value: object) -> str:
    """A short text, such as a title, on one line and without control characters; '' if the value is not text."""
    return " ".join(_CONTROLS.sub("", value).split()) if isinstance(value, str) else ""


_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_KNOWN_CHARSET = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|latin-?1|iso-?8859-?(?P<part>\d{1,2})|(windows-|cp|x-cp)(125\d|874)|"
    r"gb2312|gbk|gb18030|big5|big5-hkscs|euc-jp|(x-)?(shift[_-]?jis|sjis)|iso-2022-jp|euc-kr|koi8-[ru]|tis-620|"
    r"macintosh",
    re.IGNORECASE,
)
"""The charsets that a page may declare. Python's list of codecs would not do, because it also includes decompressors,
for example."""


def page_source(body: bytes, charset: str = "") -> str:
    """The text of a page. `charset` is the charset declared in the headers, '' if undeclared.

    The charset is taken from a byte order mark if there is one. Otherwise the declarations are tried (header, then
    document), then UTF-8, and finally a guess from the bytes. A charset is used only if the bytes conform to it. Bytes
    that cannot be decoded become U+FFFD.
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.decode(codec, "replace")
    for label in (charset, _declared_label(body), "utf-8"):
        if label and (text := _decode_strictly(body, label)) is not None:
            return text
    return _decode_by_guess(body)


def _declared_label(body: bytes) -> str:
    found = _META_CHARSET.search(body[:2048]) or _XML_ENCODING.search(body[:200])
    return found[1].decode("ascii") if found else ""


def _decode_strictly(body: bytes, label: str) -> str | None:
    if not _KNOWN_CHARSET.fullmatch(label):
        return None
    try:
        return body.decode(_python_codec(label.lower()))
    except (LookupError, UnicodeDecodeError):
        return None


def _python_codec(label: str) -> str:
    """Python's codec for a charset label as used on the web (the WHATWG's table). For example, Latin-1 means Windows
    code page 1252 there."""
    if label in {"ascii", "us-ascii", "latin1", "latin-1", "iso-8859-1", "iso8859-1"}:
        return "cp1252"
    if label in {"gb2312", "gbk"}:
        return "gb18030"
    return label.removeprefix("x-").replace("windows-", "cp").replace("macintosh", "mac-roman")


def _decode_by_guess(body: bytes) -> str:
    from trafilatura.utils import detect_encoding

    for label in detect_encoding(body):
        if (text := _decode_strictly(body, label.replace("_", "-"))) is not None:
            return text
    return body.decode("utf-8", "replace")
