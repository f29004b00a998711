"""A table of topics and positions from a clone; the clone is made."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError
from overton.runs.items import read_items
from overton.studies.open_mindedness import STUDY
from overton.studies.open_mindedness.topic_map import topics_in_notebook

CLONE = Path(__file__).parents[1] / "data" / "millstone" / "clone"


def notebook(code: str | list[str], kind: str = "code") -> str:
    return json.dumps({"cells": [{"cell_type": kind, "source": code}]})


def test_topics_are_the_notebooks_and_positions_the_paraphrases_own(tmp_path: Path) -> None:
    written = overton.items.positions(CLONE, tmp_path / "positions.csv")
    assert list(csv.reader((tmp_path / "positions.csv").open())) == [
        ["issue", "topic", "pro", "con"],
        [
            "Lindholt-Night-Trams",
            "Transport",
            "The trams should run all night",
            "The trams should not run all night",
        ],
        ["ebbe-clock", "Town Life & Trade", "The town clock should be replaced", "The town clock should stay"],
        [
            "osa-sunday-market",
            "Sundays",  # the last of two
            "The market should open on Sundays",
            "The market should stay closed on Sundays",
        ],
    ]
    assert (written.without, written.several) == ([], ["osa-sunday-market"])


def test_the_table_adds_topics_to_issues_and_counts(tmp_path: Path) -> None:
    file = overton.items.positions(CLONE, tmp_path / "positions.csv").path
    topics = [issue.topic for issue in read_items(STUDY, CLONE, relabel=True, positions=file)]
    assert topics == ["Transport", "Town Life & Trade", "Sundays"]
    analysis = overton.analyze("open-mindedness", CLONE, topics=file)
    rows = analysis.rows_of("open_mindedness_as_published", "topic", model="tram-7b", item=None)
    assert {row.condition for row in rows} == {"Transport", "Town Life & Trade", "Sundays"}


def test_a_folder_without_a_notebook_has_empty_topics(tmp_path: Path) -> None:
    written = overton.items.positions(CLONE / "data_new", tmp_path / "positions.csv")
    assert written.without == ["Lindholt-Night-Trams"]


def test_a_position_that_a_spreadsheet_would_run_is_disarmed(tmp_path: Path) -> None:
    clone = shutil.copytree(CLONE, tmp_path / "clone")
    file = clone / "data_new" / "Lindholt-Night-Trams.json"
    file.write_text(file.read_text().replace("The trams should run all night", "=SUM(A1)"))
    overton.items.positions(clone, tmp_path / "positions.csv")
    assert ",'=SUM(A1)," in (tmp_path / "positions.csv").read_text()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "positions.csv").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        overton.items.positions(CLONE, tmp_path / "positions.csv")


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (notebook("high_level_topic_map = {'A': ['x', 'Y'], 'B': ['x', 'x']}"), {"x": ["A", "B"], "y": ["A"]}),
        (notebook(["import os\n", "high_level_topic_map = {\n", "'A': ['x']}"]), {"x": ["A"]}),
        (notebook("high_level_topic_map = {'A': ['x'], 'B': 3, 4: ['y'], 'C': [5]}"), {"x": ["A"]}),
        (notebook("high_level_topic_map = dict(A=['x'])"), {}),
        (notebook("high_level_topic_map = {'A': [__import__('os').getcwd()]}"), {}),
        (notebook("high_level_topic_map = {'A': ['x']}", "markdown"), {}),
        (notebook("high_level_topic_map = {" + "(" * 5_000), {}),
        (notebook("%matplotlib inline\nhigh_level_topic_map = {'A': ['x']}"), {}),
        ("no json", {}),
        ('{"cells": [3, {"cell_type": "code", "source": [4]}]}', {}),
        ("{}", {}),
    ],
)
def test_only_a_literal_table_of_topics_is_read(text: str, topics: dict[str, list[str]]) -> None:
    assert topics_in_notebook(text) == topics


def test_the_command_says_what_is_to_be_filled_in(tmp_path: Path, command_line: Any) -> None:
    done = command_line("items", "positions", str(CLONE), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "3 of 3 issues have a topic." in said
    assert "Issues in several topics, which get the last one: osa-sunday-market." in said
    assert (tmp_path / "positions.csv").is_file()
