"""What the writer's replies are read into, and the forms that ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from overton.calls import Form
from overton.judging import Reading, list_schema, object_schema, parse_json

__all__ = ["list_form", "number_form", "read_number", "read_texts"]

LONGEST = 1_000
"""Characters of a summary, a viewpoint or a property."""


class _Number(msgspec.Struct):
    cluster: int | str


def number_form(most: int) -> Form:
    """The number of one of `most` clusters, 0 for none of them."""
    return Form(schema=object_schema(cluster={"type": "integer", "enum": list(range(most + 1))}))


def list_form(key: str, items: dict[str, Any], least: int, most: int) -> Form:
    """An object with one list of `least` to `most` members."""
    return Form(schema=object_schema(**{key: list_schema(items, least, most)}))


def read_number(text: str, most: int) -> Reading[int]:
    """The number of a cluster that there is, from 1, or 0; else None and why."""
    reading = parse_json(text, _Number)
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    said = str(reading.value.cluster).strip()
    if not (said.isascii() and said.isdigit()):
        return Reading.invalid(f"{said[:40]!r} is not a number")
    number = int(said[:20])
    if number > most:
        return Reading.invalid(f"there is no number {said[:20]}; there are 1 to {most}, and 0")
    return Reading(number, "as is")


def read_texts(values: Sequence[str], what: str, most: int) -> Reading[list[str]]:
    """Different, not empty texts, spaces evened out, none longer than `LONGEST`; else None and why."""
    found = list(dict.fromkeys(" ".join(value.split()) for value in values if value.strip()))
    if not found:
        return Reading.invalid(f"it names no {what}")
    if any(len(one) > LONGEST for one in found):
        return Reading.invalid(f"one {what} is longer than {LONGEST} characters")
    return Reading(found[:most], "as is")
