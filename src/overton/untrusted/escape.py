"""Functions that make foreign texts safe to show on a page, on a terminal, in JSON or in a spreadsheet."""

from __future__ import annotations

import re

# Control characters (C0, DEL, C1) except tab and newline, the characters that change the writing direction, and
# characters not allowed in XML. Escaping of markup does not disable these characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[\x7f-\U0010ffff]")
_LINE_ENDS = re.compile("[\t\n]")


def visible(text: str) -> str:
    """The text with control characters and invisible direction characters spelled out, as in '[U+202E]'. The result can
    be encoded as UTF-8."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", _SURROGATES.sub("\ufffd", text))


def visible_line(text: str) -> str:
    """The result of `visible` on one line: tabs and line breaks become spaces."""
    return _LINE_ENDS.sub(" ", visible(text))


def visible_json(text: str, *, only_ascii: bool = False) -> str:
    """A JSON text in which the characters that `visible` spells out, or all non-ASCII characters, are written as JSON
    escapes. The value of the JSON stays the same."""
    return (_BEYOND_ASCII if only_ascii else _UNSEEN).sub(_escape_units, text)


def _escape_units(match: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(match[0].encode("utf-16")).cast("H")[1:])


# The signs that start a formula in a spreadsheet, including full-width and small forms. Then the characters that a
# spreadsheet may skip before a sign: white space, invisible characters, quotation marks.
_SIGNS = r"=+\-@\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"
_SKIPPED = (
    r"\s\"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff"
)
# A text may already have apostrophes there. It gets one more before them, so that removing one restores the text.
_FORMULA = re.compile(rf"'*+(?:[{_SKIPPED}]*+[{_SIGNS}]|[\t\n])")
_BEFORE_SIGN = re.compile(rf"(?<![{_SKIPPED};])[{_SKIPPED};]++(?='*+[{_SIGNS}])")
_DISARMED_SIGN = re.compile(rf"(?<![{_SKIPPED};])([{_SKIPPED};]++)'(?='*+[{_SIGNS}])")
_SEPARATOR = re.compile(r"[;\t\n]")


def cell(text: str) -> str:
    """`text` as a cell of a comma-separated table, which a spreadsheet will not read as a formula.

    A text that a spreadsheet program would take for a formula gets a leading apostrophe (OWASP, 'CSV Injection'). The
    formula's first sign may follow white space, or be full-width. Programs that use ';' or tabs as separators split a
    text at these characters and at line breaks, even within quotation marks. So each part that would then be a formula
    also gets an apostrophe. An apostrophe that the text already has there stays, and a second one is added. So
    `uncelled` can restore `visible(text)`.
    """
    shown = _BEFORE_SIGN.sub(_disarm, visible(text))
    return f"'{shown}" if _FORMULA.match(shown) else shown


def _disarm(run: re.Match[str]) -> str:
    return f"{run[0]}'" if _SEPARATOR.search(run[0]) else run[0]


def uncelled(text: str) -> str:
    """The text of a cell without the apostrophes that prevent formulas. This is the reverse of `cell`."""
    shown = text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text
    return _DISARMED_SIGN.sub(lambda run: run[1] if _SEPARATOR.search(run[1]) else run[0], shown)
