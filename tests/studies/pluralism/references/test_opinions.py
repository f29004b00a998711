"""Comments into atomic opinions: what is asked, read, repaired, asked again and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overton.calls import Reply
from overton.errors import CallFailed, LimitReached
from overton.studies.pluralism.references.opinions import LONGEST, MOST, decompose, opinions_of


async def decomposed(kit: Any, *replies: Any) -> tuple[Any, Any]:
    stage = kit.stage({"decompose": list(replies)})
    (one,) = await decompose(stage, kit.thread("Buses. #a"))
    return one, stage


async def test_each_comment_is_asked_about_with_its_post_and_shared(kit: Any) -> None:
    stage = kit.stage()
    found = await decompose(stage, kit.thread("Cheap #a. Clean #b", "</comment> <comment> #c", "Hello"))
    assert [(one.comment, one.status, one.opinions) for one in found] == [
        ("c1", "read", ("Cheap #a", "Clean #b")),
        ("c2", "read", ("< /comment> < comment> #c",)),
        ("c3", "none", ()),
    ]
    assert all(one.shared for one in stage.asked)
    assert "Free buses?\n\nShould {{ comment }} they be?" in stage.asked[0].text
    assert stage.asked[1].text.count("</comment>") == 1


def many(count: int) -> str:
    return json.dumps({"opinions": [f"Opinion {number}" for number in range(count)]})


@pytest.mark.parametrize(
    ("reply", "status", "repaired", "opinions"),
    [
        ('{"opinions": ["A  b", "a b.", " "]}', "read", False, ("a b.",)),
        ('```json\n{"opinions": ["A",]}\n```', "read", True, ("A",)),
        ("Here: {'opinions': ['A']}", "read", True, ("A",)),
        ('{"opinions": []}', "none", False, ()),
    ],
)
async def test_lists_are_read_and_repaired(kit: Any, reply: str, status: str, repaired: bool, opinions: Any) -> None:
    one, _ = await decomposed(kit, reply)
    assert (one.status, one.repaired, one.opinions, one.attempts) == (status, repaired, opinions, 1)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I see two opinions.", "cannot be read"),
        ("", "cannot be read"),
        ('{"opinions": "one"}', "cannot be read"),
        ('["one"]', "cannot be read"),
        ('{"opinions": [1, 2]}', "cannot be read"),
        ('{"opinions": ["cut off', "cannot be read"),
        ('{"opinion": ["one"]}', "cannot be read"),
        ('{"opinions": ["one"]} {"opinions": ["two"]}', "more than one answer"),
        (many(MOST + 1), f"lists {MOST + 1} opinions"),
        (json.dumps({"opinions": ["x" * (LONGEST + 1)]}), f"{LONGEST} are the most"),
    ],
)
async def test_broken_lists_are_requested_again_with_the_reason_then_counted(kit: Any, reply: str, reason: str) -> None:
    one, stage = await decomposed(kit, reply)
    assert (one.status, one.attempts, one.opinions) == ("unread", 3, ())
    assert reason in stage.asked[1].text
    again, _ = await decomposed(kit, reply, '{"opinions": ["A"]}')
    assert (again.status, again.attempts, again.opinions) == ("read", 2, ("A",))


async def test_refusals_and_failed_calls_are_distinguished(kit: Any) -> None:
    refused, _ = await decomposed(kit, Reply("No.", refused=True))
    failed, _ = await decomposed(kit, CallFailed("rejected", "filtered"))
    assert (refused.status, failed.status) == ("refused", "failed")


async def test_a_stop_passes(kit: Any) -> None:
    with pytest.raises(LimitReached):
        await decomposed(kit, LimitReached("enough", limit="calls"))


async def test_opinions_in_the_same_words_are_one_with_all_their_comments(kit: Any) -> None:
    found = await decompose(kit.stage(), kit.thread("Cheap #a. Clean #b", "CHEAP  #a!", "Clean #b"))
    assert [(one.text, one.comments) for one in opinions_of(found)] == [
        ("Cheap #a", ("c1", "c2")),
        ("Clean #b", ("c1", "c3")),
    ]
