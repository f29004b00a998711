"""Other orders of a judge's labels or materials, in which it is asked for second labels.

No word of a prompt changes: labels or materials only swap places, in the messages and in the form.
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
    """The order in which a judge's prompt has its labels, or its materials.

    It is the study's own, or another one: that of a `draw`, and otherwise the reverse.
    """

    is_own: bool = True
    draw: Draw | None = None

    def of(self, things: Sequence[T]) -> list[T]:
        """These things in this order."""
        if self.is_own:
            return list(things)
        return list(reversed(things)) if self.draw is None else reorder(self.draw, things)


OWN, REVERSED = Order(), Order(is_own=False)
"""As the study asks, and the other way round."""


def drawn_order(draw: Draw) -> Order:
    """Another order, by a random draw."""
    return Order(is_own=False, draw=draw)


def reorder(draw: Draw, things: Sequence[T]) -> list[T]:
    """The things in a random order other than their own, if there is another."""
    shuffled = draw.shuffle(things)
    return shuffled if shuffled != list(things) else list(reversed(things))


def asked_in_order(
    messages: Sequence[Message], form: Form, labels: Sequence[str], order: Sequence[str]
) -> tuple[tuple[Message, ...], Form]:
    """A request with `labels` in another order: in the first message, which says what they mean, and in the form."""
    first, *material = messages
    reordered = msgspec.structs.replace(first, content=text_in_order(first.content, labels, order))
    return (reordered, *material), form_in_order(form, labels, order)


def text_in_order(text: str, labels: Sequence[str], order: Sequence[str]) -> str:
    """A prompt with `labels` in another order, and no word changed.

    Lines that define a label ('critical: the answer ...') swap places, and wherever a line names all of the labels in
    quotation marks these do too. So a published prompt stays as it is but for the order.
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
    """A prompt with its last `count` lines in reverse order: the options with which it ends."""
    listed = text.rstrip("\n")
    lines = listed.split("\n")
    return "\n".join([*lines[:-count], *reversed(lines[-count:])]) + text[len(listed) :]


_QUOTED = re.compile(r"""(["'])([^"'\n]+)\1""")


def _defined_label(line: str, labels: Iterable[str]) -> str:
    return next((label for label in labels if line.strip().startswith(f"{label}:")), "")


def form_in_order(form: Form, labels: Sequence[str], order: Sequence[str]) -> Form:
    """A form in which the `labels` of every list swap places as in `text_in_order`."""
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
    """The messages and the form with the key `reason` after all others; no word of the prompt changes.

    If a reason comes first, the label's probability is the one after that reason: mostly next to 0 or 1, and not the
    share among the judge's answers.

    The first message lists the keys: one per line ('"rationale": one short sentence'), or in one line of JSON.
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
    """Whether two prompts have the same words, perhaps in another order; for simulated judges, which know their own."""
    if prompt == other or len(prompt) != len(other):
        return prompt == other
    return sorted(_WORD.findall(prompt)) == sorted(_WORD.findall(other))


_WORD = re.compile(r"\w+")
