"""Trials are conducted in parallel; a stop is clean, and one trial's error costs the others nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from overton.calls import Question, Reply, Settings, user
from overton.engine import Limits, RetryPolicy, count_missing, entries, run_lanes
from overton.errors import (
    AccessError,
    CallFailed,
    JournalError,
    LimitReached,
    RejectedError,
    RunMismatch,
    Stopped,
    UnavailableError,
)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 (a condition of any kind)
            await asyncio.sleep(0.001)


async def ended(work: Any) -> BaseException | None:
    async with asyncio.timeout(20):
        return (await asyncio.gather(work, return_exceptions=True))[0]


async def test_every_trial_is_conducted_once_and_records_are_in_plan_order(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        await asyncio.sleep(0.001 * (hash(text) % 3))
        return Reply(text.upper())

    answerer, planned = puppet(behave), study.trials(300, items=3)
    lane = study.lane(bind(answerer, most=16), planned)
    await run_lanes([lane], study.conduct, bench.dispatcher())
    assert sorted(answerer.asked) == sorted(trial.name for trial in planned)
    frame = lane.outcomes.close(lane.incomplete).collect()
    assert frame["trial"].to_list() == [trial.name for trial in planned]
    assert frame["answer"].to_list() == [trial.name.upper() for trial in planned]
    assert lane.incomplete == []


async def test_a_second_session_asks_nothing_and_gives_the_same_records(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    answerer, planned, frames = puppet(), study.trials(500), []
    for _ in range(2):
        lane = study.lane(bind(answerer), planned)
        await run_lanes([lane], study.conduct, bench.again())
        frames.append(lane.outcomes.close().collect())
    assert len(answerer.asked) == 500
    assert frames[0].equals(frames[1])


async def test_a_limit_ends_the_run_and_names_the_items_that_are_not_whole(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    lane = study.lane(bind(puppet(), most=2), study.trials(30, items=3))
    error = await ended(run_lanes([lane], study.conduct, bench.dispatcher(limits=Limits(calls=25))))
    assert isinstance(error, LimitReached)
    assert lane.incomplete == ["i2"]
    assert lane.outcomes.close(lane.incomplete).collect().height == 20


async def test_items_behind_a_trial_that_never_ends_are_still_whole(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    dispatcher = bench.dispatcher(patience=RetryPolicy(9, 600, 600))

    async def behave(text: str, attempt: int) -> Reply:
        if text == "i0/r2":
            raise UnavailableError("server error", "x")
        if text == "i2/r29":
            asyncio.get_running_loop().call_later(0.05, dispatcher.stop, Stopped("enough"))
        return Reply("yes")

    lane = study.lane(bind(puppet(behave), most=4), study.trials(30, items=3))
    assert isinstance(await ended(run_lanes([lane], study.conduct, dispatcher)), Stopped)
    assert lane.incomplete == ["i0"]
    frame = lane.outcomes.close(lane.incomplete).collect()
    assert frame["trial"].to_list() == [f"i{k // 10}/r{k}" for k in range(10, 30)]


async def test_the_run_raises_an_access_error(bench: Any, puppet: Any, bind: Any, study: Any) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        raise AccessError("bad key", "set OPENAI_API_KEY")

    answerer = puppet(behave)
    lane = study.lane(bind(answerer, most=8), study.trials(5000))
    error = await ended(run_lanes([lane], study.conduct, bench.dispatcher()))
    assert isinstance(error, AccessError)
    assert "OPENAI_API_KEY" in str(error)
    assert len(answerer.asked) <= 8


async def test_an_error_in_one_conduct_lets_the_others_replies_reach_the_journal(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        if text != "i0/r0":
            await gate.wait()
        return Reply("paid")

    answerer = puppet(behave)

    async def conduct(trial: Any, ask: Any) -> list[Any]:
        records = await study.conduct(trial, ask)
        if trial.name == "i0/r0":
            await until(lambda: len(answerer.asked) == 4)
            gate.set()
            raise ZeroDivisionError("a defect of the study")
        return list(records)

    lane = study.lane(bind(answerer, most=4), study.trials(100))
    assert isinstance(await ended(run_lanes([lane], conduct, bench.dispatcher())), ZeroDivisionError)
    bench.close()
    assert {one.place.trial for one in entries(bench.path)} == set(answerer.asked)
    assert len(answerer.asked) < 100


async def test_a_failure_that_a_study_lets_pass_stops_the_run(bench: Any, puppet: Any, bind: Any, study: Any) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        raise RejectedError("filtered", "no")

    lane = study.lane(bind(puppet(behave)), study.trials(50))
    assert isinstance(await ended(run_lanes([lane], study.conduct, bench.dispatcher())), CallFailed)


async def test_the_reply_of_an_abandoned_sibling_is_awaited(bench: Any, puppet: Any, bind: Any, study: Any) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        if text == "bad":
            asyncio.get_running_loop().call_later(0.02, gate.set)
            raise RejectedError("filtered", "no")
        await gate.wait()
        return Reply("paid")

    async def conduct(trial: Any, ask: Any) -> list[Any]:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(ask("subject", (user("slow"),), speaker="one"))
                await asyncio.sleep(0)
                group.create_task(ask("subject", (user("bad"),), speaker="two"))
        except* CallFailed:
            pass
        return [study.Row(trial.name, "failed")]

    lane = study.lane(bind(puppet(behave)), study.trials(1))
    assert await ended(run_lanes([lane], conduct, bench.dispatcher())) is None
    bench.close()
    assert {one.place.speaker: type(one.outcome).__name__ for one in entries(bench.path)} == {
        "one": "Reply",
        "two": "Failure",
    }


async def test_a_cancellation_cuts_off_calls_in_flight_and_leaves_no_task(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    async def conduct(trial: Any, ask: Any) -> list[Any]:
        await ask.all([Question("subject", (user("a"),)), Question("subject", (user("b"),))])
        return []

    answerer = puppet(behave)
    before = asyncio.all_tasks()
    run = asyncio.create_task(
        run_lanes([study.lane(bind(answerer, most=6), study.trials(50))], conduct, bench.dispatcher())
    )
    await until(lambda: len(answerer.asked) == 6)
    run.cancel()
    await asyncio.wait([run], timeout=10)
    assert run.cancelled()
    assert asyncio.all_tasks() == before


async def test_a_stop_releases_trials_that_wait_at_the_window(bench: Any, puppet: Any, bind: Any, study: Any) -> None:
    gates = {"i0/r0": asyncio.Event(), "i0/r1": asyncio.Event()}

    async def behave(text: str, attempt: int) -> Reply:
        await gates[text].wait()
        return Reply("yes")

    answerer, dispatcher = puppet(behave), bench.dispatcher()
    run = asyncio.create_task(
        run_lanes([study.lane(bind(answerer, most=8), study.trials(50), window=2)], study.conduct, dispatcher)
    )
    await until(lambda: len(answerer.asked) == 2)
    dispatcher.stop(Stopped("interrupted"))
    for gate in gates.values():
        gate.set()
    assert isinstance(await ended(run), Stopped)
    assert len(answerer.asked) == 2


async def test_a_disk_that_fills_up_stops_the_run(
    bench: Any, puppet: Any, bind: Any, study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        await asyncio.sleep(0)
        return Reply("x" * 5000)

    dispatcher = bench.dispatcher()
    monkeypatch.setattr(dispatcher.journal, "_error", OSError(28, "No space left on device"))
    answerer = puppet(behave)
    error = await ended(run_lanes([study.lane(bind(answerer), study.trials(5000))], study.conduct, dispatcher))
    assert isinstance(error, JournalError)
    assert "No space left" in str(error)
    assert len(answerer.asked) <= 8
    monkeypatch.undo()


async def test_a_rehearsal_counts_the_trials_that_cannot_end_and_asks_nothing(
    bench: Any, puppet: Any, bind: Any, study: Any
) -> None:
    answerer = puppet()
    await run_lanes([study.lane(bind(answerer), study.trials(10))], study.conduct, bench.dispatcher())
    assert (
        await count_missing(
            [study.lane(bind(answerer), study.trials(10))], study.conduct, bench.again(recall_only=True)
        )
        == 0
    )
    more = study.lane(bind(answerer), [*study.trials(10), *study.trials(14)[10:]])
    assert await count_missing([more], study.conduct, bench.again(recall_only=True)) == 4
    assert len(answerer.asked) == 10


async def test_a_rehearsal_names_parts_that_no_longer_match(bench: Any, puppet: Any, bind: Any, study: Any) -> None:
    answerer = puppet()
    await run_lanes([study.lane(bind(answerer), study.trials(10))], study.conduct, bench.dispatcher())

    async def changed(trial: Any, ask: Any) -> list[Any]:
        await ask("subject", (user(trial.name + ("!" if trial.name == "i0/r7" else "")),))
        return []

    with pytest.raises(RunMismatch, match=r"trial i0/r7, ask 0 of subject: this call's messages differ"):
        await count_missing([study.lane(bind(answerer), study.trials(10))], changed, bench.again(recall_only=True))
    warmer = bind(answerer, temperature=0.5)
    with pytest.raises(RunMismatch, match="this call's settings differ"):
        await count_missing([study.lane(warmer, study.trials(10))], study.conduct, bench.again(recall_only=True))


HELLO = (user("hello"),)


async def test_a_shared_call_is_asked_once_however_many_trials_wait_for_it(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    model, dispatcher = puppet(), bench.dispatcher()
    bound = bind(model)
    trials = [asking(dispatcher, bound, f"t{number}") for number in range(5)]
    replies = await asyncio.gather(*(ask("subject", HELLO, shared=True) for ask in trials))
    assert {reply.text for reply in replies} == {"re: hello"}
    assert model.asked == ["hello"]


async def test_a_shared_call_is_recalled_later_in_the_session_and_in_the_next(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    model, dispatcher = puppet(), bench.dispatcher()
    bound = bind(model)
    await asking(dispatcher, bound, "first")("subject", HELLO, shared=True)
    while not dispatcher.journal.written:  # noqa: ASYNC110 (a thread writes it)
        await asyncio.sleep(0.005)
    await asking(dispatcher, bound, "second")("subject", (user("other"),), shared=True)
    assert len(dispatcher._shared) == 1  # what is on disk is not also kept in memory
    await asking(dispatcher, bound, "third")("subject", HELLO, shared=True)
    again = bench.again()
    assert (await asking(again, bound, "fourth")("subject", HELLO, shared=True)).text == "re: hello"
    assert model.asked == ["hello", "other"]


async def test_shared_calls_differ_by_content_speaker_and_answerer(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    one, other, dispatcher = puppet(), puppet(identity="test/other"), bench.dispatcher()
    ask = asking(dispatcher, bind(one), "t", pages=bind(other))
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
    """A call that other trials happened to make before must not change this trial's later calls."""
    model, dispatcher = puppet(), bench.dispatcher()
    await asking(dispatcher, bind(model), "t")("subject", HELLO)
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

    model, dispatcher = puppet(reject), bench.dispatcher()
    bound = bind(model)
    asks = [asking(dispatcher, bound, name)("subject", HELLO, shared=True) for name in "abc"]
    outcomes = await asyncio.gather(*asks, return_exceptions=True)
    assert all(isinstance(outcome, CallFailed) for outcome in outcomes)
    assert model.asked == ["hello"]
    assert dispatcher.tally.failed == 1


@pytest.mark.parametrize("own", [True, False], ids=["in the trial's own task", "in a task of its own"])
async def test_the_trial_that_asked_first_may_be_cancelled_and_the_others_get_their_reply(
    bench: Any, puppet: Any, bind: Any, asking: Any, own: bool
) -> None:
    sent, free = asyncio.Event(), asyncio.Event()

    async def wait(text: str, attempt: int) -> Reply:
        sent.set()
        await free.wait()
        return Reply("late")

    model, dispatcher = puppet(wait), bench.dispatcher()
    bound = bind(model)
    made = None if own else asking(dispatcher, bound, "first")

    async def ask_first() -> Reply:
        return await (made or asking(dispatcher, bound, "first"))("subject", HELLO, shared=True)

    first = asyncio.create_task(ask_first())
    await sent.wait()
    second = asyncio.create_task(asking(dispatcher, bound, "second")("subject", HELLO, shared=True))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    free.set()
    assert (await second).text == "late"
    assert model.asked == ["hello"]


async def test_a_shared_call_that_is_only_recalled_is_not_asked(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    model, dispatcher = puppet(), bench.dispatcher(recall_only=True)
    with pytest.raises(Stopped, match="is not in the journal"):
        await asking(dispatcher, bind(model))("subject", HELLO, shared=True)
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
            """Nothing to release."""

    ask = asking(bench.dispatcher(), bind(Model(), temperature=1.0, max_tokens=9, extra={"a": 1}))
    await ask("subject", HELLO, settings=Settings(temperature=0.0, extra={"b": 2}))
    await ask.all([Question("subject", HELLO, settings=Settings(max_tokens=3))])
    assert seen == [
        Settings(temperature=0.0, max_tokens=9, extra={"a": 1, "b": 2}),
        Settings(temperature=1.0, max_tokens=3, extra={"a": 1}),
    ]


async def test_two_temperatures_are_two_calls(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    model, dispatcher = puppet(), bench.dispatcher()
    for temperature in (0.0, 1.0):
        await asking(dispatcher, bind(model), "t")(
            "subject", HELLO, shared=True, settings=Settings(temperature=temperature)
        )
    assert model.asked == ["hello", "hello"]
