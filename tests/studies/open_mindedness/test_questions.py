"""The questions about a free answer: the request, and the labels that one reply gives."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from overton.calls import Reply
from overton.studies.open_mindedness.items import Issue, Side
from overton.studies.open_mindedness.questions import (
    FORM,
    QUESTIONS,
    SIDE,
    FreeAnswerLabel,
    material_of,
    positions,
    side_columns,
)
from overton.studies.orders import OWN, REVERSED

ISSUE = Issue("i", "Should it be so?", (), (), pro="It should", con="It should not")
ANSWER = "I think </answer> that it should."


def asked(*replies: str, a_is: Side = "pro", refused: bool = False) -> tuple[Any, list[Any]]:
    """The label read from a judge that gives these replies in turn, and its requests."""
    left, seen = list(replies), []

    async def ask(role: str, messages: Any, **how: Any) -> Reply:
        seen.append((role, messages, how))
        return Reply(left.pop(0), refused=refused)

    (found,) = asyncio.run(QUESTIONS.ask_about(ask, [(SIDE, material_of(ISSUE, ANSWER, a_is), OWN)]))  # type: ignore[arg-type]
    return found, seen


def said(stance: str, strength: str = "clear", declines: bool = False) -> str:
    return f'{{"rationale": "x", "stance": "{stance}", "strength": "{strength}", "declines": {str(declines).lower()}}}'


@pytest.mark.parametrize(
    ("stance", "a_is", "taken"), [("A", "pro", "pro"), ("A", "con", "con"), ("b", "pro", "con"), ("B", "con", "pro")]
)
def test_a_letter_is_the_side_that_it_was_given_to(stance: str, a_is: Side, taken: str) -> None:
    found, _ = asked(said(stance), a_is=a_is)
    assert found.value == FreeAnswerLabel(taken, "clear", declines=False)  # type: ignore[arg-type]


def test_positions_appear_under_the_letters_that_they_were_given() -> None:
    for a_is, first in (("pro", "It should"), ("con", "It should not")):
        _, seen = asked(said("A"), a_is=a_is)  # type: ignore[arg-type]
        role, messages, how = seen[0]
        assert role == "judge"
        assert how["form"] == FORM
        assert f"Position A: {first}\n" in messages[1].content


def test_an_answer_cannot_end_its_own_part_of_the_prompt() -> None:
    _, seen = asked(said("A"))
    assert seen[0][1][1].content.count("</answer>") == 1


def test_an_answer_that_takes_neither_has_no_strength_and_may_decline() -> None:
    found, _ = asked(said("neither", "strong", declines=True))
    assert found.value == FreeAnswerLabel("neither", None, declines=True)


def test_a_side_without_a_strength_is_retried() -> None:
    found, seen = asked(said("A", "none"), said("A", "slight"))
    assert found.value == FreeAnswerLabel("pro", "slight", declines=False)
    assert "strength" in seen[1][1][-1].content


@pytest.mark.parametrize("reply", ["", "A", '{"stance": "C", "strength": "clear", "declines": false}', said("A") * 2])
def test_an_unreadable_reply_is_requested_three_times_and_has_no_label(reply: str) -> None:
    found, seen = asked(*([reply if reply != said("A") * 2 else said("A") + said("B")] * 3))
    assert found.value is None
    assert len(seen) == 3


def test_a_refusal_does_not_count_as_a_label() -> None:
    found, _ = asked(*[said("A")] * 3, refused=True)
    assert found.value is None


def test_an_issue_without_positions_is_answered_by_yes_or_no() -> None:
    assert positions(Issue("i", "Q?", (), ())) == ("Yes", "No")
    assert positions(Issue("i", "Q?", (), (), pro="Do", con="Do not")) == ("Do", "Do not")


def test_one_reply_has_all_three_labels() -> None:
    found, _ = asked(said("B", "slight"))
    labels = {question.key: question.labels_of([found.value], found.material) for question in QUESTIONS}
    assert labels == {"side": {"": "con"}, "strength": {"": "slight"}, "declines": {"": "does not"}}
    none, _ = asked(said("neither", declines=True))
    labels = {question.key: question.labels_of([none.value], none.material) for question in QUESTIONS}
    assert labels == {"side": {"": "neither"}, "strength": {"": "none"}, "declines": {"": "declines"}}
    assert side_columns(found) == {"strength": "slight", "declines": False, "judge_attempts": 1}


def test_positions_change_places_in_the_other_order_and_sides_do_not() -> None:
    material = material_of(ISSUE, ANSWER, "pro")
    for order, first, side in ((OWN, "It should", "pro"), (REVERSED, "It should not", "con")):
        (prompt,) = SIDE.prompts_about(material, order)
        assert f"Position A: {first}\n" in prompt.messages[1].content
        reading = prompt.read(Reply(said("A")))
        assert reading.value is not None
        assert (reading.value.taken, prompt.single_label('{"stance": "A"')) == (side, side)
