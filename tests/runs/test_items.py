"""Items of any study: those that come with it, those at a path, and options for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies import deliberation, open_mindedness, pluralism, stance_stability
from overton.studies.deliberation.dilemmas import crowd
from overton.studies.open_mindedness.paraphrases import audit, rephrasing
from overton.studies.pluralism.references import REFERENCING
from overton.studies.stance_stability import topics
from overton.studies.stance_stability.topics import Domain
from overton.studies.stance_stability.transcripts import JUDGING

WITH_STARTER = [
    (open_mindedness.STUDY, 12),
    (deliberation.STUDY, 12),
    (stance_stability.STUDY, 24),
    (pluralism.STUDY, 12),
    (topics.STUDY, 12),
]


@pytest.mark.parametrize(("study", "count"), WITH_STARTER, ids=lambda one: getattr(one, "name", None))
def test_starter_items_are_read_where_no_path_is_named(study: Any, count: int) -> None:
    items = read_items(study)
    assert len(items) == len({item.id for item in items}) == count
    assert all(isinstance(item, study.items.kind) for item in items)
    assert check_items(study) == []


WITHOUT = [rephrasing.STUDY, audit.STUDY, crowd.STUDY, REFERENCING, JUDGING]


@pytest.mark.parametrize("study", WITHOUT, ids=lambda one: one.name)
def test_a_study_without_starter_items_asks_for_a_path(study: Any) -> None:
    for ask in (read_items, check_items):
        with pytest.raises(InputError, match="the study has no bundled sample items; give a path"):
            ask(study)


def test_an_unknown_reading_option_is_refused(tmp_path: Path) -> None:
    for ask in (read_items, check_items):
        with pytest.raises(InputError, match="no such option; known are positions"):
            ask(open_mindedness.STUDY, tmp_path, any_questions=True)


def test_issues_come_with_their_topics_and_positions() -> None:
    assert all(issue.topic and issue.pro and issue.con for issue in read_items(open_mindedness.STUDY))


def test_a_folder_without_items_is_reported(tmp_path: Path) -> None:
    (finding,) = check_items(REFERENCING, tmp_path)
    assert str(finding) == f"error: {tmp_path}: contains no threads"


def test_domains_are_listed_one_name_per_line(tmp_path: Path) -> None:
    file = tmp_path / "domains.txt"
    file.write_text("Public  transport\n\nÉtudes\n")
    assert read_items(topics.STUDY, file) == [
        Domain("public-transport", "Public transport"),
        Domain("etudes", "Études"),
    ]
    file.write_bytes(b"Public transport\npublic transport\n\xff\na\x00b\n")
    assert [f"{finding.key}: {finding.reason}" for finding in check_items(topics.STUDY, tmp_path)] == [
        "line 2: 'public transport' is named twice",
        "line 3, byte 0: is not UTF-8 (byte 0xff); save the file as UTF-8",
        "line 4: contains the control character U+0000 at position 1; remove it",
    ]
