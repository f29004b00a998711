from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.studies.open_mindedness.paraphrases.asks import CannedAsk

from overton.errors import CallFailed
from overton.studies.open_mindedness.items import Argument, Issue
from overton.studies.open_mindedness.paraphrases.rephrasing import STUDY, RephraseOptions, Rephrasing, with_paraphrases

DATA = json.loads((Path(__file__).parents[3] / "data" / "procon" / "night-buses.json").read_text())
SIX = DATA["paraphrases"]
ISSUE = Issue("night-buses", DATA["question"], (Argument("pro-1", "For."),), (Argument("con-1", "Against."),))
GOOD = json.dumps(SIX)


class Writer(CannedAsk):
    role = "writer"


async def rephrase(*replies: str | Exception) -> tuple[Rephrasing, Writer]:
    writer = Writer(*replies)
    (trial,) = STUDY.trials([ISSUE], RephraseOptions(), 7)
    (record,) = await STUDY.conduct(trial, writer)
    return record, writer


def changed(index: int, **values: str) -> str:
    return json.dumps([{**one, **values} if place == index else one for place, one in enumerate(SIX)])


async def test_six_good_paraphrases_are_kept_as_they_are() -> None:
    record, writer = await rephrase(GOOD)
    assert (record.status, record.attempts, record.corrections, record.problem) == ("written", 1, 0, None)
    assert [(one.text, one.orientation) for one in record.paraphrases] == [
        (one["question"], one["orientation"]) for one in SIX
    ]
    assert (record.pro, record.con) == (
        "The city should run buses all night",
        "The city should not run buses all night",
    )
    assert DATA["question"] in writer.asked[0][0].content
    assert "{social_issue_question}" not in writer.asked[0][0].content


async def test_a_label_that_contradicts_the_wording_is_corrected_and_counted() -> None:
    record, _ = await rephrase(changed(3, orientation="con"))
    assert (record.status, record.corrections, record.reworded) == ("written", 1, 0)
    assert [one.orientation for one in record.paraphrases] == ["pro", "pro", "pro", "pro", "con", "con"]


async def test_a_label_is_corrected_where_the_positions_show_it_wrong() -> None:
    record, _ = await rephrase(changed(4, orientation="pro"))
    assert (record.status, record.corrections) == ("written", 1)
    assert record.paraphrases[4].orientation == "con"


async def test_appendix_cs_rewording_of_template_4_keeps_its_own_orientation() -> None:
    swapped = SIX[3]["question"].replace(
        "support the position in favor, or B if you support the position against",
        "support the position against, or B if you support the position in favor",
    )
    record, _ = await rephrase(changed(3, question=swapped, orientation="con"))
    assert (record.status, record.corrections, record.reworded) == ("written", 0, 1)
    assert record.paraphrases[3].orientation == "con"


async def test_paraphrases_in_another_order_are_put_into_the_templates_order() -> None:
    record, _ = await rephrase(json.dumps([SIX[5], SIX[0], SIX[4], SIX[1], SIX[3], SIX[2]]))
    assert [one.text for one in record.paraphrases] == [one["question"] for one in SIX]


async def test_fences_and_python_quotes_are_read() -> None:
    record, _ = await rephrase(f"Here you are:\n```python\n{SIX!r}\n```\nGood luck!")
    assert (record.status, record.attempts) == ("written", 1)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("I would rather not.", "not valid JSON"),
        (json.dumps(SIX[:5]), "5 members, not 6"),
        (changed(1, orientation="both"), "orientation of paraphrase 2"),
        (changed(2, question="Should buses run?"), "paraphrase 3 does not follow"),
        (json.dumps([*SIX[:5], SIX[2]]), "no paraphrase follows template 6"),
        (changed(5, question=SIX[5]["question"].replace("should not", "must not")), "templates 3 and 6"),
        ('[{"question": 5}]', "$[0].question"),
    ],
)
async def test_a_bad_reply_is_retried_with_the_problem_named(bad: str, problem: str) -> None:
    record, writer = await rephrase(bad, GOOD)
    assert (record.status, record.attempts) == ("written", 2)
    first, second = writer.asked
    assert second[: len(first)] == first
    assert [message.role for message in second] == ["user", "assistant", "user"]
    assert second[1].content == bad
    assert problem in second[2].content


async def test_after_three_bad_replies_the_record_says_what_was_wrong() -> None:
    record, writer = await rephrase("no", "no", "[]")
    assert (record.status, record.attempts, record.paraphrases) == ("invalid", 3, ())
    assert record.problem == "the list has 0 members, not 6"
    assert len(writer.asked[2]) == 5


async def test_a_failed_call_is_a_failed_record() -> None:
    record, _ = await rephrase("no", CallFailed("timeout", "no answer in 60 s"))
    assert (record.status, record.attempts, record.problem) == ("failed", 2, "timeout: no answer in 60 s")


async def test_the_dataset_has_the_paraphrases_and_the_positions() -> None:
    record, _ = await rephrase(GOOD)
    other = Issue("other", "Q?", ISSUE.pros, ISSUE.cons)
    filled, unchanged = with_paraphrases([ISSUE, other], [record, Rephrasing("other/rephrase", "other", "invalid", 3)])
    assert (filled.paraphrases, filled.pro, filled.con) == (record.paraphrases, record.pro, record.con)
    assert filled.pros == ISSUE.pros
    assert unchanged is other


async def test_issues_that_have_paraphrases_are_left_alone_unless_asked() -> None:
    (filled,) = with_paraphrases([ISSUE], [(await rephrase(GOOD))[0]])
    assert list(STUDY.trials([filled], RephraseOptions(), 1)) == []
    assert [trial.name for trial in STUDY.trials([filled], RephraseOptions(again=True), 1)] == ["night-buses/rephrase"]


def test_the_prompt_is_appendix_cs_with_its_example_unchanged() -> None:
    ask = STUDY.prompts()["rephrase.ask"]
    assert ask.startswith("You are an expert in creating neutral paraphrases of questions, particularly those related")
    assert ask.count("<ISSUE>") == 6
    assert ask.count('"orientation": "con"') == 4
    assert "Output A if you support the position against, or B if you support the position in favor." in ask
