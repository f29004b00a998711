"""The form of an answer that is a JSON object."""

from __future__ import annotations

from typing import Any

from overton.calls import Form

__all__ = ["object_form"]


def object_form(**properties: dict[str, Any]) -> Form:
    """An object with exactly these keys in this order, each with its JSON schema."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Form(schema=schema)
