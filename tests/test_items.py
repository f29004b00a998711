"""Items of any kind: created, listed, and checked as what their keys show them to be."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError
from overton.items import kind_named, list_items, new, recognised
from overton.runs.items import read_items, write_items

KINDS = ["issues", "topic", "thread", "dilemmas", "references", "open_mindedness"]
ASKING = ["open-mindedness", "stance-stability", "pluralism", "deliberation"]


@pytest.mark.parametrize("kind", KINDS)
def test_new_items_are_recognised_before_they_are_filled_in(kind: str, tmp_path: Path) -> None:
    file = new(kind, tmp_path / "folder" / "mine.json")
    assert recognised(file).items.kind is kind_named(kind).items.kind
    assert len(json.loads(file.read_text())) > 2


def test_nothing_is_overwritten_or_made_of_an_unknown_kind(tmp_path: Path) -> None:
    file = new("dilemma", tmp_path / "mine.json")
    with pytest.raises(InputError, match="exists already"):
        new("dilemma", file)
    with pytest.raises(InputError, match="known kinds are issues, topics, threads, dilemmas"):
        new("riddles", tmp_path / "other.json")


@pytest.mark.parametrize("study", ASKING)
def test_starter_items_are_known_wherever_they_are_written(study: str, tmp_path: Path) -> None:
    items = read_items(study)[:2]
    file = write_items(study, items, tmp_path / "some.jsonl")
    assert recognised(file).name == study
    assert overton.items.check(file) == []
    assert [(one.study, one.id) for one in list_items(file)] == [(study, item.id) for item in items]


def test_all_starter_items_are_listed_with_their_subjects() -> None:
    found = list_items()
    kinds = {"issue": 12, "topic": 24, "thread": 12, "dilemma": 12, "domain": 12, "pair": 30}
    assert Counter(one.kind for one in found) == kinds
    assert all(one.title and one.title != one.id for one in found)
    assert [one for one in found if one.kind == "dilemma"] == list_items("dilemmas") == list_items("deliberation")


def test_issues_without_paraphrases_are_recognised_for_rephrasing() -> None:
    file = Path(__file__).parents[0] / "data" / "procon" / "four-day-school-week.json"
    assert recognised(file).name == "rephrase"
    assert [one.severity for one in overton.items.check(file)].count("error") == 0


def test_a_wrong_item_is_recognised_and_reported_as_by_its_own_study(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "a", "title": "", "text": "I did it.", "crowd": {"counts": {"YTA": -2}}}\n')
    assert [one.reason for one in overton.items.check(file)] == [
        "is empty",
        "is -2, not a number of comments (0 or more)",
    ]


@pytest.mark.parametrize("content", ['{"colour": "red"}\n', "no JSON\n", ""])
def test_unrecognised_items_are_asked_about(content: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(content)
    with pytest.raises(InputError, match="overton items check STUDY PATH"):
        overton.items.check(file)


def test_the_commands_say_the_same(command_line: Any, tmp_path: Path) -> None:
    made = command_line("items", "new", "issue", "--out", "mine.json", folder=tmp_path)
    assert "overton items check mine.json" in made.stderr
    checked = command_line("items", "check", "mine.json", folder=tmp_path)
    assert checked.returncode == 2
    assert "mine.json: pros[0].text: " in checked.stdout
    assert "Read as issues for rephrase." in checked.stderr
    (tmp_path / "mine.csv").write_text("id,question,pros,cons\nbuses,May they run?,They may,They may not\n")
    listed = command_line("items", "list", "mine.csv", "--json", folder=tmp_path)
    assert [one["id"] for one in json.loads(listed.stdout)] == ["buses"]
    assert "buses" in command_line("items", "list", "mine.csv", folder=tmp_path).stdout
    wrong = command_line("items", "check", "minne.json", folder=tmp_path)
    assert wrong.returncode == 2
    assert "there is no such file either" in wrong.stderr


def test_check_of_a_file_for_several_studies_says_which_of_them_find_errors(command_line: Any, tmp_path: Path) -> None:
    table = "id,question,topic,pro,con,pros,cons\nbuses,May they run?,Buses,They may.,They may not.,Quick,Loud\n"
    (tmp_path / "mine.csv").write_text(table)
    checked = command_line("items", "check", "mine.csv", folder=tmp_path)
    said = " ".join(checked.stderr.split())
    assert "Read as issues for rephrase." in said
    assert "0 errors, 2 warnings" in said
    assert "were checked for rephrase. The file has 1 error for open-mindedness" in said
    assert "overton items check open-mindedness mine.csv" in said
    asked = command_line("items", "check", "open-mindedness", "mine.csv", folder=tmp_path)
    assert (asked.returncode, "several studies" in asked.stderr) == (2, False)
