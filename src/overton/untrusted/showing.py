"""Texts of others made fit to be shown: on a page, on a terminal, as JSON, in a spreadsheet's cell."""

from __future__ import annotations

import re

__all__ = ["cell", "visible", "visible_json", "visible_line"]

# Control characters (C0, DEL, C1) except tab and newline, the characters that turn the direction of writing, and
# characters that no XML may hold. Escaping keeps markup from acting; these would act without markup.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[\x7f-\U0010ffff]")
_LINE_ENDS = re.compile("[\t\n]")


def visible(text: str) -> str:
    """`text` with unseen control and direction characters written out, as in '[U+202E]', and encodable as UTF-8."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", _SURROGATES.sub("\ufffd", text))


def visible_line(text: str) -> str:
    """The same on one line: tabs and line breaks become spaces."""
    return _LINE_ENDS.sub(" ", visible(text))


def visible_json(text: str, *, only_ascii: bool = False) -> str:
    """A JSON text with the same characters escaped as JSON escapes them, or all but ASCII: it is of the same value."""
    return (_BEYOND_ASCII if only_ascii else _UNSEEN).sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(match[0].encode("utf-16")).cast("H")[1:])


_ACTIVE = re.compile(r"[\s\u200b-\u200f\u2060\ufeff\x00-\x1f]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")


def cell(text: str) -> str:
    """`text` as a spreadsheet's cell that stays text: what a spreadsheet would take for a formula begins with an
    apostrophe, also where the sign is full-width or stands after white space that is trimmed away (OWASP, 'CSV
    Injection')."""
    return f"'{text}" if _ACTIVE.match(text) else text
