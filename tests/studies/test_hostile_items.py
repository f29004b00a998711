"""Items from anybody, of every study: what is damaged is a finding with its file, and nothing is raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.files.texts import ItemFile, texts_at
from overton.studies.items import Items
from overton.studies.open_mindedness.reading import ISSUES
from overton.studies.registry import study_named

READ = {name: study_named(name).items for name in ("open-mindedness", "stance-stability", "pluralism", "deliberation")}
WRONG: list[Any] = [None, True, -1, 2**70, 1e308, "", "\x00\x1b[2J", "1" * 5000, [], {}, [[]], [None], {"a": 1}]


def lines_of(items: Items[Any]) -> list[str]:
    """A few of the items that come with a study, as they are in files."""
    assert items.starter is not None
    texts = texts_at(items.starter(), suffixes=items.suffixes, dataset=items.dataset)
    if len(texts) > 1:  # a file an issue, in another layout
        parsed = items.parsed(texts[:2], items.reading())
        return [msgspec.json.encode(item).decode() for item in parsed.items]
    return [line for _, line in texts[0].lines() if isinstance(line, str)][:2]


LINES = {name: lines_of(items) for name, items in READ.items()}


def findings(items: Items[Any], path: Path, content: bytes) -> set[str]:
    path.write_bytes(content)
    return {finding.place for finding in items.parsed([ItemFile(path)], items.reading()).findings}


def spoilt(data: st.DataObject, value: Any) -> Any:
    """`value` with something else in one place, at any depth."""
    inside = [key for key, _ in (value.items() if isinstance(value, dict) else enumerate(value))]
    key = data.draw(st.sampled_from(inside))
    if isinstance(value[key], dict | list) and value[key] and data.draw(st.booleans()):
        spoilt(data, value[key])
    else:
        value[key] = data.draw(st.sampled_from(WRONG))
    return value


@pytest.mark.parametrize("study", READ)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_arbitrary_files_of_items_give_problems_and_never_raise(
    study: str, data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    if data.draw(st.booleans()):
        content = data.draw(damaged("\n".join(LINES[study]).encode()))
    else:
        content = json.dumps(spoilt(data, json.loads(LINES[study][0]))).encode()
    assert findings(READ[study], path, content) <= {str(path)}


@pytest.mark.parametrize("study", READ)
@pytest.mark.parametrize(
    ("content", "key", "said"),
    [
        (b'{"id": "\xff"}', "line 1, byte 8", "is not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, "line 1", "is nested more than 32 levels deep"),
        (b'{"id": ' + b"9" * 5000 + b"}", "line 1", "is not valid JSON: "),
        (b'{"id": "a", "id": "b"}', "line 1, 'id'", "this key occurs twice in one object"),
        (b'{"id": NaN}', "line 1", "is not valid JSON: NaN is not a JSON value"),
        (b"{}" + b" " * 6_000_000, "line 1", "is longer than 5,000,000 bytes"),
        ("{}".encode("utf-16"), "line 1, byte 0", "is not UTF-8"),
    ],
)
def test_problems_have_their_line(study: str, content: bytes, key: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    items = READ[study]
    first = items.parsed([ItemFile(path)], items.reading()).findings[0]
    assert (first.place, first.key) == (str(path), key)
    assert first.reason.startswith(said)


def test_an_id_of_thousands_of_digits_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "' + "7" * 5000 + '"}\n')
    reasons = [finding.reason for finding in ISSUES.parsed([ItemFile(path)], ISSUES.reading()).findings]
    assert any("may contain only the letters a to z, digits" in reason for reason in reasons)
