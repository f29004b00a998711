"""How many requests go to an endpoint at once, and when the next goes after refusals."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from overton.engine.retry import RetryPolicy

OVERLOAD = {"rate limit", "server error", "timeout", "connection"}
"""Kinds of failure of an endpoint that answers no request at all."""

_CUT_FACTOR = 0.7
_MIN_RISE = 0.02
_MIN_TIMER_S = 0.001
_REFUSALS_BEFORE_HOLD = 8
"""Refusals for lack of capacity, with nothing answered in between, after which all requests to an endpoint wait."""
_ANSWERS_TO_RECOVER = 8
"""Answers in a row after which an endpoint that refused is taken to have capacity again."""


class Backoff:
    """How long something that refuses for lack of capacity has done so: an endpoint, or a provider's batch queue.

    `number` grows with each refusal and shrinks with each success, `refusals` and `waited` (seconds) count from the
    last success.
    """

    def __init__(self) -> None:
        self.number = 0
        self.refusals = 0
        self.waited = 0.0
        self._answers = 0

    def refused(self, patience: RetryPolicy, retry_after: float | None = None) -> float | None:
        """Seconds until the next request, None if patience is over."""
        self.number += 1
        self.refusals += 1
        self._answers = 0
        if self.refusals > patience.refusals or self.waited >= patience.refuse_after:
            return None
        wait = patience.gap(self.number, retry_after)
        self.waited += wait
        return wait

    def succeeded(self) -> None:
        """Something was accepted: wait less after the next refusal, and after several successes as at first."""
        if self.number:
            self._answers += 1
            self.number = 0 if self._answers >= _ANSWERS_TO_RECOVER else max(1, self.number - 1)
            self.refusals, self.waited = 0, 0.0


class RateLimiter:
    """Admits at most `limit` requests at once to one endpoint.

    The limit starts at `most`. A sign of overload multiplies it by 0.7, once for all the requests that were in flight
    at the time; every answer raises it, by one per `limit` answers and at least by 1 in 50. A Retry-After holds back
    all of the endpoint's requests, not only the one that received it. `freed` is called when there may be room again,
    for callers that wait elsewhere, as for any server of a fleet.

    Once the endpoint has refused eight requests in a row for lack of capacity, only one is sent at a time, after
    growing waits, until one is answered. `exhausted` is True once that has gone on for as long as patience allows.
    """

    def __init__(self, most: int, freed: Callable[[], None] | None = None) -> None:
        self.most = most
        self._on_freed = freed
        self.limit = float(most)
        self.in_flight = 0
        self.answers = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._cuts = 0
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False
        self._refused_in_a_row = 0
        self._backoff = Backoff()
        self.exhausted = False

    async def enter(self) -> int:
        """Wait for a place; returns a ticket for `overloaded`."""
        if self._waiting or not self._has_room():
            await self._wait_for_place()
        else:
            self.in_flight += 1
        return self._cuts

    @property
    def has_room(self) -> bool:
        """Whether a request could be sent now."""
        return self._has_room()

    def take(self) -> int:
        """Take a place that is known to be free; returns what `enter` returns."""
        self.in_flight += 1
        return self._cuts

    def leave(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._wake()

    def answered(self) -> None:
        """The endpoint answered: let a little more through."""
        self.answers += 1
        self.responded()
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + max(1 / self.limit, _MIN_RISE))

    def responded(self) -> None:
        """The endpoint took up a request, whatever it said: it does not refuse everything."""
        if self._refused_in_a_row or self._backoff.number:
            self._refused_in_a_row = 0
            self._backoff.succeeded()

    def overloaded(
        self, ticket: int, retry_after: float | None, *, busy: bool = False, patience: RetryPolicy | None = None
    ) -> None:
        """The endpoint asked for less. `ticket` shows whether the request was sent before the last cut; `busy` says
        that the endpoint refused it for lack of capacity, after which `patience` says how long to wait."""
        fresh = ticket == self._cuts
        if fresh:
            self._cuts += 1
            self.limit = max(1.0, self.limit * _CUT_FACTOR)
        if retry_after:
            self._pause(retry_after)
        if patience is None:
            return
        self._refused_in_a_row += busy
        if self._backoff.number:
            waits = fresh
        else:
            waits = self._refused_in_a_row >= _REFUSALS_BEFORE_HOLD
            self._cuts += waits  # what is in flight now does not lengthen the wait when it is refused, too
        if waits:
            wait = self._backoff.refused(patience, retry_after)
            self.exhausted = self.exhausted or wait is None
            self._pause(wait or 0.0)

    @property
    def refusing(self) -> bool:
        """Whether the endpoint has refused everything for a while, and gets one request at a time."""
        return self._backoff.refusals > 0

    @property
    def refused(self) -> tuple[int, float]:
        """How many requests in a row it has refused for lack of capacity, and the seconds waited between them."""
        return self._refused_in_a_row, self._backoff.waited

    def close(self) -> None:
        """Release all waiters, room or not: the run is stopping, and they will send nothing."""
        self._closed = True
        self._wake()

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)
        if self._alarm is None:
            self._wake_after_pause()

    def _wake_after_pause(self) -> None:
        """Wake the waiters when the hold is over; timers can fire a little early, and holds can be extended."""
        loop = asyncio.get_running_loop()
        rest = self._paused_until - loop.time()
        self._alarm = loop.call_later(max(rest, _MIN_TIMER_S), self._wake_after_pause) if rest > 0 else None
        self._wake()

    def _has_room(self) -> bool:
        if self._closed:
            return True
        if self.in_flight + 1 > (1 if self.refusing else self.limit):
            return False
        return not self._paused_until or asyncio.get_running_loop().time() >= self._paused_until

    async def _wait_for_place(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # the place was given just as the wait was cancelled
                self.leave()
            raise

    def _wake(self) -> None:
        while self._waiting and self._has_room():
            future = self._waiting.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)
        if self._on_freed is not None:
            self._on_freed()
