"""The agents of a discussion and their order, and options with which no deliberation can be run."""

from __future__ import annotations

from typing import Any

import pytest

from overton.errors import InputError, Problem
from overton.studies.deliberation.options import Options, orders_of
from overton.studies.options import options_of

THREE = ("a", "b", "c")
EVERY_ORDER = [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)]


def problems_of(given: dict[str, Any]) -> list[Problem]:
    """All that is wrong with options, each alone or together."""
    try:
        return list(options_of(Options, given).problems())
    except InputError as refused:
        return refused.problems


def test_in_turn_every_ordering_is_held() -> None:
    assert [*orders_of(Options(agents=THREE), "round-robin")] == EVERY_ORDER


def test_all_at_once_there_is_one_discussion() -> None:
    assert [*orders_of(Options(agents=THREE), "synchronous")] == [(1, 2, 3)]


def test_the_given_order_can_be_the_only_one() -> None:
    assert [*orders_of(Options(agents=THREE, orders="given"), "round-robin")] == [(1, 2, 3)]


def test_every_choice_of_a_size_discusses() -> None:
    options = Options(agents=THREE, sizes=(2, 3))
    assert [*orders_of(options, "synchronous")] == [(1, 2), (1, 3), (2, 3), (1, 2, 3)]
    pairs = [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)]
    assert [*orders_of(options, "round-robin")] == [*pairs, *EVERY_ORDER]


def test_named_orders_are_those_that_are_held() -> None:
    options = Options(agents=THREE, named_orders=((2, 1), (3, 1, 2)), sizes=(2,), orders="given")
    assert [*orders_of(options, "round-robin")] == [(2, 1), (3, 1, 2)]


def test_all_at_once_a_group_that_is_named_in_two_orders_discusses_once() -> None:
    options = Options(agents=THREE, named_orders=((2, 1), (1, 2, 3), (1, 2), (3, 2, 1)))
    assert [*orders_of(options, "synchronous")] == [(2, 1), (1, 2, 3)]


@pytest.mark.parametrize(
    "options",
    [
        {"agents": ("a", "b")},
        {"agents": ("a", "a"), "formats": ("round-robin", "synchronous"), "goals": ("balanced",)},
        {"agents": THREE, "sizes": (3, 2), "named_orders": ((3, 1), (1, 3)), "rounds": 20, "trials": 3},
        {"agents": THREE, "sizes": "2", "named_orders": "3-1"},
    ],
)
def test_options_that_can_be_run_pass(options: dict[str, Any]) -> None:
    assert problems_of(options) == []


@pytest.mark.parametrize(
    ("given", "place", "key"),
    [
        ({"agents": ("a",)}, "role agent", ""),
        ({"sizes": (1,)}, "option sizes", "1"),
        ({"sizes": (4,)}, "option sizes", "4"),
        ({"sizes": (2, 2)}, "option sizes", "2"),
        ({"named_orders": ((1,),)}, "option named_orders", "1"),
        ({"named_orders": ((1, 1),)}, "option named_orders", "1-1"),
        ({"named_orders": ((0, 1),)}, "option named_orders", "0-1"),
        ({"named_orders": ((1, 4),)}, "option named_orders", "1-4"),
        ({"named_orders": ((1, 2), (2, 1), (1, 2))}, "option named_orders", "1-2"),
        ({"formats": ()}, "option formats", ""),
        ({"formats": ("synchronous", "synchronous")}, "option formats", "synchronous"),
        ({"formats": ("aloud",)}, "option formats", "aloud"),
        ({"goals": ()}, "option goals", ""),
        ({"goals": ("speed",)}, "option goals", "speed"),
        ({"orders": "some"}, "option orders", "some"),
        ({"rounds": 0}, "option rounds", "0"),
        ({"rounds": 21}, "option rounds", "21"),
        ({"trials": 0}, "option trials", "0"),
        ({"cells": ("aloud/correctness/2",)}, "option cells", "aloud/correctness/2"),
        ({"cells": ("synchronous/correctness",)}, "option cells", "synchronous/correctness"),
        ({"cells": ("synchronous/correctness/4",)}, "option cells", "synchronous/correctness/4"),
        ({"cells": ("synchronous/correctness/2",), "sizes": (2,)}, "option cells", "synchronous/correctness/2"),
    ],
)
def test_options_that_cannot_be_run_are_refused_by_place(given: dict[str, Any], place: str, key: str) -> None:
    assert [(problem.place, problem.key) for problem in problems_of({"agents": THREE} | given)] == [(place, key)]


def test_all_problems_are_reported_at_once() -> None:
    alone = problems_of({"agents": THREE, "sizes": (1,), "rounds": 0, "goals": ()})
    assert [problem.place for problem in alone] == ["option goals", "option sizes", "option rounds"]
    together = problems_of({"agents": ("a",), "sizes": (7,), "named_orders": ((1, 2),)})
    assert [problem.place for problem in together] == ["role agent", "option sizes", "option named_orders"]
