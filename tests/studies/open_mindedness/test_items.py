from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overton.runs.items import check_items, read_items
from overton.studies.open_mindedness import STUDY

HEADER = "issue,topic,pro,con\n"


@pytest.fixture
def issues(folder: Callable[[dict[str, Any]], Path], night_buses: dict[str, Any]) -> Path:
    return folder({"night-buses.json": night_buses})


def told(path: Path, table: str, severity: str) -> list[tuple[str, str]]:
    (path / "positions.csv").write_text(table)
    told = [one for one in check_items(STUDY, path) if one.severity == severity and "csv" in one.place]
    return [(one.key, one.reason) for one in told]


@pytest.mark.parametrize("place", [".", ".."])
def test_a_table_in_the_folder_or_beside_it_adds_topic_and_positions(issues: Path, place: str) -> None:
    (issues / place / "positions.csv").write_text(HEADER + 'night-buses,Transport,"Run them, all night",Do not\n')
    (issue,) = read_items(STUDY, issues)
    assert (issue.topic, issue.pro, issue.con) == ("Transport", "Run them, all night", "Do not")


def test_a_table_that_is_given_goes_before_one_that_is_found(issues: Path, tmp_path: Path) -> None:
    (issues / "positions.csv").write_text(HEADER + "night-buses,Found,,\n")
    (tmp_path / "given.csv").write_text("con,issue,topic,pro\nNo,night-buses,Given,Yes\n")
    (issue,) = read_items(STUDY, issues, positions=tmp_path / "given.csv")
    assert (issue.topic, issue.pro, issue.con) == ("Given", "Yes", "No")


def test_paraphrases_that_name_other_positions_are_a_warning(issues: Path) -> None:
    (issues / "positions.csv").write_text(HEADER + "night-buses,T,Run them,The city should not run buses all night\n")
    (finding,) = [one for one in check_items(STUDY, issues) if "positions word for word" in one.reason]
    assert finding.key == "paraphrases[0], [1], [2], [3], [4], [5]"


@pytest.mark.parametrize(
    ("table", "key", "reason"),
    [
        ("", "line 1", "must name the columns"),
        ("name,topic\n", "line 1", "must name the columns"),
        ("issue,issue\n", "line 1", "must name the columns"),
        (HEADER + "night-buses,T,only pro,\n", "line 2", "names only one of the two positions"),
        (HEADER + "\nnight-buses,T\n", "line 3", "more or fewer cells"),
        (HEADER + "a,T,p,c\na,T,p,c\n", "line 3, issue", "'a' is already in line 2"),
        (HEADER + ",T,p,c\n", "line 2, issue", "is empty"),
        (HEADER + 'a,"T\x00",p,c\n', "line 2, topic", "control character"),
    ],
)
def test_problems_in_the_table_are_named_with_their_line(issues: Path, table: str, key: str, reason: str) -> None:
    (where, why) = told(issues, table, "error")[0]
    assert where == key
    assert reason in why


def test_a_table_that_does_not_exist_is_an_error(issues: Path) -> None:
    (error,) = [one for one in check_items(STUDY, issues, positions=issues / "none.csv") if one.severity == "error"]
    assert error.place.endswith("none.csv")
    assert "cannot be read" in error.reason


def test_rows_for_other_issues_and_other_columns_are_warnings(issues: Path) -> None:
    table = "issue,topic,note\nnight-buses,T,x\nolympics,T,x\n"
    assert [key for key, _ in told(issues, table, "warning")] == ["line 1", "line 3"]
