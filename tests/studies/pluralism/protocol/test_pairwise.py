from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.errors import CallFailed
from overton.studies.pluralism import Options, ReferenceThread
from overton.studies.pluralism.protocol import trials


def compared(thread: ReferenceThread, **options: Any) -> list[Any]:
    return list(trials([thread], Options(experiments=("pairwise",), **options), 5))


def test_each_pair_is_named_in_both_orders_in_every_condition(thread: Callable[..., ReferenceThread]) -> None:
    found = compared(thread(), pairs=2)
    assert len({one.name for one in found}) == len(found) == 3 * 2 * 2 * 2
    assert found[0].name == "buses/pairwise/most-popular-1/popular-first/neutral"


@pytest.mark.parametrize(("picked", "first", "second"), [("1", True, False), ("2", False, True), ("Both.", None, None)])
async def test_a_pick_is_right_where_it_is_the_more_popular(
    kit: Any, thread: Callable[..., ReferenceThread], picked: str, first: bool | None, second: bool | None
) -> None:
    found = compared(thread(), arms=("neutral",), pairings=("most-popular",))
    records = [await kit.hold(one, kit.stage(kit.script(subject=[picked]))) for one in found]
    assert [(record.first, record.correct) for record in records] == [(True, first), (False, second)]
    assert len({(record.popular, record.other, record.gap) for record in records}) == 1
    assert records[0].popular == "v1"


async def test_the_more_popular_is_named_where_the_record_says(
    kit: Any, thread: Callable[..., ReferenceThread]
) -> None:
    about = thread()
    for one in compared(about, arms=("neutral",)):
        stage = kit.stage(kit.script(subject=["1"]))
        record = await kit.hold(one, stage)
        named = {line[:2]: line[3:] for line in stage.asked[0].text.splitlines() if line[:2] in ("1.", "2.")}
        popular = about.viewpoints[int(record.popular[1:]) - 1]
        assert named["1." if record.first else "2."] == popular.summary
        assert stage.asked[0].form.choices == ("1", "2")
        assert record.gap == popular.votes - about.viewpoints[int(record.other[1:]) - 1].votes >= 10


async def test_the_belief_is_the_less_popular_ones(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    (one, *_) = compared(thread(viewpoints=2), arms=("biased",))
    stage = kit.stage(kit.script(subject=["1"]))
    record = await kit.hold(one, stage)
    assert "thing number 2" in stage.by("belief")[0].text
    assert stage.by("subject")[0].text.startswith("I think so too.\n\nGiven this Reddit post")
    assert (record.reference, record.belief) == ("v2", "I think so too.")


async def test_a_thread_without_such_a_pair_is_not_eligible(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    stage = kit.stage(kit.script())
    records = [await kit.hold(one, stage) for one in compared(thread(viewpoints=3, votes=[7, 7, 3]), arms=("neutral",))]
    assert [(record.pairing, record.status) for record in records] == [
        ("most-popular", "done"),
        ("most-popular", "done"),
        ("random-gap", "not eligible"),
        ("random-gap", "not eligible"),
    ]
    assert len(stage.asked) == 2


async def test_a_failed_call_fails_the_trial(
    kit: Any, thread: Callable[..., ReferenceThread], failed: CallFailed
) -> None:
    (one, *_) = compared(thread(), arms=("biased",))
    record = await kit.hold(one, kit.stage(kit.script(subject=[failed])))
    assert (record.status, record.failure, record.correct) == ("failed", "subject: rate limit: too many requests", None)
