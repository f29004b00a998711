"""Replies to plan with."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import msgspec

from overton.calls import Form
from overton.studies.pluralism.clustering.vectors import ROLE
from overton.studies.study import Canned

__all__ = ["canned"]


def canned(opinions: int) -> Canned:
    """Replies to plan with: `opinions` different ones a comment, and one cluster for all."""
    numbers = count(1)

    def reply(role: str, speaker: str, form: Form | None) -> str:
        schema = (form and form.schema) or {}
        if role == ROLE:
            return msgspec.json.encode([[1.0, 0.0]] * int(schema["minItems"])).decode()
        if schema.get("type") == "array":
            return msgspec.json.encode([schema["items"]["items"]["enum"]]).decode()
        answer = dict(_CANNED)
        answer["opinions"] = [_OPINION.format(number=next(numbers)) for _ in range(opinions)]
        keys = schema.get("properties", {})
        return msgspec.json.encode({key: answer[key] for key in keys}).decode() if keys else _SENTENCE

    return reply


_OPINION = "An opinion of a length that is usual, number {number}, for the plan."
_SENTENCE = "A sentence that stands for the summary of a cluster, of a length that is usual."
_CANNED: Mapping[str, object] = {
    "cluster": 1,
    "viewpoints": [_SENTENCE],
    "supports": [1],
    "label": "A label",
    "description": _SENTENCE,
    "topics": [{"label": "A label", "description": _SENTENCE}],
    "properties": [_SENTENCE],
}
