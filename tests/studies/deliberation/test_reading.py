"""Dilemmas in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.runs.items import check_items, read_items, write_items
from overton.studies.deliberation import STUDY
from overton.studies.deliberation.items import CrowdVerdicts, Dilemma

ONE = {"id": "a", "title": "AITA?", "text": "I did it."}


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def test_dilemmas_are_read_in_their_order_and_as_they_were_written(tmp_path: Path) -> None:
    crowd = {"counts": {"YTA": 3, "NTA": 1}, "simulated": True}
    file = written(tmp_path / "x.jsonl", {**ONE, "id": "b", "crowd": crowd}, "", {**ONE, "text": " \x0bas it is\n"})
    found = read_items(STUDY, file)
    assert found == [
        Dilemma("b", "AITA?", "I did it.", CrowdVerdicts({"YTA": 3, "NTA": 1}, simulated=True)),
        Dilemma("a", "AITA?", " \x0bas it is\n"),
    ]
    assert read_items(STUDY, write_items(STUDY, found, tmp_path / "made")) == found
    assert read_items(STUDY, tmp_path / "made") == found


def test_all_problems_of_all_lines_are_reported(tmp_path: Path) -> None:
    file = written(
        tmp_path / "x.jsonl",
        {**ONE, "text": " "},
        {**ONE, "id": "b c"},
        {"id": "d", "crowd": {"counts": {"YES": 1}}},
        ONE,
        {**ONE, "id": "e", "score": 3},
    )
    with pytest.raises(InputError) as error:
        read_items(STUDY, file)
    assert [(problem.key, problem.reason) for problem in error.value.problems] == [
        ("line 1, text", "is empty"),
        ("line 2, id", "'b c' may contain only the letters a to z, digits, '-', '_' and '.'"),
        ("line 3, title", "is missing"),
        ("line 3, text", "is missing"),
        ("line 3, crowd.counts['YES']", "is 'YES'; it must be one of YTA, NTA, ESH, NAH, INFO"),
        ("line 4, id", "'a' is already used in line 1"),
        ("line 5, 'score'", "is not a key of this layout (id, title, text, crowd)"),
    ]


def test_a_path_without_dilemmas_is_reported(tmp_path: Path) -> None:
    assert [finding.reason for finding in check_items(STUDY, written(tmp_path / "x.jsonl"))] == ["contains no dilemmas"]
    assert [finding.reason for finding in check_items(STUDY, tmp_path / "none")] == ["does not exist"]


_MORE = "is {}, not a number of comments (0 or more)"


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"title": " "}, "title", "is empty"),
        ({"title": 7}, "title", "is a number, not a text"),
        ({"crowd": 3}, "crowd", "is a number, not an object with counts"),
        ({"crowd": {}}, "crowd.counts", "is missing"),
        ({"crowd": {"counts": [3]}}, "crowd.counts", "is a list, not an object of verdicts and counts"),
        ({"crowd": {"counts": {"YTA": -1}}}, "crowd.counts['YTA']", _MORE.format(-1)),
        (
            {"crowd": {"counts": {"NTA": 1.5}}},
            "crowd.counts['NTA']",
            "is 1.5, not a number of comments (0 or more)",
        ),
        ({"crowd": {"counts": {}, "simulated": "no"}}, "crowd.simulated", "is a text, not true or false"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_impossible_crowds_and_posts_are_refused_in_plain_words(
    change: dict[str, Any], key: str, reason: str, tmp_path: Path
) -> None:
    (finding,) = check_items(STUDY, written(tmp_path / "x.jsonl", ONE | change))
    assert (finding.severity, finding.key, finding.reason) == ("error", f"line 1, {key}", reason)
