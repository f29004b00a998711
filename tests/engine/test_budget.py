"""An endpoint gets no more at once than it can take, and no call waits for ever."""

from __future__ import annotations

import asyncio
import random

import pytest
import uvloop
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overton.calls import Price, Request, Settings, system, user
from overton.engine import Budget, Limits, RateLimiter, RetryPolicy, Spending
from overton.engine.budget import Billing, Reservation, worst_case
from overton.errors import JournalError, LimitReached, UnavailableError


async def rest(turns: int = 5) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


def trouble(retry_after: float | None = None) -> UnavailableError:
    return UnavailableError("rate limit", "slow down", retry_after=retry_after)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**32))
def test_no_more_than_the_limit_are_ever_in_flight(most: int, callers: int, seed: int) -> None:
    chance = random.Random(seed)

    async def caller(limiter: RateLimiter, seen: list[int]) -> None:
        for _ in range(3):
            ticket = await limiter.enter()
            seen.append(limiter.in_flight)
            assert limiter.in_flight <= most
            await rest(chance.randrange(3))
            if chance.random() < 0.3:
                limiter.overloaded(ticket, None)
                limit = limiter.limit
                limiter.leave()
                assert limiter.limit == limit
            else:
                limiter.leave()
                limiter.answered()
            assert 1 <= limiter.limit <= most

    async def go() -> None:
        limiter, seen = RateLimiter(most), list[int]()
        await asyncio.gather(*[caller(limiter, seen) for _ in range(callers)])
        assert limiter.in_flight == 0
        assert len(seen) == 3 * callers

    asyncio.run(go())


async def test_a_sign_of_overload_lowers_the_limit_once_for_all_under_way() -> None:
    limiter = RateLimiter(10)
    tickets = [await limiter.enter() for _ in range(10)]
    for ticket in tickets:
        limiter.overloaded(ticket, None)
    assert limiter.limit == pytest.approx(7)
    for _ in tickets:
        limiter.leave()
    later = await limiter.enter()
    limiter.overloaded(later, None)
    assert limiter.limit == pytest.approx(4.9)


async def test_the_limit_never_falls_below_one() -> None:
    limiter = RateLimiter(4)
    for _ in range(50):
        limiter.overloaded(await limiter.enter(), None)
        limiter.leave()
    assert limiter.limit == 1.0
    await asyncio.wait_for(limiter.enter(), 5)


async def test_answers_raise_the_limit_to_its_most_and_no_further() -> None:
    limiter = RateLimiter(6)
    for _ in range(20):
        limiter.overloaded(await limiter.enter(), None)
        limiter.leave()
    for _ in range(200):
        limiter.answered()
    assert limiter.limit == 6


async def test_waiting_requests_obey_a_lowered_limit() -> None:
    limiter = RateLimiter(4)
    tickets = [await limiter.enter() for _ in range(4)]
    waiting = [asyncio.create_task(limiter.enter()) for _ in range(4)]
    await rest()
    limiter.overloaded(tickets[0], None)  # the limit is now 2.8
    limiter.leave()
    limiter.leave()
    await rest()
    assert limiter.in_flight == 2
    limiter.leave()
    await rest()
    assert limiter.in_flight == 2
    assert sum(task.done() for task in waiting) == 1
    limiter.close()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_waiting_requests_enter_in_order_of_arrival() -> None:
    limiter, order = RateLimiter(1), list[int]()
    await limiter.enter()

    async def come(number: int) -> None:
        await limiter.enter()
        order.append(number)
        limiter.leave()

    tasks = [asyncio.create_task(come(number)) for number in range(10)]
    await rest()
    limiter.leave()
    await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert order == list(range(10))


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("seconds", [0.0004, 0.0104, 0.0249, 0.05])
def test_a_retry_after_holds_back_all_and_then_lets_all_go(run, seconds: float) -> None:  # type: ignore[no-untyped-def]
    async def go() -> None:
        loop, limiter = asyncio.get_running_loop(), RateLimiter(5)
        ticket = await limiter.enter()
        told = loop.time()
        limiter.overloaded(ticket, seconds)
        limiter.leave()

        async def come() -> float:
            await limiter.enter()
            entered = loop.time()
            limiter.leave()
            return entered

        entered = await asyncio.wait_for(asyncio.gather(*[come() for _ in range(20)]), 10)
        assert min(entered) >= told + seconds

    for _ in range(10):
        run(go())


async def test_a_longer_hold_overrides_a_shorter_one() -> None:
    loop, limiter = asyncio.get_running_loop(), RateLimiter(5)
    tickets = [await limiter.enter() for _ in range(2)]
    told = loop.time()
    limiter.overloaded(tickets[0], 0.06)
    limiter.overloaded(tickets[1], 0.01)
    limiter.leave()
    limiter.leave()
    await asyncio.wait_for(limiter.enter(), 10)
    assert loop.time() >= told + 0.06


async def test_closing_ends_a_pause_and_pauses_that_come_later() -> None:
    limiter = RateLimiter(1)
    ticket = await limiter.enter()
    limiter.overloaded(ticket, 600)
    waiting = [asyncio.create_task(limiter.enter()) for _ in range(3)]
    await rest()
    assert not any(task.done() for task in waiting)
    limiter.close()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    limiter.overloaded(ticket, 600)
    await asyncio.wait_for(limiter.enter(), 5)
    assert limiter.limit <= limiter.most == 1


async def test_a_cancelled_request_takes_no_place() -> None:
    limiter = RateLimiter(1)
    await limiter.enter()
    first, second = asyncio.create_task(limiter.enter()), asyncio.create_task(limiter.enter())
    await rest()
    first.cancel()
    await rest()
    limiter.leave()
    await asyncio.wait_for(second, 5)
    assert limiter.in_flight == 1


async def test_a_place_given_to_a_request_cancelled_at_that_moment_passes_on() -> None:
    limiter = RateLimiter(1)
    await limiter.enter()
    first, second = asyncio.create_task(limiter.enter()), asyncio.create_task(limiter.enter())
    await rest()
    limiter.leave()  # the place is now the first one's, but it has not run since
    first.cancel()
    await asyncio.wait_for(second, 5)
    assert first.cancelled()
    assert limiter.in_flight == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_cancellations_at_any_moment_lose_no_place(seed: int) -> None:
    chance = random.Random(seed)

    async def come(limiter: RateLimiter) -> None:
        await limiter.enter()
        try:
            await rest(chance.randrange(4))
        finally:
            limiter.leave()

    async def go() -> None:
        limiter = RateLimiter(3)
        tasks = [asyncio.create_task(come(limiter)) for _ in range(20)]
        while not all(task.done() for task in tasks):
            chance.choice(tasks).cancel()
            await rest(chance.randrange(3))
        await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.in_flight == 0
        await asyncio.wait_for(asyncio.gather(*[limiter.enter() for _ in range(3)]), 5)

    asyncio.run(go())


@given(st.integers(1, 7))
def test_waits_double_and_are_jittered(attempt: int) -> None:
    patience = RetryPolicy(attempts=8, first=0.5, longest=10)
    full = min(10, 0.5 * 2 ** (attempt - 1))
    waits = [patience.wait(attempt, trouble()) for _ in range(50)]
    assert all(wait is not None and full / 2 <= wait <= full for wait in waits)
    assert len(set(waits)) > 1


def test_patience_ends_after_its_attempts() -> None:
    assert RetryPolicy(attempts=3).wait(2, trouble()) is not None
    assert RetryPolicy(attempts=3).wait(3, trouble()) is None


def test_a_retry_after_is_obeyed_where_it_is_longer() -> None:
    patience = RetryPolicy(first=1, refuse_after=100)
    assert patience.wait(1, trouble(30)) == 30
    assert 0.5 <= (patience.wait(1, trouble(0.01)) or 0) <= 1


def test_a_retry_after_beyond_all_patience_is_refused() -> None:
    patience = RetryPolicy(refuse_after=100)
    assert patience.refuses(trouble(101))
    assert not patience.refuses(trouble(100))
    assert not patience.refuses(trouble())


@settings(max_examples=150, deadline=None)
@given(
    limit=st.floats(0, 3),
    worsts=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    calls=st.none() | st.integers(0, 25),
    seed=st.integers(0, 2**32),
)
@example(limit=1.0, worsts=[0.1] * 10, calls=None, seed=0)
def test_a_limit_is_never_passed_under_any_interleaving(
    limit: float, worsts: list[float], calls: int | None, seed: int
) -> None:
    chance = random.Random(seed)
    spent = sent = refused = 0.0

    async def call(budget: Budget, worst: float) -> None:
        nonlocal spent, sent, refused
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)
        try:
            await budget.reserve(worst)
        except LimitReached:
            refused += 1
            return
        if chance.random() < 0.1:
            budget.withdraw(worst)
            return
        sent += 1
        cost = worst * chance.random()
        for _ in range(chance.randrange(5)):
            await asyncio.sleep(0)
        spent += cost
        assert spent <= limit * (1 + 1e-9)
        budget.settle(worst, cost)

    async def go() -> Budget:
        budget = Budget(Limits(cost=limit, calls=calls))
        await asyncio.wait_for(asyncio.gather(*[call(budget, worst) for worst in worsts]), 10)
        return budget

    budget = asyncio.run(go())
    assert calls is None or sent <= calls
    assert budget.calls == sent
    assert budget.cost == pytest.approx(spent)


class SlowLedger:
    """A ledger whose disk takes its time; `allowed` is what a kill would leave."""

    def __init__(self, chance: random.Random) -> None:
        self.allowed = self.proposed = Spending()
        self.commits = 0
        self._chance = chance
        self._writing: asyncio.Task[None] | None = None

    def propose(self, most: Spending, *, soon: bool) -> None:
        assert self.proposed.within(most)
        self.proposed = most
        if soon:
            self._begin()

    async def allow(self, level: Spending) -> None:
        assert level.within(self.proposed)
        while not level.within(self.allowed):
            self._begin()
            assert self._writing is not None
            await asyncio.shield(self._writing)

    def _begin(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        proposed = self.proposed
        await rest(self._chance.randrange(12))
        self.allowed = proposed
        self.commits += 1


@settings(max_examples=150, deadline=None)
@given(
    money=st.none() | st.floats(0, 3),
    worsts=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    calls=st.none() | st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
def test_nothing_is_sent_that_a_kill_would_leave_uncounted(
    money: float | None, worsts: list[float], calls: int | None, seed: int
) -> None:
    chance = random.Random(seed)
    sent, owed = 0, 0.0

    async def call(budget: Budget, ledger: SlowLedger, worst: float) -> None:
        nonlocal sent, owed
        await rest(chance.randrange(9))
        try:
            await budget.reserve(worst)
        except LimitReached:
            return
        sent, owed = sent + 1, owed + worst
        assert sent <= ledger.allowed.requests
        assert owed <= ledger.allowed.cost * (1 + 1e-9) + 1e-12
        assert calls is None or ledger.allowed.requests <= calls
        assert money is None or ledger.allowed.cost <= money * (1 + 1e-9)
        await rest(chance.randrange(5))
        cost = worst * chance.random()
        owed += cost - worst
        budget.settle(worst, cost)

    async def go() -> None:
        ledger = SlowLedger(chance)
        budget = Budget(Limits(cost=money, calls=calls), ledger=ledger)
        await asyncio.wait_for(asyncio.gather(*[call(budget, ledger, worst) for worst in worsts]), 10)
        assert budget.spent == (sent, pytest.approx(owed, abs=1e-9))

    asyncio.run(go())


async def test_sends_at_an_even_pace_seldom_wait_for_the_disk() -> None:
    class Disk(SlowLedger):
        waits = 0

        async def allow(self, level: Spending) -> None:
            self.waits += 1
            await super().allow(level)

    ledger = Disk(random.Random(1))
    budget = Budget(Limits(), ledger=ledger)

    async def worker() -> None:
        for _ in range(200):
            await budget.reserve(0.01)
            await rest(3)
            budget.settle(0.01, 0.001)

    await asyncio.gather(*[worker() for _ in range(8)])
    assert budget.calls == 1600
    assert ledger.waits < 160
    assert ledger.commits < 800


async def test_a_request_that_waits_for_the_disk_in_vain_is_not_sent() -> None:
    class Full(SlowLedger):
        async def allow(self, level: Spending) -> None:
            raise JournalError("full")

    budget = Budget(Limits(calls=5), calls=2, ledger=Full(random.Random(1)))
    with pytest.raises(JournalError):
        await budget.reserve(0.5)
    assert budget.spent == (2, 0.0)


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), float("-inf")])
async def test_invalid_costs_count_as_the_worst_case(cost: float) -> None:
    budget = Budget(Limits(cost=1.0))
    await budget.reserve(0.25)
    budget.settle(0.25, cost)
    assert budget.spent == (1, 0.25)


async def test_request_that_does_not_fit_waits_for_those_in_flight() -> None:
    budget = Budget(Limits(cost=1.0))
    await budget.reserve(0.8)
    waiting = asyncio.create_task(budget.reserve(0.5))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.settle(0.8, 0.3)
    await asyncio.wait_for(waiting, 5)
    assert budget.cost == pytest.approx(0.3)


async def test_without_requests_in_flight_it_is_refused_and_reports_the_spending() -> None:
    budget = Budget(Limits(cost=1.0), cost=0.75)
    with pytest.raises(LimitReached, match=r"up to \$0\.50, .* \$0\.75 is spent, and the limit is \$1\.00"):
        await budget.reserve(0.5)
    await budget.reserve(0.25)


async def test_requests_of_earlier_sessions_count() -> None:
    budget = Budget(Limits(calls=10), calls=9)
    await budget.reserve(0)
    budget.settle(0, 0)
    with pytest.raises(LimitReached, match="limit of 10 calls is reached"):
        await budget.reserve(0)
    assert budget.calls == 10


async def test_a_withdrawn_request_was_never_sent() -> None:
    budget = Budget(Limits(cost=1.0, calls=1))
    await budget.reserve(1.0)
    waiting = asyncio.create_task(budget.reserve(1.0))
    await asyncio.sleep(0)
    budget.withdraw(1.0)
    await asyncio.wait_for(waiting, 5)
    assert (budget.calls, budget.cost) == (1, 0.0)


async def test_no_rounding_error_remains_once_all_requests_have_ended() -> None:
    budget = Budget(Limits())
    worst = [0.1, 0.2, 0.3]
    for one in worst:
        await budget.reserve(one)
    for one in worst:
        budget.settle(one, 0.0)
    assert sum(worst) - 0.1 - 0.2 - 0.3 != 0.0  # rounding of fractions
    assert budget.spent == Spending(3, 0.0)


async def test_all_waiting_requests_are_refused_at_the_limit() -> None:
    budget = Budget(Limits(calls=1))
    await budget.reserve(0)
    waiting = [asyncio.create_task(budget.reserve(0)) for _ in range(5)]
    await asyncio.sleep(0)
    budget.settle(0, 0)
    ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
    assert all(isinstance(one, LimitReached) for one in ended)


async def test_without_limits_nothing_waits() -> None:
    budget = Budget(Limits())
    await asyncio.wait_for(asyncio.gather(*[budget.reserve(1e9) for _ in range(100)]), 5)


def test_the_worst_case_takes_a_token_for_every_byte_and_every_output_token() -> None:
    messages = (system("é" * 100), user("x" * 50))
    request = Request(messages, Settings(max_tokens=1000))
    price = Price(input=2.0, output=8.0)
    assert worst_case(price, request) >= (250 * 2.0 + 1000 * 8.0) / 1e6
    assert worst_case(price, request) < (400 * 2.0 + 1000 * 8.0) / 1e6


def test_a_bill_above_its_bound_raises_the_bounds_of_calls_in_flight() -> None:
    billing, price = Billing(), Price(input=0.0, output=1.0)
    short, long = (Request((user("x"),), Settings(max_tokens=tokens)) for tokens in (1_000, 4_000_000))
    in_flight = [Reservation(one, billing.worst(price, one)) for one in (short, long)]
    assert [one.worst for one in in_flight] == [pytest.approx(0.001), pytest.approx(4.0)]
    billing.in_flight.update(in_flight)
    assert not billing.learn(price, long, 3.0)
    assert billing.raise_reserved(price) == 0.0
    assert "up to 1.5 times" in billing.learn(price, long, 6.0)
    assert billing.raise_reserved(price) == pytest.approx((6.0 - 0.001) + (6.0 - 4.0))
    assert [one.worst for one in in_flight] == [6.0, 6.0]  # no less than was seen, even for the short call
    assert billing.worst(price, short) == 6.0
    assert "up to 1e+04 times" in billing.learn(price, short, 10.0)
    assert billing.worst(price, long) == pytest.approx(40_000.0)


async def test_more_that_is_set_aside_counts_against_the_limit_and_is_on_disk_at_once() -> None:
    ledger = SlowLedger(random.Random(1))
    budget = Budget(Limits(cost=1.0), ledger=ledger)
    for _ in range(2):
        await budget.reserve(0.25)
    budget.set_aside_more(0.75)
    assert budget.is_exceeded
    assert ledger.proposed.cost >= 1.25
    waiting = asyncio.create_task(budget.reserve(0.25))
    await rest(20)
    assert not waiting.done()
    budget.settle(0.625, 0.5)
    await rest(20)
    assert not waiting.done()
    budget.settle(0.625, 0.25)
    await asyncio.wait_for(waiting, 5)
    assert budget.cost == pytest.approx(0.75)
