"""A judge's question with the label asked for first and the reason last, where token probabilities are wanted.

Where a reason comes first, the label's probability is the one after that reason: mostly next to 0 or 1, and not the
share of the judge's answers. Not a word of the question is another; only the reason's place is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from overton.calls import Form, Message

__all__ = ["label_first"]

_KEY = re.compile(r'"\w+": ')


def label_first(messages: Sequence[Message], form: Form, reason: str = "rationale") -> tuple[tuple[Message, ...], Form]:
    """The messages and the form with the key `reason` behind all others.

    The first message tells the keys: a line for each ('"rationale": one short sentence'), or in one line of JSON.
    """
    first, *others = messages
    told = msgspec.structs.replace(first, content=_reason_last(first.content, reason))
    return (told, *others), msgspec.structs.replace(form, schema=_keys_last(form.schema, reason))


def _reason_last(text: str, reason: str) -> str:
    lines = text.split("\n")
    at = next((place for place, line in enumerate(lines) if line.startswith(f'"{reason}": ')), None)
    if at is None:
        return re.sub(rf'\{{("{reason}": "[^"]*"), (.*)\}}', r"{\2, \1}", text)
    end = at + 1
    while end < len(lines) and _KEY.match(lines[end]):
        end += 1
    return "\n".join([*lines[:at], *lines[at + 1 : end], lines[at], *lines[end:]])


def _keys_last(schema: dict[str, Any] | None, reason: str) -> dict[str, Any] | None:
    if schema is None:
        return None
    keys = sorted(schema["properties"], key=lambda key: key == reason)
    return schema | {"properties": {key: schema["properties"][key] for key in keys}, "required": keys}
