"""A limit is never passed, whatever ends first, and what is left of it is used."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overton.calls import Price, Request, Settings, system, user
from overton.engine import Budget, Limits
from overton.engine.limits import worst_case
from overton.errors import LimitReached


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


async def test_one_that_does_not_fit_waits_for_what_is_in_flight() -> None:
    budget = Budget(Limits(cost=1.0))
    await budget.reserve(0.8)
    waiting = asyncio.create_task(budget.reserve(0.5))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.settle(0.8, 0.3)
    await asyncio.wait_for(waiting, 5)
    assert budget.cost == pytest.approx(0.3)


async def test_with_nothing_in_flight_it_is_refused_and_says_what_is_spent() -> None:
    budget = Budget(Limits(cost=1.0), cost=0.75)
    with pytest.raises(LimitReached, match=r"\$1\.00.*\$0\.7500 is spent"):
        await budget.reserve(0.5)
    await budget.reserve(0.25)


async def test_what_earlier_sessions_sent_counts() -> None:
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


async def test_those_who_wait_in_vain_all_hear_of_it() -> None:
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
