"""From dumps in the archives' layout, damaged as real ones are, to dilemmas."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from overton.files.forum import ReadCounts, read_comments, read_posts
from overton.studies.deliberation.dilemmas.posts import SelectionOptions
from overton.studies.deliberation.dilemmas.selection import Selection, select, survey

Make = Callable[..., dict[str, Any]]
STORY = "My sister &amp; I share a fridge. She ate my cheese. " * 25
SAID = {"split": "NTA YTA NTA YTA", "agreed": "NTA NTA NTA NTA", "late": "NTA YTA", "gone": "NTA"}


@pytest.fixture
def posts(post: Make) -> list[dict[str, Any] | bytes]:
    return [
        post(id="split", title="AITA for my cheese?", selftext=f"{STORY}\n\n**EDIT:** thank you"),
        b'{"id": "broken", "title": "AITA?", "selftext": "cut he',
        post(id="agreed", selftext=STORY),
        post(id="late", selftext=STORY, created_utc=1743379200),
        post(id="gone", selftext="[removed]", removed_by_category="moderator"),
    ]


@pytest.fixture
def comments(comment: Make) -> list[dict[str, Any] | bytes]:
    made = [
        comment(id=f"{post}{number}", link_id=f"t3_{post}", parent_id=f"t3_{post}", body=f"{label}, &gt;:( sorry.")
        for post, labels in SAID.items()
        for number, label in enumerate(labels.split())
    ]
    reply = comment(id="r", link_id="t3_split", parent_id="t1_split0", body="YTA")
    return [reply, b"\xff\xfe", *made, comment(id="u", link_id="t3_split", parent_id="t3_split", body=7)]


def chosen(posts: Path, comments: Path, tally: ReadCounts) -> Selection:
    options = SelectionOptions(first=date(2025, 1, 1), last=date(2025, 3, 30), fewest=1)
    surveyed = survey(read_posts(posts, tally=tally), read_comments(comments, tally=tally), options)
    return select(surveyed, read_posts(posts))


def check(found: Selection) -> None:
    assert [step.kept for step in found.steps] == [3, 3, 2, 2, 2, 2, 2]
    split, agreed = found.dilemmas
    assert (split.id, split.title, agreed.id) == ("split", "AITA for my cheese?", "agreed")
    assert split.text == STORY.replace("&amp;", "&").strip()
    assert split.crowd
    assert split.crowd.counts == {"YTA": 2, "NTA": 2, "ESH": 0, "NAH": 0, "INFO": 0}
    assert split.crowd.entropy == 1
    assert agreed.crowd
    assert agreed.crowd.entropy == 0


def test_damaged_dumps_become_dilemmas(
    dump: Callable[..., Path], posts: list[dict[str, Any] | bytes], comments: list[dict[str, Any] | bytes]
) -> None:
    tally = ReadCounts()
    check(chosen(dump(posts, "posts"), dump(comments, "comments"), tally))
    assert {reason: skipped.first for reason, skipped in tally.skipped.items()} == {
        "not JSON": ["posts line 2", "comments line 2"],
        "a field is missing or of the wrong type": ["comments line 14"],
    }


def test_answers_of_the_api_become_the_same_dilemmas(
    plain_dump: Callable[..., Path], posts: list[dict[str, Any] | bytes], comments: list[dict[str, Any] | bytes]
) -> None:
    def listing(kind: str, things: list[dict[str, Any] | bytes]) -> dict[str, Any]:
        children = [{"kind": kind, "data": thing} for thing in things if isinstance(thing, dict)]
        return {"kind": "Listing", "data": {"after": None, "children": children}}

    page = plain_dump(json.dumps([listing("t3", posts), listing("t1", comments)], indent=1).encode())
    check(chosen(page, page, ReadCounts()))
