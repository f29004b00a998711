"""The judge is asked in rounds; what cannot be used is asked for again with the reason, three times at most."""

from __future__ import annotations

from typing import Any

import pytest

from overton.calls import Form, Reply, user
from overton.errors import AccessError, CallFailed, Stopped
from overton.judging import Reading
from overton.studies.pluralism.judging import Task, failure_of, judged


def task(what: str) -> Task[str]:
    """Asks `what`; 'ok' is an answer, 'half' one that could be better."""

    def read(text: str) -> Reading[str]:
        if text.startswith("ok"):
            return Reading(text, "repaired" if text == "ok!" else "as is", dropped=1)
        return Reading("half", "as is", "it is half") if text == "half" else Reading.invalid("it is none")

    return Task((user(what),), Form(choices=("ok",)), read)


async def test_only_what_cannot_be_used_is_asked_again_with_the_reason(kit: Any) -> None:
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


async def test_after_three_replies_the_best_that_there_is_is_taken(kit: Any) -> None:
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
    assert (one.value, failure_of(one), one.attempts) == (None, "judge: rate limit: too many requests", 1)
    assert two.value == "ok"


async def test_what_stops_the_run_is_raised_after_all_have_ended(kit: Any) -> None:
    stage = kit.stage({"judge": [Stopped("interrupted"), AccessError("key", "no such key"), "ok"]})
    with pytest.raises(AccessError):
        await judged(stage, [task("a"), task("b"), task("c")])
    assert len(stage.asked) == 3


async def test_a_shared_answer_is_asked_for_once(kit: Any) -> None:
    stage = kit.stage({"judge": ["what?", "ok"]})
    assert [(await judged(stage, [task("a")], shared=True))[0].value for _ in range(2)] == ["ok", "ok"]
    assert len(stage.asked) == 2
    assert all(one.shared for one in stage.asked)
