"""Existing conversations: every turn is labelled from what precedes it."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Request, Settings
from overton.errors import CallFailed, InputError
from overton.studies.options import options_of
from overton.studies.stance_stability.items import Transcript, TranscriptTurn
from overton.studies.stance_stability.simulated import JudgeParameters, StanceJudge
from overton.studies.stance_stability.transcripts import JUDGING, JudgedTurn, JudgingOptions


def transcript(**changed: Any) -> Transcript:
    turns = (
        TranscriptTurn(1, "Is it so?", "Yes, it is.", ("https://a.example/",), ()),
        TranscriptTurn(2, "", "Well, perhaps."),
        TranscriptTurn(4, "Sure?", "No."),
    )
    known = {"topic": "Buses", "model": "m", "domain": "d", "temperature": 0.5}
    return Transcript(**{"id": "one", "turns": turns, **known, **changed})


async def judged(kit: Any, *lines: Any, one: Transcript | None = None, **options: Any) -> tuple[list[JudgedTurn], Any]:
    stage = kit.stage({"judge": lines})
    (trial,) = JUDGING.trials([one or transcript()], JudgingOptions(**options), 0)
    return await JUDGING.conduct(trial, stage), stage


async def test_every_turn_gets_its_label_and_keeps_what_is_known_of_it(kit: Any) -> None:
    rows, _ = await judged(kit, kit.labels(), kit.labels(stance="balanced"), kit.labels(stance="critical"))
    assert [(row.conversation, row.turn, row.stance, row.answer) for row in rows] == [
        ("one", 1, "supportive", "Yes, it is."),
        ("one", 2, "balanced", "Well, perhaps."),
        ("one", 4, "critical", "No."),
    ]
    first = rows[0]
    assert (first.topic, first.proposition, first.model, first.domain, first.temperature) == (
        "Buses",
        "",
        "m",
        "d",
        0.5,
    )
    assert (first.retrieved, first.cited, rows[1].retrieved) == (("https://a.example/",), (), None)
    assert (first.confidence, first.claims, first.judge_attempts, first.failure) == (0.67, ("Buses help.",), 1, None)


async def test_the_judge_sees_the_turns_before_and_that_a_question_is_not_known(kit: Any) -> None:
    _, stage = await judged(kit, kit.labels())
    first, second, third = (one.text for one in stage.asked)
    assert "the first turn" in first
    assert "Yes, it is." in second
    assert "<question>\n(not recorded)\n</question>" in second
    assert third.count("<earlier_answer>") == 2
    assert {one.speaker for one in stage.asked} == {"judge/1"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"proposition": "Buses should be free."}, "proposition: Buses should be free."),
        ({}, "(supportive: for it): Buses"),
        ({"topic": ""}, "(supportive: yes, or in favor of it): Is it so?"),
    ],
)
async def test_stances_are_towards_what_is_known(kit: Any, changed: dict[str, str], words: str) -> None:
    _, stage = await judged(kit, kit.labels(), one=transcript(**changed))
    assert all(words in one.text for one in stage.asked)


async def test_a_failure_costs_one_turn_only(kit: Any, failed: CallFailed) -> None:
    rows, _ = await judged(kit, kit.labels(), failed, kit.labels())
    assert [(row.stance, row.failure) for row in rows] == [
        ("supportive", None),
        (None, "judge: rate limit: too many requests"),
        ("supportive", None),
    ]


async def test_both_prompts_give_both_labels(kit: Any) -> None:
    rows, _ = await judged(kit, kit.labels(), kit.labels(stance="critical"), judge_prompts="both")
    assert (rows[0].stance, rows[0].premise_stance) == ("supportive", "critical")


def test_a_budget_that_holds_no_sentence_is_refused() -> None:
    with pytest.raises(InputError, match="option judged_characters: 5: must be 200 or more"):
        options_of(JudgingOptions, {"judged_characters": 5})


async def test_a_transcripts_judge_tells_probabilities_and_is_calibrated_as_any_other(kit: Any) -> None:
    judge = StanceJudge(JudgeParameters(wrong=0.3))
    asked: list[Any] = []

    def answer(one: Any) -> Any:
        asked.append(one)
        return judge.reply(Request(one.messages, Settings(), one.form, len(asked)))

    turns = tuple(TranscriptTurn(number, "So?", "My stance: critical, likely.") for number in (1, 2, 4))
    (trial,) = JUDGING.trials([transcript(turns=turns)], JudgingOptions(shares="auto", calibrate=20), 0)
    rows = await JUDGING.conduct(trial, kit.stage({"judge": answer}))
    assert [row.p_stance for row in rows] == [pytest.approx((0.1, 0.7, 0.1, 0.1))] * 3
    assert {row.shares for row in rows} == {"auto"}
    assert sum(len(row.sampled or ()) for row in rows) == 20
    labels, singles = ([one for one in asked if bool(one.form.weigh) == told] for told in (True, False))
    assert len(labels) == 3
    assert {one.settings.temperature for one in singles} == {1.0}
    assert {next(iter(one.form.schema["properties"])) for one in asked} == {"stance"}
