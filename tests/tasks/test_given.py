"""Task parameters as a command line gives them: a value or a list, words for numbers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")

from overton.errors import InputError
from overton.tasks import given


@pytest.mark.parametrize(
    ("value", "found"), [(None, None), ("a", ["a"]), (["a", "b"], ["a", "b"]), (("a",), ["a"]), (7, ["7"])]
)
def test_one_or_more_words(value: Any, found: Any) -> None:
    assert given.words(value) == found


def test_whole_numbers_come_as_numbers_and_as_words() -> None:
    assert given.whole("templates", 3) == [3]
    assert given.whole("templates", ["1", 2]) == [1, 2]
    with pytest.raises(InputError, match=r"-T templates: one: must be a whole number\n-T templates: 1\.5: must be"):
        given.whole("templates", ["one", "1.5", "2"])


def test_temperatures_may_be_the_endpoints_own() -> None:
    assert given.numbers_or_own("temperatures", ["0", 0.5, "own"]) == [0.0, 0.5, None]
    with pytest.raises(InputError, match="hot: must be a number, or own"):
        given.numbers_or_own("temperatures", "hot")


def test_orders_are_agents_numbers() -> None:
    assert given.orders(["2-1-3", "1-2"]) == [[2, 1, 3], [1, 2]]
    with pytest.raises(InputError, match="2-one"):
        given.orders("2-one")


def test_pairs_repeat() -> None:
    assert given.pairs("pages_args", ["allow=a", "allow=b", "timeout=3"]) == {"allow": ["a", "b"], "timeout": ["3"]}
    with pytest.raises(InputError, match="must be KEY=VALUE"):
        given.pairs("pages_args", "allow")
