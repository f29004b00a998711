"""Draws are part of every published result: these tests keep them fixed."""

from __future__ import annotations

from collections import Counter
from hashlib import shake_128
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from overton.calls import Draw

NAMES = [f"7/issue-{number}/order" for number in range(6_000)]


def test_words_are_those_that_were_always_drawn() -> None:
    assert Draw("7/night-buses/order").words(3) == (
        14849890110301684387,
        5206072072541786108,
        16953582917142412618,
    )
    assert Draw("").words(1) == (9043949231062883455,)
    assert Draw("é/ü").words(2) == (13402258189130697572, 4036365068374767528)


def test_choices_are_those_that_were_always_made() -> None:
    draw = Draw("7/night-buses/order")
    assert draw.uniform() == 0.8050141559380046
    assert draw.coin() is True
    assert draw.shuffle("abcdefgh") == list("efghbdac")
    assert draw.sample(range(10), 3) == [4, 5, 6]


def test_words_are_shake_128_little_endian() -> None:
    digest = shake_128(b"any name").digest(24)
    assert Draw("any name").words(3) == tuple(int.from_bytes(digest[k : k + 8], "little") for k in (0, 8, 16))


def test_fewer_words_are_the_beginning_of_more() -> None:
    assert Draw("x").words(50)[:7] == Draw("x").words(7)
    assert Draw("x").words(0) == ()


@given(st.text(), st.lists(st.integers()))
def test_a_shuffle_keeps_every_item_and_repeats_itself(name: str, items: list[int]) -> None:
    shuffled = Draw(name).shuffle(items)
    assert Counter(shuffled) == Counter(items)
    assert Draw(name).shuffle(items) == shuffled


@given(st.text(), st.lists(st.integers(), unique=True, max_size=30), st.integers(0, 40))
def test_a_sample_is_the_beginning_of_a_shuffle(name: str, items: list[int], size: int) -> None:
    sample = Draw(name).sample(items, size)
    assert sample == Draw(name).shuffle(items)[:size]
    assert len(set(sample)) == min(size, len(items))


@given(st.text(), st.permutations(range(8)))
def test_a_shuffle_moves_places_and_does_not_look_at_the_items(name: str, items: list[int]) -> None:
    places = Draw(name).shuffle(range(8))
    assert Draw(name).shuffle(items) == [items[place] for place in places]


@given(st.text())
def test_uniform_is_in_the_half_open_unit_interval(name: str) -> None:
    assert 0 <= Draw(name).uniform() < 1


def test_coins_are_fair() -> None:
    heads = sum(Draw(name).coin() for name in NAMES)
    assert chisquare([heads, len(NAMES) - heads]).pvalue > 0.001


def test_uniform_is_uniform() -> None:
    bins = Counter(int(Draw(name).uniform() * 20) for name in NAMES)
    assert chisquare([bins[k] for k in range(20)]).pvalue > 0.001


def test_every_order_is_as_likely_as_any_other() -> None:
    orders = Counter("".join(Draw(name).shuffle("abcd")) for name in NAMES)
    assert chisquare([orders["".join(order)] for order in permutations("abcd")]).pvalue > 0.001


def test_every_item_is_as_likely_to_be_sampled() -> None:
    chosen = Counter(item for name in NAMES for item in Draw(name).sample(range(10), 3))
    assert chisquare([chosen[item] for item in range(10)]).pvalue > 0.001


def test_draws_for_two_purposes_are_unrelated() -> None:
    pairs = Counter((Draw(name).coin(), Draw(name + "/closing").coin()) for name in NAMES)
    assert chisquare([pairs[a, b] for a in (False, True) for b in (False, True)]).pvalue > 0.001
