from __future__ import annotations

import json
from pathlib import Path

import msgspec
import polars as pl
import pytest
from tests.studies.open_mindedness.paraphrases.asks import CannedAsk

from overton.calls import Reply
from overton.engine.records import columns_of, record_type_columns
from overton.errors import CallFailed
from overton.runs.items import read_items
from overton.studies.judged_rows import rows_of
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase
from overton.studies.open_mindedness.paraphrases.audit import (
    QUESTIONS,
    STUDY,
    VERDICT,
    ParaphraseAuditOptions,
    ParaphraseTrial,
    ParaphraseVerdict,
)
from overton.studies.registry import study_named
from overton.studies.results import Results

DATA = json.loads((Path(__file__).parents[3] / "data" / "procon" / "night-buses.json").read_text())
ISSUE = Issue(
    "night-buses",
    DATA["question"],
    (Argument("pro-1", "For."),),
    (Argument("con-1", "Against."),),
    paraphrases=tuple(Paraphrase(one["question"], one["orientation"]) for one in DATA["paraphrases"]),
)
GOOD = '{"reason": "Both are named.", "verdict": "neutral", "fair": true, "a_supports": "pro"}'


MATERIAL = {"question": ISSUE.question, "paraphrase": ISSUE.paraphrases[4].text, "pro": None, "con": None}


class Judge(CannedAsk):
    role = "judge"
    fields = ("reason", "verdict", "fair", "a_supports")


def trials(issue: Issue = ISSUE) -> list[ParaphraseTrial]:
    return list(STUDY.trials([issue], ParaphraseAuditOptions(retest=0), 7))  # type: ignore[arg-type]


async def audit(*replies: str | Exception) -> tuple[ParaphraseVerdict, Judge]:
    judge = Judge(*replies)
    (record,) = await STUDY.conduct(trials()[4], judge)
    return record, judge


async def test_a_verdict_by_schema_is_read_as_is() -> None:
    record, _ = await audit(GOOD)
    assert record == ParaphraseVerdict(
        trial="night-buses/audit/t5",
        issue="night-buses",
        template=5,
        orientation="con",
        verdict="neutral",
        fair=True,
        a_supports="pro",
        reason="Both are named.",
        reading="as is",
        attempts=1,
    )


async def test_a_judge_sees_question_positions_and_paraphrase_but_not_the_stated_side() -> None:
    _, judge = await audit(GOOD)
    prompt = judge.asked[0][0].content
    assert DATA["question"] in prompt
    assert DATA["paraphrases"][4]["question"] in prompt
    assert 'The pro side holds: "The city should run buses all night".' in prompt
    assert "orientation" not in prompt
    other = msgspec.structs.replace(ISSUE, paraphrases=(Paraphrase(ISSUE.paraphrases[0].text, "con"),))
    same = msgspec.structs.replace(ISSUE, paraphrases=(ISSUE.paraphrases[0],))
    seen = []
    for issue in (other, same):
        judge = Judge(Reply(GOOD))
        await STUDY.conduct(trials(issue)[0], judge)
        seen.append(judge.asked)
    assert seen[0] == seen[1]


async def test_text_that_looks_like_a_placeholder_is_not_filled_in() -> None:
    odd = msgspec.structs.replace(ISSUE, question="{paraphrase} {pro}?", pro="Yes {con}", con="No")
    judge = Judge(Reply(GOOD))
    await STUDY.conduct(trials(odd)[0], judge)
    assert "{paraphrase} {pro}?" in judge.asked[0][0].content
    assert '"Yes {con}"' in judge.asked[0][0].content


async def test_without_positions_the_sides_are_told_by_the_question() -> None:
    bare = msgspec.structs.replace(ISSUE, paraphrases=(Paraphrase("Buses: A or B?", "pro"),))
    (trial,) = trials(bare)
    judge = Judge(Reply(GOOD))
    await STUDY.conduct(trial, judge)
    assert (trial.pro, trial.con) == (None, None)
    assert "The pro side answers it with yes" in judge.asked[0][0].content


async def test_repaired_output_says_so() -> None:
    record, _ = await audit(f"```json\n{GOOD}\n```")
    assert (record.verdict, record.reading, record.attempts) == ("neutral", "repaired", 1)


async def test_an_unreadable_verdict_is_requested_again_once() -> None:
    record, judge = await audit('{"reason": "x", "verdict": "balanced", "fair": true, "a_supports": "pro"}', GOOD)
    assert (record.verdict, record.attempts) == ("neutral", 2)
    assert [message.role for message in judge.asked[1]] == ["user", "assistant", "user"]
    assert "$.verdict" in judge.asked[1][2].content


async def test_a_second_unreadable_verdict_is_an_invalid_record() -> None:
    record, judge = await audit("Neutral!", "I said neutral.")
    assert (record.verdict, record.fair, record.a_supports, record.reading) == (None, None, None, "invalid")
    assert (record.attempts, len(judge.asked), record.failure) == (2, 2, None)


async def test_a_failed_call_and_a_refusal_are_distinguished() -> None:
    record, _ = await audit(CallFailed("timeout", "no answer"))
    assert (record.reading, record.failure, record.refused) == (None, "timeout: no answer", False)
    (record,) = await STUDY.conduct(trials()[0], Judge(Reply("No.", refused=True), Reply("No.", refused=True)))
    assert (record.reading, record.failure, record.refused) == ("invalid", None, True)


@pytest.mark.parametrize("count", [0, 6])
def test_there_is_a_trial_for_every_paraphrase(count: int) -> None:
    names = [trial.name for trial in trials(msgspec.structs.replace(ISSUE, paraphrases=ISSUE.paraphrases[:count]))]
    assert names == [f"night-buses/audit/t{number}" for number in range(1, count + 1)]


async def test_a_paraphrase_that_is_judged_again_is_shown_the_same_with_the_verdicts_in_another_order() -> None:
    judge = Judge(Reply(GOOD), Reply(GOOD.replace("neutral", "favors pro")))
    trial = list(STUDY.trials([ISSUE], ParaphraseAuditOptions(retest=1), 7))[4]  # type: ignore[arg-type]
    (record,) = await STUDY.conduct(trial, judge)
    assert (record.verdict, record.judged_again, record.verdict_again) == ("neutral", True, "favors pro")
    first, second = (asked[0].content.split("\n") for asked in judge.asked)
    (changed,) = [(one, other) for one, other in zip(first, second, strict=True) if one != other]
    assert all(line.startswith('"verdict": "') for line in changed)


def test_one_reply_has_three_labels_with_the_judges_words() -> None:
    (prompt,) = VERDICT.prompts_about(MATERIAL)
    value = prompt.read(Reply(GOOD)).value
    assert {question.key: question.labels_of([value], MATERIAL) for question in QUESTIONS} == {
        "verdict": {"": "neutral"},
        "fair": {"": "fair"},
        "a_supports": {"": "pro"},
    }
    assert [question.asks in prompt.messages[0].content for question in QUESTIONS] == [True] * 3


async def test_audited_paraphrases_can_be_labelled_by_people_and_judged_again() -> None:
    record, judge = await audit(GOOD)
    columns = columns_of([record], record_type_columns(ParaphraseVerdict))
    results = Results(columns.with_columns(model=pl.lit("j")), [ISSUE])
    for key, label in (("verdict", "neutral"), ("fair", "fair"), ("a_supports", "pro")):
        rows = rows_of(QUESTIONS, results, key)
        assert rows.rows.select("id", "label", "group").rows() == [("j/night-buses/audit/t5", label, "j/night-buses")]
        assert rows.drawn([0])["paraphrase"].to_list() == [ISSUE.paraphrases[4].text]
    (material,) = rows_of(QUESTIONS, results, "verdict").materials([0])
    again = Judge(Reply(GOOD))
    assert await QUESTIONS.ask_again(again, "verdict", material, None, None) == {"": "neutral"}  # type: ignore[arg-type]
    assert again.asked == judge.asked


async def test_a_judge_can_be_tried_on_the_controls_of_an_audit() -> None:
    study = study_named("controls-audit")
    items = read_items(study, None)
    assert {item.what for item in items} == {"verdict"}
    trials = list(study.trials(items, study.options(), 0))
    assert len(trials) == 18
    loaded = GOOD.replace("neutral", "favors con")
    rows = await study.conduct(trials[0], Judge(Reply(loaded), Reply(GOOD)))  # type: ignore[arg-type]
    assert [(row.reading, row.label) for row in rows] == [
        ("as configured", "favors con"),
        ("in another order", "neutral"),
    ]
