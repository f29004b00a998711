"""JSON schemas of what a model is asked for: from the very struct that its reply is read into, or built of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

__all__ = ["asked", "list_schema", "object_schema", "schema_of"]

Schema = dict[str, Any]

_ORDER = ("type", "properties", "required", "additionalProperties", "items", "enum", "minItems", "maxItems")
_TOLD_ELSEWHERE = ("title", "description", "default")


def asked(**keywords: Any) -> msgspec.Meta:
    """What a field's schema says besides its type, without being checked where a reply is read.

    A label is asked for as `Annotated[str, asked(enum=LABELS)]`: 'Critical' for 'critical' can then be read, and a
    reply that breaks the rule be asked for again in words of the study's own.
    """
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in keywords.items()}
    return msgspec.Meta(extra_json_schema=plain)


def schema_of(kind: Any, *, only: Sequence[str] = ()) -> Schema:
    """The JSON schema of a struct, or of a list of them, flat and closed, as endpoints and grammars want it.

    Every field is asked for, also one that has a default for replies without it; of a struct, those named in `only`.
    Fields stand in the struct's order, since models write them in this order. No struct may hold itself.
    """
    (schema,), components = msgspec.json.schema_components([kind])
    closed = _closed(schema, components)
    if not only:
        return closed
    return object_schema(**{name: schema for name, schema in closed["properties"].items() if name in only})


def object_schema(**properties: Schema) -> Schema:
    """An object with exactly these keys in this order, each with its schema."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(items: Schema, least: int | None = None, most: int | None = None) -> Schema:
    """A list of `least` to `most` members, None where it has no such bound."""
    bounds = {"minItems": least, "maxItems": most}
    return {"type": "array", "items": items} | {key: bound for key, bound in bounds.items() if bound is not None}


def _closed(schema: Schema, components: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        return _closed(components[schema["$ref"].rpartition("/")[2]], components)
    if "properties" in schema:
        return object_schema(**{name: _closed(one, components) for name, one in schema["properties"].items()})
    ordered = sorted(schema, key=lambda key: _ORDER.index(key) if key in _ORDER else len(_ORDER))
    kept = {key: schema[key] for key in ordered if key not in _TOLD_ELSEWHERE}
    return kept | {"items": _closed(kept["items"], components)} if "items" in kept else kept
