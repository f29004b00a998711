"""Limits on parallel requests to an endpoint, and waiting times after refusals."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from overton.engine.retry import RetryPolicy

OVERLOAD = {"rate limit", "server error", "timeout", "connection"}
"""The kinds of failure that an endpoint shows when it answers no request at all."""

_CUT_FACTOR = 0.7
_MIN_RISE = 0.02
_MIN_TIMER_S = 0.001
_REFUSALS_BEFORE_HOLD = 8
"""The number of refusals in a row, for lack of capacity, after which all requests to an endpoint wait."""
_ANSWERS_TO_RECOVER = 8
"""The number of answers in a row after which Overton assumes that an endpoint has capacity again."""


class Backoff:
    """The recent refusals of an endpoint, or of a provider's batch queue, for lack of capacity.

    `number` grows with each refusal and shrinks with each success. `refusals` and `waited` (in seconds) count from the
    last success.
    """

    def __init__(self) -> None:
        self.number = 0
        self.refusals = 0
        self.waited = 0.0
        self._answers = 0

    def refused(self, patience: RetryPolicy, retry_after: float | None = None) -> float | None:
        """Note a refusal. Return the seconds to wait before the next request, or None if the run should not wait any
        longer."""
        self.number += 1
        self.refusals += 1
        self._answers = 0
        if self.refusals > patience.refusals or self.waited >= patience.refuse_after:
            return None
        wait = patience.gap(self.number, retry_after)
        self.waited += wait
        return wait

    def succeeded(self) -> None:
        """Note a success. The wait after the next refusal becomes shorter, and after several successes it is as short
        as at first."""
        if self.number:
            self._answers += 1
            self.number = 0 if self._answers >= _ANSWERS_TO_RECOVER else max(1, self.number - 1)
            self.refusals, self.waited = 0, 0.0


class RateLimiter:
    """Admits at most `limit` requests at once to one endpoint.

    The limit on parallel requests starts at `most`. A sign of overload multiplies the limit by 0.7, but only once for
    all the requests that were in flight at the time. Each answer raises the limit by 1 / `limit`, but at least by 1/50.
    A Retry-After holds back all requests to the endpoint. `freed` is called when another request may be admitted, for
    example to wake callers that wait for any of several servers.

    Once the endpoint has refused eight requests in a row for lack of capacity, requests are sent one at a time, after
    growing waits, until a request is answered. `exhausted` is True once the retry policy allows no further waiting.
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
        """Wait until one more request may be sent; return a ticket for `overloaded`."""
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
        """Admit a request for which there is certainly room. Return a ticket, as `enter` does."""
        self.in_flight += 1
        return self._cuts

    def leave(self) -> None:
        """Note that a request has ended, so that another may be sent."""
        self.in_flight -= 1
        self._wake()

    def answered(self) -> None:
        """Note an answer, and raise the limit a little."""
        self.answers += 1
        self.responded()
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + max(1 / self.limit, _MIN_RISE))

    def responded(self) -> None:
        """Note that the endpoint processed a request, whatever the reply. So the endpoint is not refusing
        everything."""
        if self._refused_in_a_row or self._backoff.number:
            self._refused_in_a_row = 0
            self._backoff.succeeded()

    def overloaded(
        self, ticket: int, retry_after: float | None, *, busy: bool = False, patience: RetryPolicy | None = None
    ) -> None:
        """Lower the limit after a sign of overload. `ticket` shows whether the request was sent before the limit was
        last lowered. With `busy` the endpoint refused the request for lack of capacity, and `patience` determines the
        wait."""
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
            self._cuts += waits  # requests now in flight do not lengthen the wait if they are refused, too
        if waits:
            wait = self._backoff.refused(patience, retry_after)
            self.exhausted = self.exhausted or wait is None
            self._pause(wait or 0.0)

    @property
    def refusing(self) -> bool:
        """Whether the endpoint has refused everything for a while. It then gets one request at a time."""
        return self._backoff.refusals > 0

    @property
    def refused(self) -> tuple[int, float]:
        """The number of requests that the endpoint has refused in a row for lack of capacity, and the seconds waited
        between them."""
        return self._refused_in_a_row, self._backoff.waited

    def close(self) -> None:
        """Release all waiting calls, even above the limit. They will send nothing because the run is stopping."""
        self._closed = True
        self._wake()

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)
        if self._alarm is None:
            self._wake_after_pause()

    def _wake_after_pause(self) -> None:
        """Admit waiting requests when the pause is over. Timers can fire a little early, and pauses can be extended."""
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
            if future.done() and not future.cancelled():  # the request was admitted just as its wait was cancelled
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
