"""A sample of a model's first replies: when calls wait, and when it decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from overton.calls import Failure, Form, Reply, Request, Settings, user
from overton.calls.model import AbsentAnswerer
from overton.calls.read_request import REQUEST, ReadRequest
from overton.engine.first_replies import SAMPLE, FirstReplies, ReadCount, Sample, Unread, quote_unread
from overton.engine.identity import CallKey

KEY = CallKey("t", "subject", 0, "m")


class Kept:
    """A sample, and what it found and stopped."""

    def __init__(self, *, anyway: bool = False, free: bool = False, before: ReadCount | None = None) -> None:
        self.counts: dict[str, ReadCount] = {}
        self.errors: list[Any] = []
        self.first = FirstReplies(
            {"m": before} if before else {},
            anyway=anyway,
            are_free=free,
            found=self.counts.__setitem__,
            stop=self.errors.append,
        )
        found = self.first.sample(AbsentAnswerer("m", "m"), judges=False)
        assert found is not None
        self.sample: Sample = found

    def hear(self, number: int, text: str, prompt: str = "") -> None:
        asked = Request((user(prompt or f"prompt {number}"),), Settings())
        self.sample.hear(number, KEY, asked, Reply(text), is_new=True)


def test_the_decision_falls_as_soon_as_it_is_certain() -> None:
    kept = Kept()
    for number in range(5):
        assert not kept.sample.is_open
        kept.hear(number, f"text {number}")
    assert kept.sample.is_open
    assert kept.counts["m"] == ReadCount(5, 5, "passed")
    kept = Kept()
    for number in range(6):
        assert not kept.errors
        kept.hear(number, "")
    assert [str(error).partition(".")[0] for error in kept.errors] == [
        "Overton could not read 6 of the first 6 replies of m"
    ]
    kept.hear(6, "")
    assert len(kept.errors) == 1
    assert kept.counts["m"] == ReadCount(0, 7, "failed")


def test_a_sample_that_passed_before_is_not_taken_again_and_models_and_judges_have_their_own() -> None:
    first = FirstReplies({"m": ReadCount(5, 5, "passed")}, anyway=False, are_free=False, stop=lambda error: None)
    m = AbsentAnswerer("m", "m")
    assert first.sample(m, judges=False) is None
    judge = first.sample(m, judges=True)
    assert judge is not None
    assert judge.name == "m as judge"
    assert first.sample(m, judges=True) is judge


def test_a_sample_that_failed_before_counts_new_replies_only() -> None:
    kept = Kept(before=ReadCount(0, 6, "failed"))
    kept.sample.hear(1, KEY, Request((user("a"),), Settings()), Reply("text"), is_new=False)
    assert kept.sample.settled == 0
    kept.hear(2, "text")
    assert kept.sample.settled == 1


def test_the_same_text_counts_against_free_replies_only_and_once_per_prompt() -> None:
    kept = Kept(free=True)
    for number, prompt in enumerate(("a", "a", "b", "c")):
        kept.hear(number, "Zorp.", prompt)
    assert (kept.sample.read, [unread.problem for unread in kept.sample.unread]) == (
        1,
        ["another prompt got the same reply"] * 2,
    )
    kept = Kept()
    for number in range(SAMPLE):
        kept.hear(number, "yes")
    assert kept.sample.read == SAMPLE


@pytest.mark.parametrize(
    ("form", "under", "belongs"),
    [(None, False, True), (Form(choices=("A",)), False, False), (Form(choices=("A",)), True, True)],
)
def test_a_reply_with_a_form_counts_only_if_it_is_read(form: Form | None, under: bool, belongs: bool) -> None:
    sample = Kept().sample
    token = REQUEST.set(ReadRequest() if under else None)
    try:
        assert (sample.place_of(Request((user("a"),), Settings(), form), b"slot") is not None) is belongs
    finally:
        REQUEST.reset(token)


def test_calls_beyond_the_sample_wait_and_retries_of_one_request_do_not() -> None:
    async def go() -> None:
        kept = Kept()
        sample = kept.sample
        requests = [ReadRequest() for _ in range(SAMPLE + 3)]
        for request in requests[:SAMPLE]:
            await sample.enter(request)
        later = [asyncio.create_task(sample.enter(request)) for request in requests[SAMPLE:]]
        await asyncio.sleep(0)
        assert not any(task.done() for task in later)
        sample.leave()
        await sample.enter(requests[0])  # asked again, in its own place
        await asyncio.sleep(0)
        assert not any(task.done() for task in later)
        for number in range(5):
            kept.hear(number, "text")
        await asyncio.wait_for(asyncio.gather(*later), 1)

    asyncio.run(go())


def test_a_call_goes_if_all_calls_that_hold_a_place_wait() -> None:
    async def go() -> None:
        sample = Kept().sample
        for number in range(SAMPLE):
            await sample.enter(number)
            sample.leave()
        await asyncio.wait_for(sample.enter("nested"), 1)
        waiting = asyncio.create_task(sample.enter("another"))
        await asyncio.sleep(0)
        assert not waiting.done()
        sample.leave()
        await asyncio.wait_for(waiting, 1)

    asyncio.run(go())


def test_a_failed_call_gives_its_place_back() -> None:
    async def go() -> None:
        sample = Kept().sample
        requests = [ReadRequest() for _ in range(SAMPLE)]
        for request in requests:
            await sample.enter(request)
        asked = Request((user("a"),), Settings())
        sample.hear(requests[0], KEY, asked, Failure("rejected", "too long", 1), is_new=True)
        await asyncio.wait_for(sample.enter("another"), 1)
        assert sample.settled == 0

    asyncio.run(go())


def test_a_stop_releases_waiting_calls() -> None:
    async def go() -> None:
        kept = Kept()
        for number in range(SAMPLE):
            await kept.sample.enter(number)
        waiting = asyncio.create_task(kept.sample.enter("later"))
        await asyncio.sleep(0)
        kept.first.release()
        await asyncio.wait_for(waiting, 1)

    asyncio.run(go())


def test_different_replies_are_quoted_with_advice_once() -> None:
    said = quote_unread([Unread("t1", "a", "why"), Unread("t2", "a", "why"), Unread("", "b\x07", "why")], judges=False)
    assert said.startswith(r"The model replied: 'a' (t1: why); 'b\x07' (why). Check")
    assert said.count("--model-arg") == 1
    assert "max_tokens=N" in quote_unread([Unread("t", "a", "it was cut off at max_tokens")], judges=True)
