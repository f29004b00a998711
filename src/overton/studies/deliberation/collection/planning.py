"""Canned replies for planning, because nobody knows beforehand how many values are kept, and how many occur
together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from overton.calls import Form
from overton.studies.deliberation.collection.protocol import ATTEMPTS
from overton.studies.deliberation.questions import MOST

_UNREADABLE = "It is hard to say which of these fits."
_KEPT, _OF = 2, 5
"""The paper keeps 110 of 267 values, two in five."""


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """Two values in five are kept and included. All texts contain the same two values, which are not merged."""
    choices = form.choices if form else ()
    if not choices:
        return _naming(_names(form)[:2])
    _, _, step, number = speaker.split("/")
    keeps = step == "codes" or (step == "categories" and int(number) % _OF < _KEPT)
    return choices[0] if keeps else choices[-1]


@dataclass
class _Longest:
    """Only the last possible attempt gives a readable reply.

    All values are kept, and neighbouring values occur together.
    """

    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, role: str, speaker: str, form: Form | None) -> str:
        if form is None or not form.choices:
            names, text = _names(form), int(speaker.split("/")[-2])
            return _naming([names[(text + place) % len(names)] for place in range(min(MOST, len(names)))])
        self.asked[speaker] += 1
        return form.choices[0] if self.asked[speaker] >= ATTEMPTS else _UNREADABLE


def _names(form: Form | None) -> list[str]:
    schema: dict[str, Any] = (form and form.schema) or {}
    names: list[str] = schema["properties"]["answers"]["items"]["enum"] if schema else ["A value"]
    return sorted(names)


def _naming(names: list[str]) -> str:
    return msgspec.json.encode({"answers": names}).decode()


CANNED = (_usual, _Longest())
"""Replies for the usual number of calls, and for about the largest number."""
