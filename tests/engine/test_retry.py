"""Endpoints that refuse requests for lack of capacity: they get few requests a minute, and the run ends, resumable."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import sleep
from typing import Any

import pytest
from fuzz.hostile.batching import Provider
from tests.engine.models import model_of
from tests.engine.simulated_time import per_minute, run_simulated

from overton.calls import Reply, Settings, Usage
from overton.engine import Journal, RateLimiter, RetryPolicy, Seat, batch_notes, batch_sender, batches, run_lanes
from overton.engine.retry import retried
from overton.errors import AnswerError, CallFailed, OvertonError, Stopped, UnavailableError
from overton.models.factory import open_model
from overton.models.http_errors import ErrorContext, error_for
from overton.untrusted import ApiKey

CONNECTIONS = 64
FIRST_MINUTE = CONNECTIONS + 8 + 9
"""All connections once, up to eight refusals in a row before back-off begins, and the first nine of its waits: 0.25,
0.5, 1, 2, 4, 8, 16 and 30 seconds are the shortest that jitter allows."""
LATER = 2
"""Requests in each later minute: one every 30 to 60 seconds."""
MOST = CONNECTIONS + 8 + 21
TARGET = ErrorContext("test/m", "m", "example.org", ApiKey("", "KEY"))


def refusal(status: int, retry_after: float | None = None, code: str = "") -> AnswerError:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return error_for(status, headers, json.dumps({"error": {"message": "busy", "code": code}}).encode(), TARGET)


@dataclass
class Outcome:
    """The course of a simulated run: when it sent each request (seconds), the reason for its end, and the rest it
    left."""

    times: list[float] = field(default_factory=list)
    stopped: OvertonError | None = None
    answered: int = 0
    failed: int = 0


Behave = Callable[[float], Awaitable[Reply]]


def simulated(bench: Any, puppet: Any, study: Any, behave: Behave, *, trials: int = 200) -> Outcome:
    """A run of one call a trial at an endpoint that behaves so at a time in seconds."""
    found = Outcome()

    async def conduct(trial: Any, ask: Any) -> list[Any]:
        try:
            return list(await study.conduct(trial, ask))
        except CallFailed:
            return [study.Row(trial.name, "")]

    async def answer(text: str, attempt: int) -> Reply:
        found.times.append(asyncio.get_running_loop().time())
        return await behave(found.times[-1])

    async def run() -> None:
        dispatcher = bench.dispatcher(patience=RetryPolicy())
        bound = Seat(model_of(puppet(answer)), Settings(), RateLimiter(CONNECTIONS))
        try:
            await run_lanes([study.lane(bound, study.trials(trials))], conduct, dispatcher)
        except OvertonError as error:
            found.stopped = error
        found.answered, found.failed = dispatcher.tally.asked - dispatcher.tally.failed, dispatcher.tally.failed

    run_simulated(run())
    return found


def always(error: Callable[[], AnswerError]) -> Behave:
    async def behave(time: float) -> Reply:
        await asyncio.sleep(0.05)
        raise error()

    return behave


@pytest.mark.parametrize("status", [429, 503, 529])
def test_an_endpoint_without_capacity_gets_few_requests_and_then_none(
    bench: Any, puppet: Any, study: Any, status: int
) -> None:
    found = simulated(bench, puppet, study, always(lambda: refusal(status)))
    first, *later = per_minute(found.times)
    assert CONNECTIONS <= first <= FIRST_MINUTE
    assert max(later) <= LATER
    assert len(found.times) <= MOST
    assert 5 <= len(later) <= 25
    assert isinstance(found.stopped, Stopped)
    assert "Resume the run later" in str(found.stopped)
    assert (found.answered, found.failed) == (0, 0)


@pytest.mark.parametrize(("seconds", "most"), [(0.0, MOST), (7.0, MOST), (600.0, CONNECTIONS + 12)])
def test_a_retry_after_lengthens_the_waits_and_has_an_end_too(
    bench: Any, puppet: Any, study: Any, seconds: float, most: int
) -> None:
    found = simulated(bench, puppet, study, always(lambda: refusal(429, seconds)))
    first, *later = per_minute(found.times)
    assert first <= (FIRST_MINUTE if seconds < 7 else CONNECTIONS + 60 / seconds + 1)
    assert max(later) <= max(LATER, CONNECTIONS if seconds == 600 else 0, 60 / seconds + 1 if seconds == 7 else 0)
    assert len(found.times) <= 2 * CONNECTIONS + 30
    assert found.times[-1] <= 3600
    assert isinstance(found.stopped, Stopped)
    assert found.failed == 0


def test_a_quota_that_is_used_up_ends_the_run_at_once(bench: Any, puppet: Any, study: Any) -> None:
    found = simulated(bench, puppet, study, always(lambda: refusal(429, code="insufficient_quota")))
    assert len(found.times) <= CONNECTIONS
    assert isinstance(found.stopped, Stopped)
    assert "no credit left" in str(found.stopped)
    assert (found.answered, found.failed) == (0, 0)


@pytest.mark.parametrize("kind", ["server error", "timeout", "connection"])
def test_an_endpoint_that_fails_is_given_up_after_a_bounded_number_of_requests(
    bench: Any, puppet: Any, study: Any, kind: str
) -> None:
    found = simulated(bench, puppet, study, always(lambda: UnavailableError(kind, "it fails")))
    assert len(found.times) <= 8 * CONNECTIONS + CONNECTIONS
    assert len(per_minute(found.times)) <= 2
    assert isinstance(found.stopped, Stopped)


@pytest.mark.parametrize("trials", [1, 200])
def test_a_run_goes_on_when_the_endpoint_has_capacity_again(bench: Any, puppet: Any, study: Any, trials: int) -> None:
    async def behave(time: float) -> Reply:
        if time < 300:
            raise refusal(503)
        await asyncio.sleep(1)
        return Reply("yes", usage=Usage(1, 1))

    found = simulated(bench, puppet, study, behave, trials=trials)
    assert found.stopped is None
    assert (found.answered, found.failed) == (trials, 0)
    assert len(found.times) <= MOST + trials + CONNECTIONS


def test_an_endpoint_that_takes_sixty_a_minute_gets_few_more(bench: Any, puppet: Any, study: Any) -> None:
    taken = 0

    async def behave(time: float) -> Reply:
        nonlocal taken
        await asyncio.sleep(0.05)
        if taken >= time:
            raise refusal(429)
        taken += 1
        return Reply("yes", usage=Usage(1, 1))

    found = simulated(bench, puppet, study, behave, trials=400)
    assert found.stopped is None
    assert (found.answered, found.failed) == (400, 0)
    first, *later = per_minute(found.times)
    assert max(later) <= 240
    assert first <= 240 + CONNECTIONS


# Batches


class Service:
    """A provider's API without a network: each request is answered by a `Provider`, and its time noted."""

    target = TARGET

    def __init__(self, provider: Provider, times: list[float]) -> None:
        self._provider, self._times = provider, times

    async def exchange(
        self, method: str, path: str, body: bytes = b"", *, content: str = "application/json", most: int = 2**24
    ) -> bytes:
        self._times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.05)
        status, reply = self._provider.handle(method, f"/v1{path}", content, body) or (404, b"")
        if status != 200:
            headers = {} if self._provider.retry_after is None else {"retry-after": str(self._provider.retry_after)}
            raise error_for(status, headers, reply, TARGET)
        return reply


def answered(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    text = {"type": "text", "text": "yes"}
    if "claude" in body["model"]:
        return 200, {"content": [text], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    return 200, {"choices": [{"finish_reason": "stop", "message": {"content": "yes"}}]}


@pytest.fixture(params=["openai", "anthropic"])
def in_batches(request: Any, bench: Any, study: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a study in batches at a `Provider`, in simulated time."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setattr(batches, "QUIET", 4.0)

    def clock() -> float:
        return 1e9 + asyncio.get_running_loop().time()

    async def keep(journal: Journal, entry: Any) -> None:
        """Wait for the journal's thread in real time, in which the simulated clock stands still."""
        await journal.append(entry)
        place = journal._appended
        journal._commit_wanted.set()
        while journal._written < place:
            sleep(0.0005)  # noqa: ASYNC251 (no other task may run meanwhile)

    monkeypatch.setattr(Journal, "keep", keep)
    for module, name in (
        (batch_notes, "time"),
        (batch_sender, "time"),
        (batch_sender, "monotonic"),
        (batches, "monotonic"),
    ):
        monkeypatch.setattr(module, name, clock)
    spec = "anthropic/claude-x" if request.param == "anthropic" else "http://127.0.0.1:1/v1#m"

    def run(provider: Provider, trials: int = 66) -> Outcome:
        found = Outcome()

        async def conduct() -> None:
            model = open_model(spec, (("max_tokens", "40"),))
            assert model.batching is not None
            model.batching._service = Service(provider, found.times)
            bound = Seat(
                model_of(model.answerer, batching=model.batching),
                Settings(max_tokens=40),
                RateLimiter(CONNECTIONS),
                batched=True,
            )
            dispatcher = bench.again(patience=RetryPolicy())
            dispatcher.resume_batches(batches.Batches(dispatcher), [bound])
            lane = study.lane(bound, study.trials(trials))
            lane.at_once = lambda: 20_000
            try:
                await run_lanes([lane], study.conduct, dispatcher)
            except OvertonError as error:
                found.stopped = error
            found.answered, found.failed = dispatcher.tally.asked - dispatcher.tally.failed, dispatcher.tally.failed

        run_simulated(conduct())
        return found

    run.kind = request.param  # type: ignore[attr-defined]
    return run


def test_a_full_queue_of_batches_gets_few_requests_and_then_none(in_batches: Any) -> None:
    provider = Provider(answered, refuses=10**9)
    if in_batches.kind == "anthropic":
        provider.always["create"] = "429"
    found = in_batches(provider)
    first, *later = per_minute(found.times)
    assert first <= 3 * 10  # a batch is uploaded, created and looked at
    assert max(later) <= 3 * LATER
    assert isinstance(found.stopped, Stopped)
    assert "resume the run" in str(found.stopped).lower()
    assert (found.answered, found.failed) == (0, 0)
    provider.refuses, provider.always = 0, {}
    again = in_batches(provider)
    assert (again.stopped, again.answered) == (None, 66)
    assert provider.paid.total() == 66


def test_a_queue_that_empties_is_filled_step_by_step(in_batches: Any) -> None:
    if in_batches.kind == "anthropic":
        pytest.skip("it refuses with a status")
    provider = Provider(answered, refuses=6)
    found = in_batches(provider, trials=500)
    assert (found.stopped, found.answered, found.failed) == (None, 500, 0)
    assert provider.paid.total() == 500
    assert len(provider.batches) <= 6 + 8
    assert max(per_minute(found.times)) <= 60


STEPS, STATUSES = ("upload", "create", "look", "read"), ("429", "503", "529", "500")
QUICK = {*zip(STEPS, STATUSES, strict=True), *zip(STEPS, STATUSES[::-1], strict=True)}
"""Every step and every status, twice each."""


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.long)
        for pair in itertools.product(STEPS, STATUSES)
    ],
)
def test_requests_about_batches_that_are_refused_have_a_bound_and_an_end(
    in_batches: Any, kind: str, status: str
) -> None:
    if in_batches.kind == "anthropic" and kind == "upload":
        pytest.skip("nothing is uploaded")
    provider = Provider(answered)
    provider.always[kind] = status
    found = in_batches(provider)
    assert max(per_minute(found.times)) <= 24
    assert len(found.times) <= 120
    assert isinstance(found.stopped, Stopped)
    assert (found.answered, found.failed) == (0, 0)
    provider.always.clear()
    again = in_batches(provider)
    assert (again.stopped, again.answered) == (None, 66)
    assert provider.paid.total() == 66


def test_attempts_go_on_until_one_succeeds_or_a_failure_ends_them() -> None:
    failures: list[int] = []

    async def attempt() -> str:
        if len(failures) < 2:
            raise UnavailableError("timeout", "slow")
        return "answered"

    async def wait(number: int, error: AnswerError) -> None:
        failures.append(number)

    async def replace(number: int, error: AnswerError) -> str:
        return f"{number}: {error}"

    async def give_up(number: int, error: AnswerError) -> None:
        raise Stopped("no more")

    assert asyncio.run(retried(attempt, wait)) == "answered"
    assert failures == [1, 2]
    failures.clear()
    assert asyncio.run(retried(attempt, replace)) == "1: slow"
    with pytest.raises(Stopped, match="no more"):
        asyncio.run(retried(attempt, give_up))
