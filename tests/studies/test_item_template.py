"""A template without entries is not ready for questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overton.items import check, new

KINDS = ["issue", "topic", "dilemma", "thread", "references", "pair"]


def untouched(path: Path) -> dict[str, str]:
    return {one.key: one.severity for one in check(path) if "is still the template's" in one.reason}


@pytest.mark.parametrize("kind", KINDS)
def test_every_untouched_text_of_a_template_is_named(kind: str, tmp_path: Path) -> None:
    file = new(kind, tmp_path / "mine.json")
    keys = {key for key in untouched(file) if key != "id"}

    def phrases(value: Any, key: str = "") -> set[str]:
        if isinstance(value, dict):
            inner = [phrases(each, f"{key}.{name}".lstrip(".")) for name, each in value.items()]
            return set().union(*inner)
        if isinstance(value, list):
            return set().union(*(phrases(each, f"{key}[{n}]") for n, each in enumerate(value)))
        return {key} if isinstance(value, str) and " " in value else set()

    assert keys == phrases(json.loads(file.read_text()))
    assert untouched(file)["id"] == "warning"
    errors = [one for one in check(file) if one.severity == "error"]
    assert {one.key for one in errors} == keys  # nothing else is wrong with a template


def test_one_text_that_was_left_is_named_where_it_stands(tmp_path: Path) -> None:
    file = new("issue", tmp_path / "mine.json")
    issue = json.loads(file.read_text()) | {"id": "buses", "question": "May I?", "topic": "Mine", "pro": "I may"}
    issue |= {"con": "I may not", "pros": ["It is quick"]}
    issue["cons"] = ["It costs", {"text": "Argument 2 for the con position."}]
    file.write_text(json.dumps(issue, indent=2))
    assert untouched(file) == {"cons[1].text": "error"}
    lines = file.with_suffix(".jsonl")
    lines.write_text("\n" + json.dumps(issue) + "\n")
    assert untouched(lines) == {"line 2, cons[1].text": "error"}
    file.write_text(json.dumps(issue | {"cons": ["It costs", "It is loud"]}))
    assert not [one for one in check(file) if one.severity == "error"]


def test_table_with_a_text_of_the_template_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,pros,cons\nMay I?,Yes,Argument 1 for the con position.\n")
    assert untouched(tmp_path / "a.csv") == {"line 2, cons": "error"}
