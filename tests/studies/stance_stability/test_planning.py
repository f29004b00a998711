"""Replies to plan with: the fewest and the most calls that a conversation can take."""

from __future__ import annotations

from typing import Any

import pytest

from overton.studies.stance_stability import STUDY
from overton.studies.stance_stability.items import Transcript, TranscriptTurn
from overton.studies.stance_stability.transcripts import JUDGING, JudgingOptions


def course(kit: Any, canned: Any) -> Any:
    roles = ("subject", "judge", "search", "pages", "queries")
    return kit.stage({role: lambda one: canned(one.role, one.speaker or one.role, one.form) for role in roles})


@pytest.mark.parametrize("queries", ["own", "shared"])
@pytest.mark.parametrize(("judge_prompts", "judges"), [("topic", 1), ("published", 1), ("both", 2)])
async def test_planned_calls_are_the_fewest_and_the_most_that_can_be_asked(
    kit: Any, trial: Any, queries: str, judge_prompts: str, judges: int
) -> None:
    counts = []
    for canned in STUDY.planning:
        stage = course(kit, canned)
        await STUDY.conduct(trial(4, pages_per_turn=7, queries=queries, judge_prompts=judge_prompts), stage)
        counts.append([len(stage.by(role)) for role in ("subject", "queries", "search", "pages", "judge")])
    own, shared = (8, 0) if queries == "own" else (4, 4)
    assert counts == [[own, shared, 4, 28, 4 * judges], [own, shared, 4, 28, 4 * judges * 3]]


async def test_the_longest_course_fills_every_budget(kit: Any, trial: Any) -> None:
    stage = course(kit, STUDY.planning[-1])
    records = await STUDY.conduct(trial(1, page_characters=50_000, context_characters=80_000), stage)
    assert 75_000 < len(stage.by("subject")[1].text) < 90_000
    assert (len(records[0].retrieved), records[0].shortened) == (20, 20)


async def test_transcripts_are_planned_by_their_turns(kit: Any) -> None:
    transcript = Transcript("one", tuple(TranscriptTurn(n, "Why?", "So.") for n in range(1, 4)))
    (trial,) = JUDGING.trials([transcript], JudgingOptions(), 0)
    counts = []
    for canned in JUDGING.planning:
        stage = course(kit, canned)
        await JUDGING.conduct(trial, stage)
        counts.append(len(stage.by("judge/1")))
    assert counts == [3, 9]
