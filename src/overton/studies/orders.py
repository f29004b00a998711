"""Other orders of a judge's labels or materials, for requests that label a unit again.

No word of a prompt changes. Labels or materials only swap places in the messages and in the reply format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from overton.calls import Draw, Form, Message

T = TypeVar("T")


@dataclass(frozen=True)
class Order:
    """The order of the labels or the materials in a judge's prompt.

    If `is_own`, the order is the study's own. Otherwise `draw` makes a random order. Without a `draw`, the study's own
    order is reversed.
    """

    is_own: bool = True
    draw: Draw | None = None

    def of(self, things: Sequence[T]) -> list[T]:
        """The things in this order."""
        if self.is_own:
            return list(things)
        return list(reversed(things)) if self.draw is None else reorder(self.draw, things)


OWN, REVERSED = Order(), Order(is_own=False)
"""The study's own order, and its reverse."""


def drawn_order(draw: Draw) -> Order:
    """A random order."""
    return Order(is_own=False, draw=draw)


def reorder(draw: Draw, things: Sequence[T]) -> list[T]:
    """Put things in a random order that differs from the given one, if possible."""
    shuffled = draw.shuffle(things)
    return shuffled if shuffled != list(things) else list(reversed(things))


def asked_in_order(
    messages: Sequence[Message], form: Form, labels: Sequence[str], order: Sequence[str]
) -> tuple[tuple[Message, ...], Form]:
    """A request with `labels` in another order. The order changes in the first message, which defines the labels, and
    in the reply format."""
    first, *material = messages
    reordered = msgspec.structs.replace(first, content=text_in_order(first.content, labels, order))
    return (reordered, *material), form_in_order(form, labels, order)


def text_in_order(text: str, labels: Sequence[str], order: Sequence[str]) -> str:
    """A prompt with `labels` in another order and otherwise unchanged.

    Lines that define a label ('critical: the answer ...') swap places. Labels also swap places in a line that names all
    of them in quotation marks. So a published prompt changes only in the order of its labels.
    """
    if tuple(order) == tuple(labels):
        return text
    lines = text.split("\n")
    defined = {label: line for line in lines if (label := _defined_label(line, labels))}
    placed = dict(zip(labels, order, strict=True))

    def reorder_line(line: str) -> str:
        if (label := _defined_label(line, labels)) and placed[label] in defined:
            return defined[placed[label]]
        named = _QUOTED.findall(line)
        if not set(labels) <= {word for _, word in named}:
            return line
        return _QUOTED.sub(lambda found: f"{found[1]}{placed.get(found[2], found[2])}{found[1]}", line)

    return "\n".join(map(reorder_line, lines))


def reverse_last_lines(text: str, count: int) -> str:
    """A prompt with its last `count` lines, which are the options, in reverse order."""
    listed = text.rstrip("\n")
    lines = listed.split("\n")
    return "\n".join([*lines[:-count], *reversed(lines[-count:])]) + text[len(listed) :]


_QUOTED = re.compile(r"""(["'])([^"'\n]+)\1""")


def _defined_label(line: str, labels: Iterable[str]) -> str:
    return next((label for label in labels if line.strip().startswith(f"{label}:")), "")


def form_in_order(form: Form, labels: Sequence[str], order: Sequence[str]) -> Form:
    """A reply format with `labels` in another order, in every list of labels."""
    if tuple(order) == tuple(labels):
        return form
    placed = dict(zip(labels, order, strict=True))
    return msgspec.structs.replace(
        form, choices=tuple(_reorder_schema(list(form.choices), placed)), schema=_reorder_schema(form.schema, placed)
    )


def _reorder_schema(schema: Any, placed: Mapping[str, str]) -> Any:
    if isinstance(schema, dict):
        return {key: _reorder_schema(value, placed) for key, value in schema.items()}
    if not isinstance(schema, list):
        return schema
    if all(isinstance(entry, str) for entry in schema) and set(schema) == placed.keys():
        return [placed[entry] for entry in schema]
    return [_reorder_schema(entry, placed) for entry in schema]


_KEY_LINE = re.compile(r'"\w+": ')


def label_first(messages: Sequence[Message], form: Form, reason: str = "rationale") -> tuple[tuple[Message, ...], Form]:
    """The messages and the reply format with the key `reason` after all other keys. No word of the prompt changes.

    If the reason comes first, the label's probability is conditional on that reason. Then the probability is mostly
    near 0 or 1, and does not estimate the label's proportion among the judge's answers.

    The first message may list the keys one per line ('"rationale": one short sentence'), or in one line of JSON.
    """
    first, *others = messages
    moved = msgspec.structs.replace(first, content=_move_reason_last(first.content, reason))
    return (moved, *others), msgspec.structs.replace(form, schema=_move_key_last(form.schema, reason))


def _move_reason_last(text: str, reason: str) -> str:
    lines = text.split("\n")
    at = next((place for place, line in enumerate(lines) if line.startswith(f'"{reason}": ')), None)
    if at is None:
        return re.sub(rf'\{{("{reason}": "[^"]*"), (.*)\}}', r"{\2, \1}", text)
    end = at + 1
    while end < len(lines) and _KEY_LINE.match(lines[end]):
        end += 1
    return "\n".join([*lines[:at], *lines[at + 1 : end], lines[at], *lines[end:]])


def _move_key_last(schema: dict[str, Any] | None, reason: str) -> dict[str, Any] | None:
    if schema is None:
        return None
    keys = sorted(schema["properties"], key=lambda key: key == reason)
    return schema | {"properties": {key: schema["properties"][key] for key in keys}, "required": keys}


def same_but_for_order(prompt: str, other: str) -> bool:
    """Whether two prompts have the same words, in any order. Simulated judges recognise reordered prompts in this
    way."""
    if prompt == other or len(prompt) != len(other):
        return prompt == other
    return sorted(_WORD.findall(prompt)) == sorted(_WORD.findall(other))


_WORD = re.compile(r"\w+")
