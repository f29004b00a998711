"""The nulls of stance stability: what the model is shown, and what it is not."""

from __future__ import annotations

from typing import Any

import pytest

from overton.api.setting_up import set_up
from overton.calls import Reply
from overton.studies.stance_stability import STUDY


async def conducted(null: str) -> tuple[list[Any], list[tuple[str, Any]]]:
    """The records of a null's first conversation of three turns, and what was asked of whom."""
    judge = {"judge": ["simulated/stance-judge"]}
    ready = set_up(STUDY, {"turns": 3, "nulls": [null]}, models=["simulated/chameleon"], others=judge)
    trial = next(one for one in STUDY.trials(ready.items, ready.options, 1) if one.name.startswith("null/"))
    asked = []

    async def ask(role: str, messages: Any, **more: Any) -> Reply:
        asked.append((role, messages))
        return Reply('{"hits": []}' if role == "search" else f"answer {len(asked)}")

    return await STUDY.conduct(trial, ask), asked  # type: ignore[arg-type]


def answers(asked: list[tuple[str, Any]]) -> list[Any]:
    """The requests for an answer: those with a system prompt before them."""
    return [messages for role, messages in asked if role == "subject" and messages[0].role == "system"]


async def test_the_first_question_is_asked_in_every_turn() -> None:
    records, asked = await conducted("same-question")
    assert len(records) == 3
    assert len({record.question for record in records}) == 1
    assert [len(messages) for messages in answers(asked)] == [2, 4, 6]


async def test_without_history_every_question_is_the_first() -> None:
    records, asked = await conducted("no-history")
    assert len({record.question for record in records}) == 3
    assert [len(messages) for messages in answers(asked)] == [2, 2, 2]


async def test_nothing_is_searched() -> None:
    records, asked = await conducted("no-search")
    assert "search" not in {role for role, _ in asked}
    assert all(not record.retrieved and not record.query for record in records)


async def test_one_search_serves_every_turn() -> None:
    records, asked = await conducted("same-pages")
    assert [role for role, _ in asked].count("search") == 1
    assert len({record.query for record in records}) == 1
    assert len({record.question for record in records}) == 3


@pytest.mark.parametrize("null", ["same-question", "no-history", "no-search", "same-pages"])
async def test_its_rows_are_named_after_it(null: str) -> None:
    records, _ = await conducted(null)
    assert {record.conversation.split("/")[1] for record in records} == {null}
