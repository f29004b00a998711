"""A judge's prompt with the label requested first and the reason last, for token probabilities.

If a reason comes first, the label's probability is the one after that reason: mostly next to 0 or 1, and not the share
among the judge's answers. No word of the prompt changes; only the reason's place does.
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
    """The messages and the form with the key `reason` after all others.

    The first message lists the keys: one per line ('"rationale": one short sentence'), or in one line of JSON.
    """
    first, *others = messages
    moved = msgspec.structs.replace(first, content=_reason_last(first.content, reason))
    return (moved, *others), msgspec.structs.replace(form, schema=_keys_last(form.schema, reason))


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
