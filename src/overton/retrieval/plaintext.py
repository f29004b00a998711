"""Text from elsewhere without what is no text."""

from __future__ import annotations

import re

__all__ = ["clean", "one_line"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BLANK = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")


def clean(text: str) -> str:
    """The text without control characters and halves of surrogate pairs, with single blank lines."""
    return _BLANK.sub("\n\n", _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))).strip()


def one_line(value: object) -> str:
    """A title or the like on one line, without control characters; '' where it is no text."""
    return " ".join(_CONTROLS.sub("", value).split()) if isinstance(value, str) else ""
