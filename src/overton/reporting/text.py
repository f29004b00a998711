"""Hostile text made showable: what cannot be seen is named, what cannot be encoded is replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from markupsafe import Markup

__all__ = ["encoded", "inside_script", "visible", "visible_throughout", "without_surrogates"]

# Control characters except tab and newline, the characters that turn the direction of writing, and characters that
# no XML may hold. Escaping keeps markup from acting; these would act without markup.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` with unseen control and direction characters written out, as in '[U+202E]', and encodable as UTF-8."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", _SURROGATES.sub("\ufffd", text))


def visible_throughout(value: Any) -> Any:
    """`value`, a JSON-like structure, with every string in it made visible."""
    return _throughout(value, visible)


def without_surrogates(value: Any) -> Any:
    """`value`, a JSON-like structure, with lone surrogates replaced, so that it can be encoded."""
    return _throughout(value, lambda text: _SURROGATES.sub("\ufffd", text))


def _throughout(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _throughout(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_throughout(inner, change) for inner in value]
    return value


def encoded(value: Any) -> bytes:
    """`value`, anything that msgspec can encode, as JSON; NaN becomes null, lone surrogates are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(without_surrogates(msgspec.to_builtins(value)))


def inside_script(json: bytes) -> Markup:
    """JSON so that it can stand inside a script element: no character in it ends the element or the JSON."""
    text = json.decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
