from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.judging import list_schema, object_schema, parse_json, replies, schema_of, with_schema
from overton.judging.replies import MAX_CHARACTERS, MAX_DEPTH


class Label(msgspec.Struct, frozen=True):
    """A judge's label."""

    reason: str
    verdict: Literal["yes", "no"]


YES = Label("plain", "yes")
EXACT = '{"reason": "plain", "verdict": "yes"}'


def test_json_of_the_kind_is_read_as_is() -> None:
    reading = parse_json(f"\n {EXACT} ", Label)
    assert (reading.value, reading.how, reading.problem) == (YES, "as is", "")


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{EXACT}\n```",
        f"Sure! Here it is:\n```\n{EXACT}\n```\nAnything else?",
        f"I looked at [1] and {{both}} sides. {EXACT} That's all.",
        "{'reason': 'plain', 'verdict': 'yes'}",
        '{"reason": "plain", "verdict": "yes",}',
        f"[{EXACT}]",
        f'{{"result": {EXACT}}}',
        f"{EXACT}\nAs I said: {EXACT}",
    ],
)
def test_plain_values_in_the_wrong_form_are_repaired(text: str) -> None:
    reading = parse_json(text, Label)
    assert (reading.value, reading.how) == (YES, "repaired")


def test_a_line_break_inside_a_string_is_repaired() -> None:
    assert parse_json('{"reason": "two\nlines", "verdict": "no"}', Label).value == Label("two\nlines", "no")


def test_python_words_and_json_words_may_mix_but_not_inside_strings() -> None:
    reading = parse_json("{'a': true, 'b': None, 'c': 'null and true', 'd': (1, 2)}")
    assert reading.value == {"a": True, "b": None, "c": "null and true", "d": [1, 2]}
    assert reading.how == "repaired"


@pytest.mark.parametrize("quoted", ["it's", "a ] bracket", 'a \\" quote', "a , ] comma"])
def test_brackets_and_quotes_inside_strings_do_not_end_a_value(quoted: str) -> None:
    reading = parse_json(f'Answer: {{"reason": "{quoted}", "verdict": "no"}} done', Label)
    assert reading.value == Label(json.loads(f'"{quoted}"'), "no")


def test_two_different_answers_are_invalid() -> None:
    reading = parse_json(f'{EXACT} or rather {{"reason": "plain", "verdict": "no"}}', Label)
    assert reading.how == "invalid"
    assert "more than one answer" in reading.problem


def test_a_key_with_two_values_is_invalid() -> None:
    assert parse_json('{"reason": "x", "verdict": "yes", "verdict": "no"}', Label).how == "invalid"


def test_the_problem_names_the_place_in_the_value() -> None:
    assert "$.verdict" in parse_json('{"reason": "x", "verdict": "maybe"}', Label).problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json here",
        '{"reason": "cut off',
        "__import__('os').system('true')",
        "[__import__('os')]",
        "[open('/etc/passwd')]",
        "{'a': {1, 2}}",
        "{1: 2}",
        "[b'x']",
        "[1j]",
        "[NaN]",
        "[1e999]",
        '["\\ud800"]',
        "[" + "9" * 5000 + "]",
    ],
)
def test_text_without_a_json_value_is_invalid(text: str) -> None:
    reading = parse_json(text)
    assert (reading.value, reading.how) == (None, "invalid")
    assert reading.problem


def test_depth_and_length_are_limited() -> None:
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH).how == "as is"
    assert parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)).how != "as is"
    assert parse_json(" " * MAX_CHARACTERS + "[]").how == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 150_000,
        "[" + "-" * 150_000 + "1]",
        "[" + "1+" * 90_000 + "1]",
        "'\\" * 90_000 + "[",
        "[" + "'\\" * 90_000,
        "[" * 60 + '"\\' * 80_000 + "{" * 60,
        "```\n" * 40_000,
        "[" + "," * 150_000 + "]",
        "[,     " * 25_000,
    ],
)
@pytest.mark.timeout(30)  # quadratic work would take minutes
def test_hostile_texts_cost_little_and_are_invalid(text: str) -> None:
    assert parse_json(text, Label).how == "invalid"


@given(st.text(alphabet=st.sampled_from("[]{}():,'\"\\ \n`ab1-+.eE_trufalsn\x00\ud800é"), max_size=200))
def test_parse_json_never_raises(text: str) -> None:
    for kind in (Any, Label, list[Label]):
        reading = parse_json(text, kind)
        assert (reading.how == "invalid") == bool(reading.problem)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_JSON)
def test_every_json_value_reads_as_itself(value: Any) -> None:
    reading = parse_json(json.dumps(value))
    assert (reading.value, reading.how) == (value, "as is")


@given(st.dictionaries(st.text(), _JSON, min_size=1, max_size=4))
def test_every_python_literal_of_an_object_reads_as_the_object(value: dict[str, Any]) -> None:
    assert parse_json(repr(value)).value == value


def test_a_schema_is_flat_and_closed() -> None:
    assert schema_of(Label) == {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "verdict": {"enum": ["no", "yes"]}},
        "required": ["reason", "verdict"],
        "additionalProperties": False,
    }


class Topic(msgspec.Struct, frozen=True):
    """A documented struct."""

    label: str
    weight: int = 1


class Answer(msgspec.Struct, kw_only=True):
    reason: str = ""
    verdict: Annotated[str, with_schema(enum=("yes", "no"))]
    topics: Annotated[list[Topic], with_schema(minItems=1, maxItems=3)]
    unread: Annotated[Any, with_schema(type="string")] = None
    side: Literal["pro", "con"]


TOPIC = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "weight": {"type": "integer"}},
    "required": ["label", "weight"],
    "additionalProperties": False,
}


def test_every_field_is_asked_for_in_its_order_and_structs_are_nested() -> None:
    schema = schema_of(Answer)
    assert list(schema["properties"]) == schema["required"] == ["reason", "verdict", "topics", "unread", "side"]
    assert schema["properties"] == {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "no"]},
        "topics": {"type": "array", "items": TOPIC, "minItems": 1, "maxItems": 3},
        "unread": {"type": "string"},
        "side": {"enum": ["con", "pro"]},
    }


def test_parsing_does_not_check_the_requested_values() -> None:
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


@pytest.mark.parametrize("text", [f"[{2**63}]", f"[-{2**63 + 1}]", "[" + "9" * 400 + "]", "[" + "9" * 5000 + "]"])
def test_numbers_too_large_for_a_table_are_invalid(text: str) -> None:
    assert parse_json(text, list[int]).how == "invalid"
    assert parse_json(f"[{2**63 - 1}]", list[int]).value == [2**63 - 1]


def test_parts_of_parts_are_tried_until_so_much_of_a_text_was_read() -> None:
    # Python's parser once met sixty parts of a long text, each nearly as long: seconds for a reply.
    broken = "[" * 30 + "'a': , " * (MAX_CHARACTERS // 8) + "]" * 30
    assert parse_json(broken).how == "invalid"
    assert parse_json("no {'a': } here, but {'a': 1}").value == {"a": 1}


def test_error_of_pythons_own_parser_does_not_invalidate_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, calls = replies.ast.parse, []

    def first_fails(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise SystemError("AST constructor recursion depth mismatch (before=201, after=222)")
        return parse(*given, **more)

    monkeypatch.setattr(replies.ast, "parse", first_fails)
    assert parse_json("{'stance': 'pro'}", dict[str, str]).value == {"stance": "pro"}
    assert len(calls) == 2
