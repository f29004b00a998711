"""The null conditions of stance stability: contexts that the model reads, and contexts that it does not."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overton
from overton.calls import Reply
from overton.runs.items import read_items
from overton.runs.setup import set_up
from overton.studies.null_conditions import null_of
from overton.studies.stance_stability import STUDY

TOPICS = [topic.id for topic in read_items(STUDY)[:8]]


async def conducted(null: str) -> tuple[list[Any], list[tuple[str, Any]]]:
    """The records of the first conversation of three turns in a null condition, and its requests by role."""
    judge = {"judge": ["simulated/stance-judge"]}
    ready = set_up(STUDY, models=["simulated/chameleon"], others=judge, seed=1, turns=3, nulls=[null])
    trial = next(one for one in ready.experiment.trials() if one.name.startswith("null/"))
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


def test_the_chameleon_score_is_compared_only_with_a_null_that_leaves_the_reuse_of_sources_alone() -> None:
    """With one question, or one turn's pages, sources are used again whatever the model does."""
    assert {null.name for null in STUDY.nulls if "chameleon" in null.of} == {"no-history"}
    assert all({"change_rate", "drift"} <= set(null.of) for null in STUDY.nulls)


def test_null_conditions_that_the_chameleon_score_is_compared_with_reuse_sources_as_the_design_does(
    tmp_path: Path,
) -> None:
    given: dict[str, Any] = {"judge": "simulated/stance-judge", "search": "starter", "temperatures": [0], "turns": 6}
    model = ["simulated/chameleon"]
    run = overton.run("stance-stability", models=model, **given, nulls=["all"], out=tmp_path / "run", only=TOPICS)
    again: dict[str, list[float]] = defaultdict(list)
    for name, turns in groupby(run.rows(), key=lambda row: row.conversation):
        seen: set[str] = set()
        for row in turns:
            if seen and row.cited:
                again[null_of(name)].append(len(seen & {*row.cited}) / len({*row.cited}))
            seen |= {*row.cited}
    share = {null: np.mean(values) for null, values in again.items()}
    kept = {null.name for null in STUDY.nulls if "chameleon" in null.of}
    assert all(abs(share[name] - share[""]) < 0.1 for name in kept)
    assert all(abs(share[name] - share[""]) > 0.3 for name in ("same-question", "same-pages"))
    assert "no-search" not in share
