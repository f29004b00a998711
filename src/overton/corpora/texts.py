"""Bytes to text to JSON, with limits, and with the place of whatever is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from overton.corpora.findings import Notes, quoted

__all__ = ["MAX_FILE_BYTES", "decode", "kind_of", "read_json", "read_text", "unreadable"]

MAX_FILE_BYTES = 5_000_000
"""An issue's file, or its line in a JSONL file, is at most this long."""

MAX_DEPTH = 32
"""JSON is nested at most this deeply."""

_BOM = b"\xef\xbb\xbf"
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|([\[{])|([\]}])', re.DOTALL)

_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}

# What no item text needs and what terminals, tables or journals stumble over.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def read_text(path: Path, notes: Notes, largest: int = MAX_FILE_BYTES) -> str | None:
    """The file as text; None, with a note, where it is too large, cannot be opened, or is not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        notes.error("", f"cannot be read: {error.strerror or error}")
        return None
    if len(data) > largest:
        notes.error("", f"is larger than {largest:,} bytes")
        return None
    return decode(data, notes)


def decode(data: bytes, notes: Notes) -> str | None:
    """UTF-8 bytes as text, a byte order mark dropped; None, with a note that names the offset, where they are not."""
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        offset = error.start + (len(_BOM) if data.startswith(_BOM) else 0)
        notes.error(f"byte {offset}", f"is not UTF-8 (byte 0x{data[offset]:02x}); save the file as UTF-8")
        return None


def read_json(text: str, notes: Notes) -> dict[str, Any] | None:
    """The JSON object that `text` is; None, with a note, where it is not one, or is nested too deeply."""
    if _depth(text) > MAX_DEPTH:
        notes.error("", f"is nested more than {MAX_DEPTH} levels deep")
        return None
    repeated: list[str] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, repeated), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        line = "" if notes.prefix else f"line {error.lineno}, "
        notes.error(f"{line}column {error.colno}", f"is not valid JSON: {error.msg}")
        return None
    except ValueError as error:
        notes.error("", f"is not valid JSON: {error}")
        return None
    for key in repeated:
        notes.error(quoted(key), "this key stands twice in one object; only one of them would be read")
    if not isinstance(value, dict):
        notes.error("", f"holds {kind_of(value)}, not a JSON object")
        return None
    return value


def unreadable(text: str) -> str | None:
    """Why `text` cannot be used as an item's text, None where it can."""
    if (match := _UNWANTED.search(text)) is None:
        return None
    return f"holds the control character U+{ord(match[0]):04X} at position {match.start()}; remove it"


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += bool(match[1]) - bool(match[2])
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        repeated += [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    return _KINDS.get(type(value), "null")
