"""Texts that are unchanged from an item's template. A file with such texts is not ready for a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from overton.errors import Problem, quoted
from overton.studies.parsing import ItemProblem, Text, object_lines

_JSON_SUFFIXES = (".json", ".jsonl")


def note_untouched(texts: Sequence[Text], template: msgspec.Struct) -> Iterator[ItemProblem]:
    """Note an error for each text that is unchanged from the template, and a warning for an unchanged id.

    Only texts of several words are noted. Single words of a template, such as the ids of its parts, may stay.
    """
    values = msgspec.json.decode(msgspec.json.encode(template))
    wanted = dict(_phrases(values))
    for text in texts:
        if text.suffix in _JSON_SUFFIXES and _may_contain(text, wanted.values()):
            for data, notes in object_lines([text]):
                if data is not None:
                    yield from _untouched(data, wanted, values, text.name, notes.prefix)


def _untouched(
    data: dict[str, Any], wanted: dict[str, str], template: dict[str, Any], place: str, prefix: str
) -> Iterator[ItemProblem]:
    known = set(wanted.values())
    found = [(key, text) for key, text in _phrases(data) if text in known]
    for key, text in found:
        where = ", ".join(filter(None, (prefix, key)))
        yield ItemProblem("error", place, where, f"is still the template's text, {quoted(text)}; write your own")
    if found and data.get("id") == template.get("id"):
        where = ", ".join(filter(None, (prefix, "id")))
        yield ItemProblem("warning", place, where, f"is still the template's id, {quoted(data['id'])}")


def _phrases(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts of several words in a JSON value, each with its key ('pros[1].text')."""
    if isinstance(value, str):
        if " " in value.strip():
            yield key, value.strip()
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _phrases(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _phrases(inner, f"{key}[{place}]")


def _may_contain(text: Text, phrases: Iterable[str]) -> bool:
    """Whether any line of a file contains one of the phrases. This check is faster than decoding the file."""
    found = [msgspec.json.encode(phrase).decode()[1:-1] for phrase in phrases]
    lines = (line for _, line in text.lines() if not isinstance(line, Problem))
    return any(phrase in line for line in lines for phrase in found)
