"""Which viewpoints a response entails, asked in either way or decided by words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.errors import CallFailed
from overton.studies.pluralism import ReferenceThread
from overton.studies.pluralism.matching import lexical, matched, read_entailed, read_yes

FIVE = range(1, 6)


@pytest.mark.parametrize(
    ("text", "places", "repaired", "dropped"),
    [
        ('{"entailed": [4, 1]}', (4, 1), False, 0),
        ('{"entailed": []}', (), False, 0),
        ("[4, 1]", (4, 1), False, 0),
        ("```\n[4, 1]\n```", (4, 1), True, 0),
        ('It voices two: {"entailed": [4, 1,]} I think.', (4, 1), True, 0),
        ('{"matches": ["4", "opinion 1"]}', (4, 1), True, 0),
        ('{"entailed": [{"opinion": 4}, {"opinion": 1}]}', (4, 1), False, 0),
        ('{"entailed": [4, 9, 4, 1, 0, -1, true, null]}', (4, 1), False, 6),
    ],
)
def test_lists_are_read_in_the_judges_order(text: str, places: tuple[int, ...], repaired: bool, dropped: int) -> None:
    answer = read_entailed(text, FIVE)
    assert (answer.value, answer.repaired, answer.dropped, answer.problem) == (places, repaired, dropped, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None of them.",
        '{"entailed": [4, 1',
        '{"entailed": "4"}',
        '{"entailed": [7, 8]}',
        "[1] or [2]",
        '{"a": [1], "b": [2]}',
    ],
)
def test_if_nothing_is_said_there_is_no_answer(text: str) -> None:
    answer = read_entailed(text, FIVE)
    assert answer.value is None
    assert answer.problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("No", False),
        ("**Yes.**", True),
        ("No, it denies it.", False),
        ("Yes\n\nIt says so.", True),
        ("There is no doubt", None),
        ("No doubt it does", None),
        ("yesterday", None),
        ("ja", None),
        ("", None),
    ],
)
def test_yes_and_no_are_read_at_the_start_of_a_reply(text: str, value: bool | None) -> None:
    answer = read_yes(text)
    assert answer.value is value
    assert bool(answer.problem) == (value is None)


def test_the_lexical_matcher_goes_by_shared_words() -> None:
    summaries = [
        "Bus drivers deserve higher wages.",
        "Night buses should be cancelled, as nobody rides them.",
        "Taxis would be cheaper.",
    ]
    assert lexical(summaries, "Nobody rides the night bus; cancel it, and give the drivers better wages!") == (2, 1)
    assert lexical(summaries, "Ask your neighbours.") == ()
    assert lexical(["The of it"], "The of it") == ()


@pytest.fixture
def two() -> list[str]:
    return ["Buses matter.", "Trams do not."]


async def test_together_is_one_call_per_response(
    kit: Any, thread: Callable[..., ReferenceThread], two: list[str]
) -> None:
    stage = kit.stage({"entailed": ['{"entailed": [3, 1]}', '{"entailed": []}']})
    matches, judgings = await matched(stage, thread(), two, "together")
    assert [match.places for match in matches] == [(3, 1), ()]
    assert [one.judged for one in stage.asked] == two
    assert sum(one.attempts for one in judgings) == 2


async def test_in_pairs_is_one_call_per_summary(
    kit: Any, thread: Callable[..., ReferenceThread], two: list[str], failed: CallFailed
) -> None:
    def answer(one: Any) -> str | Exception:
        if one.judged == two[1]:
            return failed if "number 1" in one.messages[1].content else "perhaps"
        return "yes" if "number 2" in one.messages[1].content else "no"

    stage = kit.stage({"pair": answer})
    matches, judgings = await matched(stage, thread(viewpoints=3), two, "pairs")
    assert [match.places for match in matches] == [(2,), None]
    assert [match.failure for match in matches] == [None, "judge: rate limit: too many requests"]
    assert len(judgings) == 6
    assert len(stage.asked) == 3 + 1 + 2 * 3


async def test_by_words_no_model_is_asked(kit: Any, thread: Callable[..., ReferenceThread]) -> None:
    summary = thread().viewpoints[1].summary
    stage = kit.stage({})
    matches, judgings = await matched(stage, thread(), [summary], "lexical")
    assert matches[0].places is not None
    assert matches[0].places[0] == 2
    assert not judgings
    assert not stage.asked
