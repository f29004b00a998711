"""The judge: how it is asked and asked again, labels of stances, and beliefs in the first person."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Form, Reply, user
from overton.errors import AccessError, CallFailed, Stopped
from overton.judging import Reading
from overton.studies.asking import failure_in
from overton.studies.pluralism.judging import (
    LONGEST,
    JudgeQuestion,
    judged,
    read_belief,
    read_stance,
    read_stances,
    written_belief,
)


def task(what: str) -> JudgeQuestion[str]:
    """Asks `what`; 'ok' is an answer, 'half' one that could be better."""

    def read(text: str) -> Reading[str]:
        if text.startswith("ok"):
            return Reading(text, "repaired" if text == "ok!" else "as is", dropped=1)
        return Reading("half", "as is", "it is half") if text == "half" else Reading.invalid("it is none")

    return JudgeQuestion((user(what),), Form(choices=("ok",)), read)


async def test_only_unusable_replies_are_retried_with_the_reason(kit: Any) -> None:
    stage = kit.stage({"judge": ["ok", "what?", "ok!", "ok"]})
    one, two, three = await judged(stage, [task("a"), task("b"), task("c")])
    assert [course.value for course in (one, two, three)] == ["ok", "ok", "ok!"]
    assert [(course.attempts, course.unusable, course.repaired) for course in (one, two, three)] == [
        (1, 0, False),
        (2, 1, False),
        (1, 0, True),
    ]
    again = stage.asked[3].messages
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert again[1].content == "what?"
    assert "it is none" in again[2].content


async def test_after_three_replies_the_best_one_is_taken(kit: Any) -> None:
    stage = kit.stage({"judge": lambda one: "half" if one.messages[0].content == "a" else ""})
    half, none = await judged(stage, [task("a"), task("b")])
    assert (half.value, half.attempts, half.unusable, half.problem) == ("half", 3, 3, "it is half")
    assert (none.value, none.attempts, none.unusable) == (None, 3, 3)
    assert stage.asked[-1].messages[1].content == "(no reply)"


async def test_a_refusal_is_asked_again(kit: Any) -> None:
    stage = kit.stage({"judge": [Reply("ok, but no", refused=True), "ok"]})
    (course,) = await judged(stage, [task("a")])
    assert (course.value, course.unusable) == ("ok", 1)


async def test_one_call_that_fails_for_good_leaves_the_others(kit: Any, failed: CallFailed) -> None:
    stage = kit.stage({"judge": [failed, "ok"]})
    one, two = await judged(stage, [task("a"), task("b")])
    assert (one.value, failure_in("judge", [one]), one.attempts) == (None, "judge: rate limit: too many requests", 1)
    assert two.value == "ok"


async def test_what_stops_the_run_is_raised_after_all_have_finished(kit: Any) -> None:
    stage = kit.stage({"judge": [Stopped("interrupted"), AccessError("key", "no such key"), "ok"]})
    with pytest.raises(AccessError):
        await judged(stage, [task("a"), task("b"), task("c")])
    assert len(stage.asked) == 3


async def test_a_shared_answer_is_asked_for_once(kit: Any) -> None:
    stage = kit.stage({"judge": ["what?", "ok"]})
    assert [(await judged(stage, [task("a")], shared=True))[0].value for _ in range(2)] == ["ok", "ok"]
    assert len(stage.asked) == 2
    assert all(one.shared for one in stage.asked)


GOOD = {1: "supporting", 2: "against", 4: "neutral"}
WELL = '{"1": "supporting", "2": "against", "4": "neutral"}'


@pytest.mark.parametrize(
    ("text", "repaired", "dropped"),
    [
        (WELL, False, 0),
        (f"```json\n{WELL}\n```", True, 0),
        ('{"1": "supporting", "2": "against", "4": "neutral",}', True, 0),
        (f"Here are the labels you asked for:\n{WELL}\nLet me know!", True, 0),
        ("{'1': 'supporting', '2': 'against', '4': 'neutral'}", True, 0),
        ('{"labels": {"1": "Supporting", "2": " AGAINST ", "4": "neutral"}}', False, 0),
        ('{"opinion 1": "supporting", "v2": "against", "#4": "neutral"}', False, 0),
        (
            '[{"opinion": 1, "stance": "supporting"}, {"opinion": 2, "stance": "against"},'
            ' {"opinion": "4", "stance": "neutral"}]',
            False,
            0,
        ),
        ('[{"1": "supporting"}, {"2": "against"}, {"4": "neutral"}]', False, 0),
        ('{"1": "supporting", "2": "against", "3": "against", "4": "neutral", "99": "neutral"}', False, 2),
        ('[{"1": "supporting"}, {"1": "supporting"}, {"2": "against"}, {"4": "neutral"}]', False, 1),
    ],
)
def test_labels_are_read_in_any_shape(text: str, repaired: bool, dropped: int) -> None:
    answer = read_stances(text, [1, 2, 4])
    assert answer == (type(answer)(GOOD, "repaired" if repaired else "as is", "", dropped))


@pytest.mark.parametrize(
    ("text", "left", "problem"),
    [
        ('{"1": "supporting", "2": "against"', None, "not valid JSON"),
        ("", None, "not valid JSON"),
        ("I would rather not judge these people.", None, "not valid JSON"),
        ('{"1": "supporting", "2": "against"}', {1: "supporting", 2: "against"}, "for 4"),
        ('{"1": "unterstützend", "2": "dagegen", "4": "neutral"}', {4: "neutral"}, "for 1, 2"),
        (
            '{"1": "supporting", "2": "against", "opinion 1": "neutral", "4": "neutral"}',
            {2: "against", 4: "neutral"},
            "for 1",
        ),
        ('{"summary": "supporting", "other": "against"}', None, "for 1, 2, 4"),
        ('{"1": true, "2": 0, "4": null}', None, "for 1, 2, 4"),
        (f'{WELL}\nOr rather:\n{{"1": "against", "2": "against", "4": "against"}}', None, "more than one answer"),
        ("[]", None, "for 1, 2, 4"),
        ('"supporting"', None, "for 1, 2, 4"),
    ],
)
def test_missing_labels_are_reported_and_the_others_kept(text: str, left: dict[int, str] | None, problem: str) -> None:
    answer = read_stances(text, [1, 2, 4])
    assert answer.value == left
    assert problem in answer.problem


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"stance": "against"}', False),
        ('```json\n{"stance": "Against"}\n```', True),
        ('{"label": "against"}', True),
        ("Against.", True),
        ("**against**", True),
        ('The response objects.\n\n{"stance": "against",}', True),
        ('{"reason": "It objects.", "stance": "against"}', False),
    ],
)
def test_one_label_is_read(text: str, repaired: bool) -> None:
    answer = read_stance(text)
    assert (answer.value, answer.problem, answer.repaired) == ("against", "", repaired)


@pytest.mark.parametrize(
    "text",
    [
        "It is not supporting the opinion.",
        '{"stance": "opposed"}',
        '{"stance": ["against"]}',
        '{"stance": "agai',
        "",
        '{"stance": "against"} or {"stance": "neutral"}',
        '{"a": "against", "b": "neutral"}',
    ],
)
def test_a_label_is_not_guessed(text: str) -> None:
    answer = read_stance(text)
    assert answer.value is None
    assert answer.problem


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"belief": "I do think so."}', False),
        ('```json\n{"belief": "I do\\n think so."}\n```', True),
        ('Sure:\n{"belief": " I do think so. "}', True),
        ('{"statement": "I do think so."}', True),
    ],
)
def test_a_belief_is_read(text: str, repaired: bool) -> None:
    answer = read_belief(text)
    assert (answer.value, answer.repaired, answer.problem) == ("I do think so.", repaired, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do think so.",
        '{"belief": "I think that."}',
        '{"belief": "I think that ..."}',
        '{"belief": ""}',
        '{"belief": 3}',
        "[]",
        '{"belief": "I th',
        f'{{"belief": "{"I " * LONGEST}"}}',
    ],
)
def test_a_reply_without_a_belief_is_retried(text: str) -> None:
    answer = read_belief(text)
    assert answer.value is None
    assert answer.problem


def test_a_belief_without_spaces_is_read() -> None:
    assert read_belief('{"belief": "我认为公交车应该免费。"}').value == "我认为公交车应该免费。"


async def test_all_trials_share_a_belief(kit: Any) -> None:
    stage = kit.stage({"belief": ['{"belief": "I do think so."}', '{"belief": "I do not think so."}']})
    toward = [(await written_belief(stage, "Buses are good.", opposing=False)).value for _ in range(2)]
    opposing = [(await written_belief(stage, "Buses are good.", opposing=True)).value for _ in range(2)]
    assert toward == ["I do think so."] * 2
    assert opposing == ["I do not think so."] * 2
    assert len(stage.asked) == 2
