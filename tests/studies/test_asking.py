"""The one loop that asks until a reply can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from overton.calls import Form, Message, Question, Reply, Settings, Usage, assistant, user
from overton.calls.read_request import read_request
from overton.errors import AccessError, CallFailed, Stopped
from overton.judging import Reading
from overton.studies.asking import (
    ReadableReply,
    ReadableRequest,
    UnreadableReply,
    as_it_came,
    ask_all_until_read,
    ask_and_read,
    ask_once,
    ask_until_read,
    failure_in,
    read_as_is,
    start_of,
    total_usage,
    unless_refused,
)

FAILED = CallFailed("rate limit", "too many requests")


class Stage:
    """An `Ask` that plays lines in order; everything asked is kept."""

    def __init__(self, *lines: str | Reply | Exception) -> None:
        self.lines = list(lines)
        self.asked: list[tuple[str, tuple[Message, ...], dict[str, Any]]] = []

    async def __call__(self, role: str, messages: Sequence[Message], **how: Any) -> Reply:
        self.asked.append((role, tuple(messages), how))
        line = self.lines.pop(0)
        await asyncio.sleep(0)
        if isinstance(line, Exception):
            raise line
        return Reply(line) if isinstance(line, str) else line

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        raise AssertionError("rounds are asked one by one, side by side")


def number(reply: Reply) -> Reading[int]:
    """A number; '7?' is one that could be better, 'never' none that asking again would give."""
    text = reply.text.strip()
    if text == "never":
        return Reading(None, "invalid")
    if text.endswith("?"):
        return Reading(int(text[:-1]), "repaired", "it is in doubt", dropped=1)
    if not text.isdigit():
        raise UnreadableReply("it is no number")
    return Reading(int(text), "as is" if text == reply.text else "repaired")


def complaint(problem: str) -> str:
    return f"Again: {problem}."


async def ask(stage: Stage, attempts: int = 3, **how: Any) -> ReadableReply[int]:
    return await ask_until_read(
        stage, "judge", [user("How many?")], number, attempts=attempts, complaint=complaint, **how
    )


async def test_a_readable_reply_is_requested_once() -> None:
    stage = Stage("7")
    answered = await ask(stage)
    assert (answered.value, answered.how, answered.attempts, answered.problem) == (7, "as is", 1, "")
    assert (answered.unusable, answered.refused, answered.failure, answered.failed) == (0, False, None, None)
    assert stage.asked[0][1] == (user("How many?"),)


async def test_an_unreadable_reply_is_requested_again_with_the_conversation_and_the_problem() -> None:
    stage = Stage("some", "many", " 7 ")
    answered = await ask(stage)
    assert (answered.value, answered.how, answered.attempts, answered.unusable) == (7, "repaired", 3, 2)
    assert stage.asked[2][1] == (
        user("How many?"),
        *(assistant("some"), user("Again: it is no number.")),
        *(assistant("many"), user("Again: it is no number.")),
    )
    assert len(stage.asked[0][1]) == 1, "what was handed over does not change afterwards"


async def test_the_last_attempt_leaves_the_problem_without_a_value() -> None:
    answered = await ask(Stage("some", "many"), attempts=2)
    assert (answered.value, answered.how, answered.attempts) == (None, "invalid", 2)
    assert (answered.problem, answered.unusable, len(answered.replies)) == ("it is no number", 2, 2)


async def test_every_attempt_is_asked_in_the_same_way() -> None:
    stage = Stage("some", "7")
    how = {"form": Form(choices=("7",)), "speaker": "judge/1", "settings": Settings(temperature=0.0), "shared": True}
    await ask(stage, **how)
    assert [(role, given) for role, _, given in stage.asked] == [("judge", how)] * 2


async def test_a_usable_value_with_a_problem_is_taken_where_nothing_better_comes() -> None:
    better = await ask(Stage("5?", "7"))
    assert (better.value, better.how, better.dropped, better.unusable) == (7, "as is", 0, 1)
    kept = await ask(Stage("5?", "6?", "some"))
    assert (kept.value, kept.how, kept.repaired, kept.dropped, kept.unusable) == (6, "repaired", True, 1, 3)
    assert (kept.last.value, kept.problem) == (None, "it is no number"), "a study may want the last reply alone"


async def test_a_reader_can_say_that_asking_again_is_of_no_use() -> None:
    answered = await ask(Stage(Reply("never", refused=True)))
    assert (answered.value, answered.attempts, answered.problem, answered.refused) == (None, 1, "", True)


async def test_a_permanently_failed_call_ends_the_requests() -> None:
    first = await ask(Stage(FAILED))
    assert (first.value, first.how, first.attempts, first.replies) == (None, None, 1, ())
    assert (first.failure, first.failed, first.problem) == (FAILED, "rate limit: too many requests", "")
    later = await ask(Stage("5?", FAILED))
    assert (later.value, later.how, later.attempts, len(later.replies)) == (5, "repaired", 2, 1)


@pytest.mark.parametrize("error", [Stopped("interrupted"), AccessError("key", "no such key")])
async def test_errors_that_stop_the_run_pass(error: Exception) -> None:
    with pytest.raises(type(error)):
        await ask(Stage("some", error))


async def test_an_empty_reply_is_repeated_as_a_dash_unless_a_study_says_otherwise() -> None:
    said = []
    for how in ({}, {"repeated": as_it_came}, {"repeated": lambda text: text[:2] or "(nothing)"}):
        for text in ("", "many"):
            stage = Stage(text, "7")
            await ask(stage, **how)
            said.append(stage.asked[1][1][1].content)
    assert said == ["-", "many", "", "many", "(nothing)", "ma"]


async def test_reading_may_take_more_asking() -> None:
    stage = Stage("7", "it is wrong", "8", "it is right")

    async def checked(reply: Reply) -> Reading[int]:
        verdict = await stage("checker", [user(reply.text)])
        return Reading(int(reply.text), "as is") if "right" in verdict.text else Reading.invalid(verdict.text)

    answered = await ask_until_read(stage, "judge", [user("?")], checked, attempts=2, complaint=complaint)
    assert answered.value == 8
    assert [role for role, *_ in stage.asked] == ["judge", "checker", "judge", "checker"]
    assert stage.asked[2][1][-1] == user("Again: it is wrong.")


def test_a_refusal_is_requested_again_where_a_study_reads_texts() -> None:
    read = unless_refused(lambda text: Reading(text, "as is"))
    assert read(Reply("yes")).value == "yes"
    assert read(Reply("yes, but no", refused=True)) == Reading(None, "invalid", "it is a refusal")


def wanted(*questions: str) -> list[ReadableRequest[int]]:
    return [ReadableRequest("judge", [user(one)], number) for one in questions]


async def test_several_are_asked_in_rounds_so_that_calls_are_numbered_the_same() -> None:
    stage = Stage("1", "some", "3", "2?", "2")
    answered = await ask_all_until_read(stage, wanted("a", "b", "c"), attempts=3, complaint=complaint)
    assert [one.value for one in answered] == [1, 2, 3]
    assert [one.attempts for one in answered] == [1, 3, 1]
    assert [messages[0].content for _, messages, _ in stage.asked] == ["a", "b", "c", "b", "b"]


async def test_one_that_fails_leaves_the_others_unless_all_are_needed() -> None:
    answered = await ask_all_until_read(Stage(FAILED, "some", "2"), wanted("a", "b"), attempts=2, complaint=complaint)
    assert [(one.value, one.failed) for one in answered] == [(None, "rate limit: too many requests"), (2, None)]
    stage = Stage(FAILED, "some")
    answered = await ask_all_until_read(stage, wanted("a", "b"), attempts=2, complaint=complaint, all_or_none=True)
    assert answered[0].failure is FAILED
    assert len(stage.asked) == 2


async def test_a_stop_is_raised_once_all_have_ended_and_after_errors_of_the_run() -> None:
    stage = Stage(Stopped("interrupted"), AccessError("key", "no such key"), "3")
    with pytest.raises(AccessError):
        await ask_all_until_read(stage, wanted("a", "b", "c"), attempts=3, complaint=complaint)
    assert len(stage.asked) == 3


async def test_an_empty_list_of_requests_makes_no_calls() -> None:
    assert await ask_all_until_read(Stage(), wanted(), attempts=3, complaint=complaint) == []


def test_tokens_are_summed_where_any_reply_says_how_many() -> None:
    replies = [Reply("a", usage=Usage(3, None)), Reply("b"), Reply("c", usage=Usage(4, None))]
    assert total_usage(replies) == Usage(7, None)
    assert total_usage([]) == Usage(None, None)


def test_requests_that_take_any_reply_are_sent_once() -> None:
    stage = Stage("", FAILED, Reply("No.", refused=True))
    wanted = [ReadableRequest("subject", [user(text)], read_as_is) for text in "abc"]
    found = asyncio.run(ask_once(stage, wanted))
    assert [reply.value for reply in found] == ["", None, "No."]
    assert len(stage.asked) == 3
    assert failure_in("subject", found) == f"subject: {FAILED}"
    assert failure_in("subject", found[::2]) is None


def test_the_start_of_a_reply_is_enough_to_continue_from() -> None:
    assert start_of(" 1234 \n") == "1234"
    assert len(start_of("12 " * 1_000)) == 2_000
    assert (start_of(" \n"), start_of("", "(nothing)")) == ("-", "(nothing)")


class Host:
    """An `Ask` that records how each request ended."""

    def __init__(self, *lines: str | Exception) -> None:
        self.lines = list(lines)
        self.heard: list[tuple[str | None, str]] = []
        self.requests: set[object] = set()

    async def __call__(self, role: str, messages: Sequence[Message], **how: Any) -> Reply:
        request = read_request()
        if request is not None:
            self.requests.add(request)
            request.heard = lambda reply, problem: self.heard.append((reply and reply.text, problem))
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return Reply(line)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        raise AssertionError("not asked")


@pytest.mark.parametrize(
    ("lines", "heard"),
    [
        (["7"], [("7", "")]),
        (["x", "y", "7"], [("7", "")]),
        (["x", "y", "z"], [("z", "it is no number")]),
        (["x", "y", "7?"], [("7?", "")]),  # a value in doubt is a value
        (["never"], [("never", "")]),
        (["x", FAILED], [(None, "")]),
    ],
)
def test_the_host_hears_once_how_a_request_ended(lines: list[Any], heard: list[Any]) -> None:
    host = Host(*lines)
    asyncio.run(ask_until_read(host, "judge", [user("?")], number, attempts=3, complaint=str))
    assert host.heard == heard
    assert len(host.requests) == 1
    assert read_request() is None


def test_a_reply_that_is_taken_as_it_comes_is_not_read() -> None:
    host = Host("text")
    asyncio.run(ask_once(host, [ReadableRequest("subject", [user("?")], read_as_is)]))
    assert not host.requests


def test_a_single_call_tells_the_host_the_problem() -> None:
    host = Host("x", FAILED)
    asyncio.run(ask_and_read(host, "subject", (user("?"),), lambda reply: f"{reply.text} is none"))
    assert host.heard == [("x", "x is none")]
    with pytest.raises(CallFailed):
        asyncio.run(ask_and_read(host, "subject", (user("?"),), lambda reply: ""))
    assert read_request() is None
