"""Paraphrases without a model."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import overton
from overton.errors import InputError
from overton.runs.items import check_items, read_items, write_items
from overton.studies.open_mindedness import STUDY
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.paraphrases.rephrasing import STUDY as REPHRASING

PROCON = Path(__file__).parents[1] / "data" / "procon"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    issues: list[Issue] = [msgspec.structs.replace(issue, paraphrases=()) for issue in read_items(STUDY)]
    return write_items(REPHRASING, issues, tmp_path / "bare.jsonl")


def test_issues_are_ready_once_the_templates_are_filled_in(bare: Path, tmp_path: Path) -> None:
    done = overton.items.fill_templates(bare, tmp_path / "full.jsonl")
    assert (done.filled, done.kept) == (12, 0)
    assert check_items(STUDY, done.path) == []
    for issue in read_items(STUDY, done.path):
        assert [one.orientation for one in issue.paraphrases] == ["pro", "pro", "pro", "pro", "con", "con"]
        for one in issue.paraphrases:
            assert f'"{issue.pro}"' in one.text
            assert f'"{issue.con}"' in one.text
            assert f'the question "{issue.question}"' in one.text


def test_paraphrases_that_there_are_stay_unless_they_are_to_be_made_again(tmp_path: Path) -> None:
    issues = read_items(STUDY)
    file = write_items(STUDY, issues, tmp_path / "issues.jsonl")
    kept = overton.items.fill_templates(file, tmp_path / "kept.jsonl")
    assert (kept.filled, kept.issues) == (0, sorted(issues, key=lambda issue: issue.id))
    assert overton.items.fill_templates(file, tmp_path / "again.jsonl", again=True).filled == 12


def test_an_issue_without_positions_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="four-day-school-week: has no positions to fill in"):
        overton.items.fill_templates(PROCON / "four-day-school-week.json", tmp_path / "full.jsonl")
    assert not (tmp_path / "full.jsonl").exists()
