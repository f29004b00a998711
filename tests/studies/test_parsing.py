"""The reader of items that a study gets without writing one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.files.texts import texts_at
from overton.studies import parsing
from overton.studies.items import Items, usable
from overton.studies.options import NoOptions
from overton.studies.parsing import Notes, json_lines


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weight: float


class Riddle(msgspec.Struct, frozen=True):
    id: str
    text: str
    kind: Literal["short", "long"] = "short"
    parts: tuple[Part, ...] = ()
    by: dict[str, int] = {}
    age: Annotated[int, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if self.text == self.id:
            raise ValueError("text and id must differ")


RIDDLES = Items(Riddle, "riddle", "JSONL file of riddles")


def said(path: Path, *lines: Any, items: Items[Any] = RIDDLES) -> list[str]:
    file = path / "x.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    parsed = items.parsed(texts_at(file, suffixes=items.suffixes), NoOptions())
    return [str(finding).replace(f"{file}: ", "") for finding in parsed.findings]


def test_each_line_is_one_item(tmp_path: Path) -> None:
    lines = [{"id": "b", "text": "?", "parts": [{"weight": 1}]}, "", {"id": "a", "text": "!", "kind": "long", "age": 3}]
    assert said(tmp_path, *lines) == []
    texts = texts_at(tmp_path, suffixes=RIDDLES.suffixes)
    assert usable(RIDDLES.parsed(texts, NoOptions())) == [
        Riddle("b", "?", parts=(Part(1.0),)),
        Riddle("a", "!", "long", age=3),
    ]


def test_every_field_that_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    bad = {"id": "a b", "kind": "wide", "parts": [{"weight": 1}, {"weight": "2", "more": 1}], "by": {"x": 1.5}, "z": 0}
    assert said(tmp_path, bad, {"id": 5, "text": None, "age": -1}, {"text": "?"}, {"id": "", "text": "?"}) == [
        "error: line 1, 'z': is not a key of this layout (id, text, kind, parts, by, age)",
        "error: line 1, text: is missing",
        "error: line 1, kind: is 'wide', none of the values that it may have",
        "error: line 1, parts[1].weight: is a text, not a number",
        "error: line 1, by[...]: is a number, not a whole number",
        "error: line 1, id: 'a b' may contain only the letters a to z, digits, '-', '_' and '.'",
        "error: line 2, id: is a whole number, not a text",
        "error: line 2, text: is null, not a text",
        "error: line 2, age: is less than 0",
        "error: line 3, id: is missing",
        "error: line 4, id: is empty",
    ]


def test_lines_other_than_objects_and_repeated_ids_are_named(tmp_path: Path) -> None:
    good = {"id": "a", "text": "?"}
    assert said(
        tmp_path, "[x", "[1]", good, '{"id": "b", "id": "c", "text": "?"}', good, '{"id": "d", "text": NaN}'
    ) == [
        "error: line 1, column 2: is not valid JSON: Expecting value",
        "error: line 2: contains a list, not a JSON object",
        "error: line 4, 'id': this key occurs twice in one object; only one of the two values would be read",
        "error: line 5, id: 'a' is already used in line 3",
        "error: line 6: is not valid JSON: NaN is not a JSON value",
    ]


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("several", [False, True])
def test_json_over_several_lines_is_the_object_or_the_list_that_it_is(
    indent: int | None, several: bool, tmp_path: Path
) -> None:
    riddles = [{"id": name, "text": f"What is {name}?"} for name in "ab"]
    (tmp_path / "x.jsonl").write_text(json.dumps(riddles if several else riddles[0], indent=indent))
    found = RIDDLES.parsed(texts_at(tmp_path / "x.jsonl", suffixes=()), NoOptions())
    assert [item.id for item in found.items] == ["a", "b"][: 1 + several]
    assert not found.findings


def test_problems_in_a_list_have_their_number_and_a_broken_one_its_line(tmp_path: Path) -> None:
    assert said(tmp_path, json.dumps([{"id": "a", "text": "?"}, {"id": "b"}, 3])) == [
        "error: object 2, text: is missing",
        "error: object 3: contains a number, not a JSON object",
    ]
    assert said(tmp_path, "{", '"id": "a",', '"text" "?"', "}") == [
        "error: line 3, column 8: is not valid JSON: Expecting ':' delimiter"
    ]
    assert said(tmp_path, "[", "]") == ["error: contains an empty list"]


def test_errors_of_the_struct_itself_are_reported(tmp_path: Path) -> None:
    assert said(tmp_path, {"id": "a", "text": "a"}) == [
        "error: line 1: cannot be used: text and id must differ",
    ]


def test_text_that_cannot_be_written_again_is_refused(tmp_path: Path) -> None:
    assert said(tmp_path, '{"id": "a", "text": "\\ud800"}') == [
        "error: line 1, text: contains half of a surrogate pair, which is not a character"
    ]


def test_a_study_may_check_more(tmp_path: Path) -> None:
    def check(riddle: Riddle, notes: Notes) -> None:
        if not riddle.text.endswith("?"):
            notes.warning("text", "is no question")

    items = Items(Riddle, "riddle", "JSONL file of riddles", parse=json_lines(Riddle, check))
    assert said(tmp_path, {"id": "a", "text": "!"}, items=items) == ["warning: line 1, text: is no question"]


def test_there_are_not_more_lines_than_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing.object_lines, "__kwdefaults__", {"noun": "line", "most": 2})
    lines: Sequence[Any] = [{"id": name, "text": "?"} for name in "abcd"]
    assert said(tmp_path, *lines) == ["error: line 3: exceeds the limit of 2 lines"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.dictionaries(st.sampled_from(["id", "text", "kind", "parts", "by", "age"]), _JSON))
def test_no_json_object_breaks_it(tmp_path: Path, data: dict[str, Any]) -> None:
    parsed_or_told = said(tmp_path, data)
    texts = texts_at(tmp_path / "x.jsonl", suffixes=())
    assert parsed_or_told or RIDDLES.parsed(texts, NoOptions()).items


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.binary(max_size=60))
def test_no_bytes_break_it(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(data)
    RIDDLES.parsed(texts_at(tmp_path / "x.jsonl", suffixes=()), NoOptions())
