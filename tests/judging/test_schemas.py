"""Schemas come from the structs that replies are read into."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from overton.judging import asked, list_schema, object_schema, parse_json, schema_of


class Topic(msgspec.Struct, frozen=True):
    """A documented struct."""

    label: str
    weight: int = 1


class Answer(msgspec.Struct, kw_only=True):
    reason: str = ""
    verdict: Annotated[str, asked(enum=("yes", "no"))]
    topics: Annotated[list[Topic], asked(minItems=1, maxItems=3)]
    unread: Annotated[Any, asked(type="string")] = None
    side: Literal["pro", "con"]


TOPIC = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "weight": {"type": "integer"}},
    "required": ["label", "weight"],
    "additionalProperties": False,
}


def test_every_field_is_asked_for_in_its_order_and_structs_stand_inside() -> None:
    schema = schema_of(Answer)
    assert list(schema["properties"]) == schema["required"] == ["reason", "verdict", "topics", "unread", "side"]
    assert schema["properties"] == {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "no"]},
        "topics": {"type": "array", "items": TOPIC, "minItems": 1, "maxItems": 3},
        "unread": {"type": "string"},
        "side": {"enum": ["con", "pro"]},
    }


def test_what_is_asked_is_not_checked_where_it_is_read() -> None:
    reading = parse_json('{"verdict": "Yes", "topics": [], "side": "pro"}', Answer)
    assert reading.value is not None
    assert (reading.value.verdict, reading.value.topics) == ("Yes", [])


def test_a_list_of_structs_and_a_part_of_one() -> None:
    assert schema_of(list[Topic]) == {"type": "array", "items": TOPIC}
    part = schema_of(Answer, only=("verdict", "reason"))
    assert list(part["properties"]) == part["required"] == ["reason", "verdict"]


def test_schemas_of_a_size_that_is_known_late_are_built() -> None:
    number = {"type": "integer", "enum": [1, 2]}
    assert object_schema(places=list_schema(number, most=2)) == {
        "type": "object",
        "properties": {"places": {"type": "array", "items": number, "maxItems": 2}},
        "required": ["places"],
        "additionalProperties": False,
    }
    assert list_schema(number, 0, 2) == {"type": "array", "items": number, "minItems": 0, "maxItems": 2}
