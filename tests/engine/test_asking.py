"""Calls that trials share, and settings that are a condition."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from overton.calls import Question, Reply, Settings, user
from overton.errors import CallFailed, RejectedError, Stopped

HELLO = (user("hello"),)


async def test_a_shared_call_is_asked_once_however_many_trials_wait_for_it(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    model, desk = puppet(), bench.desk()
    bound = bind(model)
    trials = [asking(desk, bound, f"t{number}") for number in range(5)]
    replies = await asyncio.gather(*(ask("subject", HELLO, shared=True) for ask in trials))
    assert {reply.text for reply in replies} == {"re: hello"}
    assert model.asked == ["hello"]


async def test_a_shared_call_is_recalled_later_in_the_session_and_in_the_next(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    model, desk = puppet(), bench.desk()
    bound = bind(model)
    await asking(desk, bound, "first")("subject", HELLO, shared=True)
    while not desk.journal.written:  # noqa: ASYNC110 (a thread writes it)
        await asyncio.sleep(0.005)
    await asking(desk, bound, "second")("subject", (user("other"),), shared=True)
    assert len(desk._shared) == 1  # what is on disk is not held in memory as well
    await asking(desk, bound, "third")("subject", HELLO, shared=True)
    again = bench.again()
    assert (await asking(again, bound, "fourth")("subject", HELLO, shared=True)).text == "re: hello"
    assert model.asked == ["hello", "other"]


async def test_what_is_shared_differs_by_content_speaker_and_answerer(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    one, other, desk = puppet(), puppet(identity="test/other"), bench.desk()
    ask = asking(desk, bind(one), "t", pages=bind(other))
    for role, speaker, text in [
        ("subject", None, "a"),
        ("subject", None, "b"),
        ("subject", "s", "a"),
        ("pages", None, "a"),
    ]:
        await ask(role, (user(text),), speaker=speaker, shared=True)
    assert one.asked == ["a", "b", "a"]
    assert other.asked == ["a"]


async def test_shared_calls_leave_the_numbers_of_a_trials_own_alone(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    """A call that other trials happened to make before must not change what this trial's later calls are."""
    model, desk = puppet(), bench.desk()
    await asking(desk, bind(model), "t")("subject", HELLO)
    again = bench.again()
    ask = asking(again, bind(model), "t")
    await ask("subject", (user("page"),), shared=True)
    await ask("subject", HELLO)
    assert model.asked == ["hello", "page"]


async def test_a_shared_failure_is_every_trials_failure_and_is_journaled_once(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def reject(text: str, attempt: int) -> Reply:
        raise RejectedError("rejected", "no such page")

    model, desk = puppet(reject), bench.desk()
    bound = bind(model)
    asks = [asking(desk, bound, name)("subject", HELLO, shared=True) for name in "abc"]
    outcomes = await asyncio.gather(*asks, return_exceptions=True)
    assert all(isinstance(outcome, CallFailed) for outcome in outcomes)
    assert model.asked == ["hello"]
    assert desk.tally.failed == 1


async def test_the_trial_that_asked_first_may_be_cancelled_and_the_others_get_their_reply(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    sent, free = asyncio.Event(), asyncio.Event()

    async def wait(text: str, attempt: int) -> Reply:
        sent.set()
        await free.wait()
        return Reply("late")

    model, desk = puppet(wait), bench.desk()
    bound = bind(model)
    first = asyncio.create_task(asking(desk, bound, "first")("subject", HELLO, shared=True))
    await sent.wait()
    second = asyncio.create_task(asking(desk, bound, "second")("subject", HELLO, shared=True))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    free.set()
    assert (await second).text == "late"
    assert model.asked == ["hello"]


async def test_a_shared_call_that_is_only_recalled_is_not_asked(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    model, desk = puppet(), bench.desk(recall_only=True)
    with pytest.raises(Stopped, match="does not hold"):
        await asking(desk, bind(model))("subject", HELLO, shared=True)
    assert not model.asked


async def test_settings_of_a_call_take_the_place_of_its_roles_where_they_say_something(
    bench: Any, bind: Any, asking: Any
) -> None:
    seen: list[Settings] = []

    class Model:
        name = identity = "test/model"
        holds_form = False

        async def answer(self, request: Any) -> Reply:
            seen.append(request.settings)
            return Reply("")

        async def close(self) -> None:
            """Nothing to give back."""

    ask = asking(bench.desk(), bind(Model(), temperature=1.0, max_tokens=9, extra={"a": 1}))
    await ask("subject", HELLO, settings=Settings(temperature=0.0, extra={"b": 2}))
    await ask.all([Question("subject", HELLO, settings=Settings(max_tokens=3))])
    assert seen == [
        Settings(temperature=0.0, max_tokens=9, extra={"a": 1, "b": 2}),
        Settings(temperature=1.0, max_tokens=3, extra={"a": 1}),
    ]


async def test_two_temperatures_are_two_calls(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    model, desk = puppet(), bench.desk()
    for temperature in (0.0, 1.0):
        await asking(desk, bind(model), "t")("subject", HELLO, shared=True, settings=Settings(temperature=temperature))
    assert model.asked == ["hello", "hello"]
