"""Who discusses in which order, and options that no deliberation can be held with."""

from __future__ import annotations

from typing import Any

import pytest

from overton.errors import InputError
from overton.studies.deliberation.options import Options, check_options, orders_of

THREE = ("a", "b", "c")
EVERY_ORDER = [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)]


def test_in_turn_every_ordering_is_held() -> None:
    assert orders_of(Options(agents=THREE), "round-robin") == EVERY_ORDER


def test_all_at_once_there_is_one_discussion() -> None:
    assert orders_of(Options(agents=THREE), "synchronous") == [(1, 2, 3)]


def test_the_given_order_can_be_the_only_one() -> None:
    assert orders_of(Options(agents=THREE, orders="given"), "round-robin") == [(1, 2, 3)]


def test_every_choice_of_a_size_discusses() -> None:
    options = Options(agents=THREE, sizes=(2, 3))
    assert orders_of(options, "synchronous") == [(1, 2), (1, 3), (2, 3), (1, 2, 3)]
    pairs = [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)]
    assert orders_of(options, "round-robin") == [*pairs, *EVERY_ORDER]


def test_named_orders_are_those_that_are_held() -> None:
    options = Options(agents=THREE, named_orders=((2, 1), (3, 1, 2)), sizes=(2,), orders="given")
    assert orders_of(options, "round-robin") == [(2, 1), (3, 1, 2)]


def test_all_at_once_a_group_that_is_named_in_two_orders_discusses_once() -> None:
    options = Options(agents=THREE, named_orders=((2, 1), (1, 2, 3), (1, 2), (3, 2, 1)))
    assert orders_of(options, "synchronous") == [(2, 1), (1, 2, 3)]


@pytest.mark.parametrize(
    "options",
    [
        Options(agents=("a", "b")),
        Options(agents=("a", "a"), formats=("round-robin", "synchronous"), goals=("balanced",)),
        Options(agents=THREE, sizes=(3, 2), named_orders=((3, 1), (1, 3)), rounds=20, trials=3),
    ],
)
def test_options_that_can_be_held_pass(options: Options) -> None:
    check_options(options)


@pytest.mark.parametrize(
    ("wrong", "place", "key"),
    [
        ({"agents": ("a",)}, "--agent", ""),
        ({"sizes": (1,)}, "--size", "1"),
        ({"sizes": (4,)}, "--size", "4"),
        ({"sizes": (2, 2)}, "--size", "2"),
        ({"named_orders": ((1,),)}, "--order", "1"),
        ({"named_orders": ((1, 1),)}, "--order", "1-1"),
        ({"named_orders": ((0, 1),)}, "--order", "0-1"),
        ({"named_orders": ((1, 4),)}, "--order", "1-4"),
        ({"named_orders": ((1, 2), (2, 1), (1, 2))}, "--order", "1-2"),
        ({"formats": ()}, "--format", ""),
        ({"formats": ("synchronous", "synchronous")}, "--format", ""),
        ({"formats": ("aloud",)}, "--format", ""),
        ({"goals": ()}, "--goal", ""),
        ({"goals": ("speed",)}, "--goal", ""),
        ({"orders": "some"}, "--orders", "some"),
        ({"rounds": 0}, "--rounds", "0"),
        ({"rounds": 21}, "--rounds", "21"),
        ({"trials": 0}, "--trials", "0"),
    ],
)
def test_what_cannot_be_held_is_refused_where_it_stands(wrong: dict[str, Any], place: str, key: str) -> None:
    with pytest.raises(InputError) as caught:
        check_options(Options(**{"agents": THREE} | wrong))
    assert [(problem.place, problem.key) for problem in caught.value.problems] == [(place, key)]


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        check_options(Options(agents=THREE, sizes=(7,), rounds=0, goals=()))
    assert [problem.place for problem in caught.value.problems] == ["--size", "--goal", "--rounds"]
