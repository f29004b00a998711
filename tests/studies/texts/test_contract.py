"""A judged table holds what `overton.testing` asks of a study: it is killed, stopped and repeated, and pays once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.studies.texts import STUDY
from overton.testing import CHECKS, Case, check_extend, check_inspect, check_items

_OTHER = (check_items, check_extend, check_inspect)
"""No items come with it, repeat labels add no records, and its labels are not a task of Inspect AI."""
_IDS = [
    "library-a-short-1",
    "library-a-short-2",
    "buses-a-short-1",
    "buses-b-long-1",
    "hens-a-long-2",
    "hens-b-short-1",
]


@pytest.fixture(scope="module")
def case(kit: Any, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(
        STUDY,
        tmp_path_factory.mktemp("table"),
        ["simulated/word-judge"],
        items=kit.letters,
        only=_IDS,
        options={"question": kit.question, "retest": 0.5},
    )


@pytest.mark.parametrize(
    "check",
    [check for check in CHECKS if check not in _OTHER],
    ids=lambda check: check.__name__.removeprefix("check_"),
)
def test_the_contract(case: Case, check: Callable[[Case], None]) -> None:
    check(case)
