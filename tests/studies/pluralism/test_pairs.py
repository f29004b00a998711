from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from overton.studies.pluralism import ReferenceThread
from overton.studies.pluralism.protocol.pairwise import chosen_pairs, read_pick


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


def test_no_pair_comes_twice(thread: Callable[..., ReferenceThread]) -> None:
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
