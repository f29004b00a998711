"""Threads from a dump in the real layout, and from our own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

import overton
from overton.commands.pluralism import show_threads
from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.pluralism import STUDY
from overton.studies.pluralism.items import starter_threads
from overton.studies.pluralism.references import REFERENCING

POST = {
    "author": "asker_9",
    "created_utc": 1562000000,
    "is_self": True,
    "link_flair_text": None,
    "num_comments": 3,
    "permalink": "/r/AskEconomics/comments/abc1/why/",
    "score": 12,
    "selftext": "I ask since /u/other_1 said &gt; no.",
    "subreddit": "AskEconomics",
    "subreddit_id": "t5_2snxl",
    "title": "Why are buses not free?",
}
COMMENT = {
    "author": "reader",
    "body": "Mail me at a.b@example.org",
    "controversiality": 0,
    "created_utc": 1562000100,
    "gilded": 0,
    "permalink": "/r/AskEconomics/comments/abc1/why/c1/",
    "score": 3,
    "stickied": False,
    "subreddit": "AskEconomics",
}


def dump(path: Path, lines: list[dict[str, Any]]) -> Path:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor().compress(data) if path.suffix == ".zst" else data)
    return path


def posts(count: int) -> list[dict[str, Any]]:
    return [{**POST, "id": f"abc{k}"} for k in range(count)]


def comments(post: str, count: int) -> list[dict[str, Any]]:
    where = {"link_id": f"t3_{post}", "parent_id": f"t3_{post}"}
    return [{**COMMENT, **where, "id": f"{post}c{k}", "author": f"reader_{k}", "score": k} for k in range(count)]


@pytest.mark.parametrize("ending", ["ndjson", "zst"])
def test_a_dump_is_sampled_by_table_2(tmp_path: Path, ending: str) -> None:
    said = [line for k in range(4) for line in comments(f"abc{k}", 7 + k)]
    submissions = dump(tmp_path / f"RS_2019-07.{ending}", [*posts(4), {"broken": 1}])
    replies = dump(tmp_path / f"RC_2019-07.{ending}", [*said, *comments("elsewhere", 20)])
    found = overton.items.threads(
        [submissions], [replies], tmp_path / "threads.jsonl", community="AskEconomics", sample=2
    )
    assert [step.kept for step in found.steps] == [4, 4, 4, 3, 2, 2]  # table 2: 8 to 70 comments in AskEconomics
    assert found.unread[0].skipped
    shown = show_threads(found)
    assert (shown.path, shown.lines[0]) == (str(found.path), "1. posts of the year: 4. 4 read; any year")
    assert read_items(REFERENCING, found.path) == found.threads
    (first, _) = found.threads
    assert first.text == "I ask since [user] said > no."
    assert first.comments[0].text == "Mail me at [email]"
    told = found.path.read_text()
    assert not any(name in told for name in ("abc", "reader_", "asker_9", "other_1", "example.org"))


def test_answers_of_the_api_are_read_too(tmp_path: Path) -> None:
    def listing(kind: str, things: list[dict[str, Any]]) -> dict[str, Any]:
        return {"kind": "Listing", "data": {"children": [{"kind": kind, "data": thing} for thing in things]}}

    page = tmp_path / "page.json"
    page.write_text(json.dumps([listing("t3", posts(1)), listing("t1", comments("abc0", 3))]))
    found = overton.items.threads([page], [page], tmp_path / "threads.jsonl", min_comments=1, year=2019)
    assert [len(thread.comments) for thread in found.threads] == [3]


def test_nothing_is_overwritten_and_only_jsonl_is_written(tmp_path: Path) -> None:
    submissions, replies = dump(tmp_path / "s", posts(1)), dump(tmp_path / "c", comments("abc0", 10))
    overton.items.threads([submissions], [replies], tmp_path / "t.jsonl")
    for path, reason in ((tmp_path / "t.jsonl", "exists already"), (tmp_path / "t.csv", "must end in .jsonl")):
        with pytest.raises(InputError, match=reason):
            overton.items.threads([submissions], [replies], path)


def test_problems_of_a_file_are_found_without_reading_it_as_items(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"id": "t"}\n')
    assert len(check_items(REFERENCING, file)) == 4
    assert len(check_items(STUDY, file)) == 5


def test_the_starter_threads_have_viewpoints_that_name_their_comments() -> None:
    said = {
        thread.id: {comment.id for comment in thread.comments} for thread in read_items(REFERENCING, starter_threads())
    }
    found = read_items(STUDY)
    assert [thread.id for thread in found] == list(said)
    assert all(said[thread.id].issuperset(view.comments) for thread in found for view in thread.viewpoints)
