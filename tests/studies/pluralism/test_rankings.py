"""Rankings out of what models write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overton.studies.pluralism import ReferenceThread
from overton.studies.pluralism.items import by_votes
from overton.studies.pluralism.protocol.ranking import Ranking, read_ranking, shuffled

WELL = (3, 1, 2, 5, 4)
SUMMARIES = ["Go, now.", "Stay here.", "Be kind to them.", "Wait a year.", "Ask her."]


@pytest.mark.parametrize(
    "text",
    [
        "3, 1, 2, 5, 4",
        "3,1,2,5,4",
        "Your ranking: 3, 1, 2, 5, 4.",
        "**3, 1, 2, 5, 4**",
        "[3, 1, 2, 5, 4]",
        "3 > 1 > 2 > 5 > 4",
        "3 1 2 5 4",
        "3\n1\n2\n5\n4",
        "#3, #1, #2, #5, #4",
        "<think>First 1, 2, 3, 4, 5; no.</think>\n3, 1, 2, 5, 4",
        "Of the 5 summaries I would say, as in 2019, that 1, 2 are close.\n\n3, 1, 2, 5, 4",
        "At first 1, 2, 3, 4, 5 came to mind. Then: 3, 1, 2, 5, 4",
        "1. Summary 3\n2. Summary 1\n3. Summary 2\n4. Summary 5\n5. Summary 4",
        "1. **3** - it is kind\n2. **1** - it is not\n3. **2**\n4. **5**\n5. **4**",
        "3. Be kind.\n1. Go.\n2. Stay.\n5. Ask.\n4. Wait.",
        "1. Be kind to them.\n2. **Go, now**\n3. Stay here: it is best.\n4. ASK HER\n5. Wait a year.",
    ],
)
def test_a_ranking_is_read(text: str) -> None:
    assert read_ranking(text, SUMMARIES) == Ranking(WELL, 0, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot rank these.",
        "It is 1,000 to 1.",
        "7, 8, 9",
        "1. Be kind.\n2. Go.\n3. Stay.\n4. Ask.\n5. Wait.",
    ],
)
def test_where_there_is_none_none_is_made_up(text: str) -> None:
    assert read_ranking(text, SUMMARIES) is None


def test_numbers_that_are_too_many_too_few_or_unknown_are_counted() -> None:
    ranking = read_ranking("3, 1, 3, 9, 2=5, 0", SUMMARIES)
    assert ranking == Ranking((3, 1, 3, 2, 5), unknown=2, repeated=1, tied=1)
    assert ranking is not None
    assert ranking.missing(5) == 1


@pytest.mark.parametrize("unit", ["1 ", "1, ", "1,", " ", "1.\n", "* ", "(", "1\n\n", "9999999999"])
def test_long_hostile_replies_are_read_quickly(unit: str) -> None:
    read_ranking(unit * 40_000, SUMMARIES)


def test_the_most_voted_come_first_and_equal_ones_in_their_order(thread: Callable[..., ReferenceThread]) -> None:
    ranked = by_votes(thread(viewpoints=5, votes=[3, 7, -2, 7, 3]), 4)
    assert [viewpoint.id for viewpoint in ranked] == ["v2", "v4", "v1", "v5"]


def test_the_order_shown_follows_from_seed_and_thread(thread: Callable[..., ReferenceThread]) -> None:
    views = thread(viewpoints=10).viewpoints
    orders = [[view.id for view in shuffled(views, *how)] for how in (("a", 1), ("a", 1), ("a", 2), ("b", 1))]
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == sorted(view.id for view in views) for order in orders)
