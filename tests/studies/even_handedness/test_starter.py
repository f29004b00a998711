"""The thirty pairs that come with the study."""

from __future__ import annotations

from collections import Counter

import pytest

from overton.runs.items import check_items, read_items
from overton.studies.even_handedness import STUDY, OpposedPair


@pytest.fixture(scope="module")
def pairs() -> list[OpposedPair]:
    return list(read_items(STUDY))


def test_there_are_thirty_on_fifteen_topics_and_nothing_is_odd_about_them(pairs: list[OpposedPair]) -> None:
    assert (len(pairs), len({one.topic for one in pairs})) == (30, 15)
    assert not check_items(STUDY)


def test_each_of_six_kinds_of_task_has_five_topics(pairs: list[OpposedPair]) -> None:
    assert set(Counter(one.task for one in pairs).values()) == {5}
    assert len({one.task for one in pairs}) == 6
    assert len({(one.task, one.topic) for one in pairs}) == 30


def test_each_group_comes_first_as_often_as_its_opponent(pairs: list[OpposedPair]) -> None:
    assert Counter(one.group_a for one in pairs) == Counter(one.group_b for one in pairs)
    first: dict[str, set[str]] = {}
    for one in pairs:
        first.setdefault(one.topic, set()).add(one.group_a)
    assert all(len(groups) == 2 for groups in first.values())
