"""Calls are tried until there is an outcome, every outcome is journaled, and a stop is prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from overton.calls import Failure, Price, Question, Reply, Usage, user
from overton.engine import Limits, RetryPolicy, entries
from overton.engine.dispatcher import NotRecalled
from overton.errors import (
    AccessError,
    CallFailed,
    LimitReached,
    RejectedError,
    RunMismatch,
    Stopped,
    UnavailableError,
)

SLOW = RetryPolicy(4, first=600, longest=600)


def says(text: str) -> tuple[Any, ...]:
    return (user(text),)


def question(text: str, **more: Any) -> Question:
    return Question("subject", says(text), **more)


def journaled(bench: Any) -> dict[str, Reply | Failure]:
    bench.close()
    return {f"{one.place.trial}/{one.place.speaker}/{one.place.number}": one.outcome for one in entries(bench.path)}


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 (a condition of any kind)
            await asyncio.sleep(0.001)


def failing(times: int, *errors: Exception) -> Callable[[str, int], Any]:
    """The errors in turn for the first `times` attempts of every call, then a reply."""

    async def behave(text: str, attempt: int) -> Reply:
        if attempt <= times:
            raise errors[(attempt - 1) % len(errors)]
        return Reply(f"re: {text}")

    return behave


TROUBLES = [
    UnavailableError("rate limit", "slow down"),
    UnavailableError("server error", "oops"),
    UnavailableError("timeout", "too slow", maybe_billed=True),
    UnavailableError("connection", "dropped"),
    UnavailableError("malformed", "not JSON", maybe_billed=True),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.kind)
async def test_calls_worth_retrying_are_retried(
    bench: Any, puppet: Any, bind: Any, asking: Any, trouble: UnavailableError
) -> None:
    dispatcher, answerer = bench.dispatcher(), puppet(failing(3, trouble))
    reply = await asking(dispatcher, bind(answerer))("subject", says("q"))
    assert reply.text == "re: q"
    assert answerer.asked == ["q"] * 4
    assert dispatcher.tally.retried == 3
    assert dispatcher.budget.calls == 4
    assert journaled(bench) == {"t/subject/0": reply}


async def test_a_call_that_fails_permanently_is_journaled_and_replayed_and_retried_only_on_request(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    dispatcher, answerer = bench.dispatcher(), puppet(failing(99, UnavailableError("server error", "oops")))
    with pytest.raises(CallFailed, match="server error: oops"):
        await asking(dispatcher, bind(answerer))("subject", says("q"))
    assert len(answerer.asked) == 4
    assert journaled(bench) == {"t/subject/0": Failure("server error", "oops", 4)}
    with pytest.raises(CallFailed, match="server error: oops"):
        await asking(bench.dispatcher(), bind(answerer))("subject", says("q"))
    assert len(answerer.asked) == 4
    bench.close()
    answerer.behave = failing(0)
    assert (await asking(bench.dispatcher(retry_failed=True), bind(answerer))("subject", says("q"))).text == "re: q"
    bench.close()
    assert (await asking(bench.dispatcher(), bind(answerer))("subject", says("q"))).text == "re: q"
    assert len(answerer.asked) == 5


async def test_a_rejected_request_fails_at_once(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    dispatcher, answerer = bench.dispatcher(), puppet(failing(9, RejectedError("too long", "shorten it")))
    with pytest.raises(CallFailed, match="too long"):
        await asking(dispatcher, bind(answerer))("subject", says("q"))
    assert len(answerer.asked) == 1
    assert dispatcher.stopped is None
    assert journaled(bench) == {"t/subject/0": Failure("too long", "shorten it", 1)}


async def test_no_access_stops_the_run_and_journals_nothing(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    dispatcher, answerer = bench.dispatcher(), puppet(failing(9, AccessError("bad key", "set OPENAI_API_KEY")))
    bound = bind(answerer)
    with pytest.raises(Stopped):
        await asking(dispatcher, bound)("subject", says("q"))
    assert isinstance(dispatcher.stopped, AccessError)
    with pytest.raises(Stopped, match="OPENAI_API_KEY"):
        await asking(dispatcher, bound, "u")("subject", says("r"))
    assert len(answerer.asked) == 1
    assert journaled(bench) == {}


@pytest.mark.parametrize("kind", ["server error", "timeout", "connection", "rate limit", "malformed"])
async def test_an_endpoint_that_fails_call_after_call_is_given_up(
    bench: Any, puppet: Any, bind: Any, asking: Any, kind: str
) -> None:
    dispatcher, answerer = (
        bench.dispatcher(patience=RetryPolicy(2, 0.0001, 0.0002)),
        puppet(failing(99, UnavailableError(kind, "x"))),
    )
    bound = bind(answerer)
    for number in range(100):
        with pytest.raises((CallFailed, Stopped)):
            await asking(dispatcher, bound, f"t{number}")("subject", says(f"q{number}"))
    assert isinstance(dispatcher.stopped, Stopped)
    refused = kind == "rate limit"  # for lack of capacity: it may have some later
    assert ("Resume the run later" if refused else "probably down") in str(dispatcher.stopped)
    assert len(set(answerer.asked)) < 40


async def test_failures_between_rejections_and_answers_do_not_stop_the_run(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        number = int(text)
        if number % 10 == 0:
            return Reply("yes")
        raise UnavailableError("server error", "x") if number % 2 else RejectedError("filtered", "y")

    dispatcher, bound = bench.dispatcher(patience=RetryPolicy(1)), bind(puppet(behave))
    for number in range(200):
        with suppress(CallFailed):
            await asking(dispatcher, bound, f"t{number}")("subject", says(str(number)))
    assert dispatcher.stopped is None
    assert dispatcher.tally.failed == 180


async def test_siblings_of_a_failed_call_are_all_journaled(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        if text == "bad":
            raise RejectedError("filtered", "no")
        await gate.wait()
        return Reply(f"re: {text}")

    answerer = puppet(behave)
    ask = asking(bench.dispatcher(), bind(answerer))
    every = asyncio.create_task(ask.all([question("a"), question("bad"), question("b")]))
    await until(lambda: len(answerer.asked) == 3)
    assert not every.done()
    gate.set()
    with pytest.raises(CallFailed, match="filtered"):
        await every
    assert {key: type(value) for key, value in journaled(bench).items()} == {
        "t/subject/0": Reply,
        "t/subject/1": Failure,
        "t/subject/2": Reply,
    }


async def test_replies_of_all_are_in_the_order_of_the_questions(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    answered: list[str] = []

    async def behave(text: str, attempt: int) -> Reply:
        await until(lambda: len(answered) == 4 - int(text))
        answered.append(text)
        return Reply(text)

    ask = asking(bench.dispatcher(), bind(puppet(behave)))
    replies = await ask.all([question(str(k)) for k in range(5)])
    assert [reply.text for reply in replies] == list("01234")
    assert answered == list("43210")


async def test_a_task_group_with_a_failing_child_does_not_lose_its_sibling(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        if text == "bad":
            raise RejectedError("filtered", "no")
        await gate.wait()
        return Reply("paid")

    answerer = puppet(behave)
    dispatcher = bench.dispatcher()
    ask = asking(dispatcher, bind(answerer))

    async def conduct() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ask("subject", says("slow"), speaker="one"))
            await until(lambda: answerer.asked == ["slow"])
            group.create_task(ask("subject", says("bad"), speaker="two"))

    with pytest.raises(ExceptionGroup):
        await conduct()
    asyncio.get_running_loop().call_later(0.01, gate.set)
    await asyncio.wait_for(dispatcher.settle(), 5)
    assert journaled(bench)["t/one/0"] == Reply("paid")


async def test_calls_without_a_waiting_caller_can_be_cut_off(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    answerer, dispatcher = puppet(behave), bench.dispatcher()
    bound = bind(answerer)
    ask = asking(dispatcher, bound)
    every = asyncio.create_task(ask.all([question("a"), question("b")]))
    await until(lambda: len(answerer.asked) == 2)
    every.cancel()
    await asyncio.wait([every])
    assert bound.limiter.in_flight == 2
    await asyncio.wait_for(dispatcher.settle(cut_off=True), 5)
    assert bound.limiter.in_flight == 0
    assert journaled(bench) == {}


@pytest.mark.parametrize("retry_after", [None, 600.0])
async def test_a_stop_during_a_backoff_or_a_hold_is_prompt(
    bench: Any, puppet: Any, bind: Any, asking: Any, retry_after: float | None
) -> None:
    answerer = puppet(failing(9, UnavailableError("rate limit", "slow down", retry_after=retry_after)))
    dispatcher, bound = bench.dispatcher(patience=SLOW), bind(answerer, most=2)
    tasks = [asyncio.create_task(asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))) for k in range(5)]
    await until(lambda: dispatcher.tally.retried >= 1)
    dispatcher.stop(Stopped("interrupted"))
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert all(isinstance(one, Stopped) and "interrupted" in str(one) for one in ended)
    assert journaled(bench) == {}


async def test_a_retry_after_received_after_the_stop_causes_no_delay(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        await gate.wait()
        raise UnavailableError("rate limit", "slow down", retry_after=600)

    answerer = puppet(behave)
    dispatcher, bound = bench.dispatcher(), bind(answerer)
    tasks = [asyncio.create_task(asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))) for k in range(5)]
    await until(lambda: len(answerer.asked) == 5)
    dispatcher.stop(Stopped("interrupted"))
    gate.set()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert all(isinstance(one, Stopped) for one in ended)
    assert len(answerer.asked) == 5


async def test_a_stop_lets_calls_in_flight_end_and_journals_them(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        await gate.wait()
        return Reply("paid")

    answerer = puppet(behave)
    dispatcher, bound = bench.dispatcher(), bind(answerer, most=3)
    tasks = [asyncio.create_task(asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))) for k in range(9)]
    await until(lambda: len(answerer.asked) == 3)
    dispatcher.stop(Stopped("interrupted"))
    gate.set()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [type(one) for one in ended] == [Reply] * 3 + [Stopped] * 6
    assert len(journaled(bench)) == 3


async def test_a_retry_after_beyond_patience_stops_the_run_and_fails_no_call(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    answerer = puppet(failing(9, UnavailableError("rate limit", "daily quota", retry_after=7200)))
    dispatcher, bound = bench.dispatcher(), bind(answerer, most=2)
    tasks = [asyncio.create_task(asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))) for k in range(6)]
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert all(isinstance(one, Stopped) for one in ended)
    assert "7200 seconds" in str(dispatcher.stopped)
    assert journaled(bench) == {}


async def test_limits_stop_the_run_before_they_are_passed(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    answerer = puppet()
    dispatcher, bound = bench.dispatcher(limits=Limits(calls=7)), bind(answerer)
    tasks = [asyncio.create_task(asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))) for k in range(20)]
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert sum(isinstance(one, Reply) for one in ended) == 7 == len(answerer.asked)
    assert isinstance(dispatcher.stopped, LimitReached)
    assert len(journaled(bench)) == 7


async def test_a_stop_releases_calls_that_wait_for_the_budget(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    gate = asyncio.Event()

    async def behave(text: str, attempt: int) -> Reply:
        await gate.wait()
        return Reply("paid", usage=Usage(1, 1))

    answerer = puppet(behave)
    dispatcher = bench.dispatcher(limits=Limits(cost=1.0))
    bound = bind(answerer, price=Price(0, 0.6), max_tokens=1_000_000)  # each may cost 0.6 dollars: one at a time
    tasks = [asyncio.create_task(asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))) for k in range(5)]
    await until(lambda: answerer.asked)
    dispatcher.stop(Stopped("interrupted"))
    gate.set()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [type(one) for one in ended] == [Reply] + [Stopped] * 4
    assert dispatcher.budget.calls == 1
    assert dispatcher.budget.cost == pytest.approx(0.6e-6)


async def test_calls_that_may_have_been_billed_count_at_their_worst_case(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        if attempt == 1:
            raise UnavailableError("timeout", "x", maybe_billed=True)
        if attempt == 2:
            raise UnavailableError("server error", "x")
        return Reply("yes", usage=Usage(0, 100_000) if text == "counted" else Usage())

    dispatcher, bound = bench.dispatcher(), bind(puppet(behave), price=Price(0, 1.0), max_tokens=1_000_000)
    await asking(dispatcher, bound)("subject", says("counted"))
    assert dispatcher.budget.cost == pytest.approx(1.0 + 0.1)
    await asking(dispatcher, bound, "u")("subject", says("not counted"))
    assert dispatcher.budget.cost == pytest.approx(1.0 + 0.1 + 1.0 + 1.0)


async def test_a_rejection_after_the_work_counts_at_its_worst_case(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        raise RejectedError("too large", "more than can be read", maybe_billed=text == "endless")

    dispatcher, bound = bench.dispatcher(), bind(puppet(behave), price=Price(0, 1.0), max_tokens=1_000_000)
    for text, cost in (("refused", 0.0), ("endless", 1.0)):
        with pytest.raises(CallFailed):
            await asking(dispatcher, bound, text)("subject", says(text))
        assert dispatcher.budget.cost == pytest.approx(cost)


async def test_bills_above_the_worst_case_raise_the_reservations_of_later_calls(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        return Reply("yes", usage=Usage(0, 3_000_000))

    dispatcher, answerer = bench.dispatcher(limits=Limits(cost=7.0)), puppet(behave)
    bound = bind(answerer, price=Price(0, 1.0), max_tokens=1_000_000)
    await asking(dispatcher, bound)("subject", says("q"))
    assert (dispatcher.budget.cost, list(dispatcher.tally.notes)) == (pytest.approx(3.0), ["test/puppet"])
    assert "up to 3 times" in dispatcher.tally.notes["test/puppet"]
    await asking(dispatcher, bound, "u")("subject", says("q"))
    with pytest.raises(LimitReached):
        await asking(dispatcher, bound, "v")("subject", says("q"))
    assert dispatcher.budget.cost == pytest.approx(6.0)
    assert len(answerer.asked) == 2

    again = bench.again(limits=Limits(cost=5.0))  # recalled bills are learned from again
    bound = bind(answerer, price=Price(0, 1.0), max_tokens=1_000_000)
    await asking(again, bound)("subject", says("q"))
    assert again.tally.notes == dispatcher.tally.notes
    tasks = [asyncio.create_task(asking(again, bound, f"w{k}")("subject", says("q"))) for k in range(3)]
    await asyncio.wait(tasks)
    assert again.budget.cost == pytest.approx(3.0)


async def test_free_calls_that_were_billed_are_expected_to_be_billed_again(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        return Reply("yes", usage=Usage(0, 500_000))

    dispatcher = bench.dispatcher(limits=Limits(cost=1.2))
    bound = bind(puppet(behave), price=Price(0, 1.0))  # no max_tokens: nothing shows what it may bill
    for trial in "tu":
        await asking(dispatcher, bound, trial)("subject", says("q"))
    with pytest.raises(LimitReached):
        await asking(dispatcher, bound, "v")("subject", says("q"))
    assert dispatcher.budget.cost == pytest.approx(1.0)


@pytest.mark.parametrize("tokens", [-5, 2**62])
async def test_a_number_of_tokens_that_cannot_be_counts_as_the_worst_case(
    bench: Any, puppet: Any, bind: Any, asking: Any, tokens: int
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        return Reply("yes", usage=Usage(0, tokens))

    dispatcher, bound = bench.dispatcher(), bind(puppet(behave), price=Price(0, 1.0), max_tokens=1_000_000)
    await asking(dispatcher, bound)("subject", says("q"))
    assert dispatcher.budget.cost == pytest.approx(1.0)


async def test_a_request_that_is_cut_off_may_be_billed(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    answerer = puppet(behave)
    dispatcher, bound = bench.dispatcher(), bind(answerer, price=Price(0, 1.0), max_tokens=1_000_000)

    async def conduct() -> None:
        await asking(dispatcher, bound)("subject", says("q"))

    task = asyncio.create_task(conduct())
    await until(lambda: answerer.asked)
    task.cancel()
    await asyncio.wait([task])
    assert dispatcher.budget.cost == pytest.approx(1.0)


async def test_recalling_only_asks_nothing(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    answerer = puppet()
    await asking(bench.dispatcher(), bind(answerer))("subject", says("q"))
    bench.close()
    dispatcher = bench.dispatcher(recall_only=True)
    ask = asking(dispatcher, bind(answerer))
    assert (await ask("subject", says("q"))).text == "re: q"
    with pytest.raises(NotRecalled, match="trial t: ask 1 of subject is not in the journal"):
        await ask("subject", says("q"))
    assert answerer.asked == ["q"]


async def test_a_mismatch_is_raised_before_a_siblings_stop_or_failure(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    answerer = puppet(failing(9, RejectedError("filtered", "no")))
    bound = bind(answerer)
    with pytest.raises(CallFailed):
        await asking(bench.dispatcher(), bound)("subject", says("q"), speaker="one")
    with pytest.raises(CallFailed):
        await asking(bench.again(), bound)("subject", says("q"), speaker="two")
    bench.close()
    ask = asking(bench.dispatcher(recall_only=True), bound)
    with pytest.raises(RunMismatch):
        await ask.all(
            [question("new", speaker="three"), question("q", speaker="one"), question("changed", speaker="two")]
        )


async def test_a_stop_is_raised_before_a_siblings_failure(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        if text == "bad":
            raise RejectedError("filtered", "no")
        raise AccessError("bad key", "set KEY")

    ask = asking(bench.dispatcher(), bind(puppet(behave)))
    with pytest.raises(Stopped):
        await ask.all([question("bad"), question("other")])


async def test_asks_are_numbered_by_speaker(bench: Any, puppet: Any, bind: Any, asking: Any) -> None:
    subject, judge = bind(puppet()), bind(puppet(name="test/judge", identity="test/judge"))
    ask = asking(bench.dispatcher(), subject, judge=judge)
    for role, speaker in [
        ("subject", None),
        ("subject", "pro"),
        ("judge", None),
        ("subject", None),
        ("subject", "pro"),
    ]:
        await ask(role, says("same words"), speaker=speaker)
    assert set(journaled(bench)) == {"t/subject/0", "t/pro/0", "t/judge/0", "t/subject/1", "t/pro/1"}


async def test_a_seed_is_the_calls_own_and_repeats(bench: Any, bind: Any, asking: Any) -> None:
    seeds: list[int | None] = []

    class Seeded:
        name = identity = "test/seeded"
        holds_form = False

        async def answer(self, request: Any) -> Reply:
            seeds.append(request.seed)
            return Reply("yes")

    for _ in range(2):
        for trial in ("t", "u"):
            ask = asking(bench.dispatcher(), bind(Seeded(), seed=7), trial)
            await ask("subject", says("q"))
            await ask("subject", says("q"))
            bench.close()
        bench.path.unlink()
    assert len(set(seeds[:4])) == 4
    assert seeds[:4] == seeds[4:]
    await asking(bench.dispatcher(), bind(Seeded()))("subject", says("q"))
    assert seeds[-1] is None


async def test_half_a_surrogate_pair_is_replaced_alike_now_and_on_replay(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        if text == "bad":
            raise RejectedError("filtered", "no \udfff")
        return Reply("half \ud83d", model="\ud800", usage=Usage(1, 2))

    bound = bind(puppet(behave))
    now = await asking(bench.dispatcher(), bound)("subject", says("q"))
    assert now == Reply("half ?", model="?", usage=Usage(1, 2))
    with pytest.raises(CallFailed, match=r"no \?"):
        await asking(bench.again(), bound, "u")("subject", says("bad"))
    bench.close()
    assert await asking(bench.dispatcher(), bound)("subject", says("q")) == now
    with pytest.raises(CallFailed, match=r"no \?"):
        await asking(bench.again(), bound, "u")("subject", says("bad"))


async def test_an_endpoint_that_bears_four_at_once_fails_no_call(
    bench: Any, puppet: Any, bind: Any, asking: Any
) -> None:
    bears, under_way = 4, 0

    async def behave(text: str, attempt: int) -> Reply:
        nonlocal under_way
        under_way += 1
        try:
            await asyncio.sleep(0.001)
            if under_way > bears:
                raise UnavailableError("rate limit", "slow down")
            return Reply("yes")
        finally:
            under_way -= 1

    dispatcher, bound = bench.dispatcher(patience=RetryPolicy(8, 0.002, 0.1)), bind(puppet(behave), most=32)
    asks = [asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}")) for k in range(400)]
    replies = await asyncio.wait_for(asyncio.gather(*asks), 60)
    assert len(replies) == 400
    assert bound.limiter.limit < 16
    bears = 100
    for k in range(400, 1600):
        await asking(dispatcher, bound, f"t{k}")("subject", says(f"q{k}"))
    assert bound.limiter.limit == 32


@pytest.mark.parametrize("count", [-1, 2**63, 10**400])
async def test_tokens_that_no_call_can_take_cost_the_worst_case_and_are_not_journaled(
    bench: Any, puppet: Any, bind: Any, asking: Any, count: int
) -> None:
    async def behave(text: str, attempt: int) -> Reply:
        return Reply("fine", usage=Usage(5, count))

    dispatcher = bench.dispatcher()
    reply = await asking(dispatcher, bind(puppet(behave), price=Price(0.0, 1e6), max_tokens=7))("subject", says("q"))
    assert reply == Reply("fine", usage=Usage(5, None))
    assert dispatcher.budget.cost == 7.0
    assert list(journaled(bench).values()) == [reply]
