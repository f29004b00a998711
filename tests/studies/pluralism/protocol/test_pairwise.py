"""Pairs: which viewpoints meet, in both orders, and the values read from replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from overton.errors import CallFailed
from overton.studies.pluralism import Options, ReferenceThread
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.protocol.pairwise import chosen_pairs, read_pick


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
    records = [await kit.conduct(one, kit.stage(kit.script(subject=[picked]))) for one in found]
    assert [(record.first, record.correct) for record in records] == [(True, first), (False, second)]
    assert len({(record.popular, record.other, record.gap) for record in records}) == 1
    assert records[0].popular == "v1"


async def test_the_more_popular_is_named_where_the_record_says(
    kit: Any, thread: Callable[..., ReferenceThread]
) -> None:
    about = thread()
    for one in compared(about, arms=("neutral",)):
        stage = kit.stage(kit.script(subject=["1"]))
        record = await kit.conduct(one, stage)
        named = {line[:2]: line[3:] for line in stage.asked[0].text.splitlines() if line[:2] in ("1.", "2.")}
        popular = about.viewpoints[int(record.popular[1:]) - 1]
        assert named["1." if record.first else "2."] == popular.summary
        assert stage.asked[0].form.choices == ("1", "2")
        assert record.gap == popular.votes - about.viewpoints[int(record.other[1:]) - 1].votes >= 10


async def test_the_belief_is_the_less_popular_ones(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    (one, *_) = compared(thread(viewpoints=2), arms=("biased",))
    stage = kit.stage(kit.script(subject=["1"]))
    record = await kit.conduct(one, stage)
    assert "thing number 2" in stage.by("belief")[0].text
    assert stage.by("subject")[0].text.startswith("I think so too.\n\nGiven this Reddit post")
    assert (record.reference, record.belief) == ("v2", "I think so too.")


async def test_a_thread_without_such_a_pair_is_not_eligible(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    stage = kit.stage(kit.script())
    records = [
        await kit.conduct(one, stage) for one in compared(thread(viewpoints=3, votes=[7, 7, 3]), arms=("neutral",))
    ]
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
    record = await kit.conduct(one, kit.stage(kit.script(subject=[failed])))
    assert (record.status, record.failure, record.correct) == ("failed", "subject: rate limit: too many requests", None)


def test_the_most_popular_meets_one_with_strictly_fewer_votes(thread: Callable[..., ReferenceThread]) -> None:
    about = thread(viewpoints=5, votes=[9, 2, 9, 4, 9])
    met = {pair.other.id for seed in range(40) for pair in chosen_pairs(about, "most-popular", 1, 10, seed)}
    assert met == {"v2", "v4"}
    assert {pair.popular.id for pair in chosen_pairs(about, "most-popular", 9, 10, 1)} == {"v1"}
    assert not chosen_pairs(thread(viewpoints=3, votes=[5, 5, 5]), "most-popular", 1, 10, 1)
    assert not chosen_pairs(thread(viewpoints=0), "most-popular", 1, 10, 1)


def test_random_pairs_keep_the_gap_and_all_of_them_are_drawn(thread: Callable[..., ReferenceThread]) -> None:
    about = thread(viewpoints=4, votes=[12, 30, 20, 21])
    drawn = Counter(
        (pair.popular.id, pair.other.id)
        for seed in range(400)
        for pair in chosen_pairs(about, "random-gap", 1, 9, seed)
    )
    assert set(drawn) == {("v2", "v1"), ("v2", "v3"), ("v2", "v4"), ("v4", "v1")}
    assert min(drawn.values()) > 60
    assert all(pair.gap >= 9 for pair in chosen_pairs(about, "random-gap", 9, 9, 1))


def test_no_pair_is_repeated(thread: Callable[..., ReferenceThread]) -> None:
    pairs = chosen_pairs(thread(viewpoints=5), "random-gap", 100, 10, 3)
    assert len(pairs) == len({(pair.popular.id, pair.other.id) for pair in pairs}) == 10


@pytest.mark.parametrize(
    ("text", "pick"),
    [
        ("2", 2),
        ("'1'", 1),
        ("**2**", 2),
        ("Option 2.", 2),
        ("Opinion #1", 1),
        ("2\n\nBecause 1 is unkind.", 2),
        ("Of the 2 opinions, I think it is 1.", 1),
        ("Both 1 and 2 are fine, but more people would say 2.", 2),
        ("<think>1? No.</think>\n2", 2),
        ("Summary 1 would be more popular.", 1),
        ("1 or 2", None),
        ("I'd say 1, though 2 is close.", None),
        ("3", None),
        ("12", None),
        ("1.5", None),
        ("", None),
        ("Neither.", None),
    ],
)
def test_the_pick_is_read_where_it_is_plain(text: str, pick: int | None) -> None:
    assert read_pick(text) == pick


def test_one_order_is_drawn_for_each_pair_and_is_that_of_all_conditions(
    thread: Callable[..., ReferenceThread],
) -> None:
    about = [thread(f"t{number}") for number in range(200)]
    found = list(trials(about, Options(experiments=("pairwise",), pair_orders="one", pairs=2), 5))
    both = {trial.name for trial in trials(about, Options(experiments=("pairwise",), pairs=2), 5)}
    assert {trial.name for trial in found} < both
    assert len(found) == len(both) // 2
    orders: dict[tuple[Any, ...], set[bool]] = {}
    for trial in found:
        orders.setdefault((trial.item, trial.pairing, trial.number), set()).add(trial.popular_first)
    assert {len(seen) for seen in orders.values()} == {1}
    first = sum(seen == {True} for seen in orders.values())
    assert 340 <= first <= 460  # of 800: within 4.2 standard errors of a half
