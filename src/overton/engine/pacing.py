"""When a call is sent: how many go to an endpoint at once, and how often and how soon a call is retried."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable

from overton.errors import UnavailableError

__all__ = ["Pacer", "Patience"]

_CUT = 0.7
_LEAST_RISE = 0.02
_TICK = 0.001


class Patience:
    """How often and how long one call is tried.

    At most `attempts` in all; before attempt k+1 it waits `first` * 2**(k-1) seconds, at most `longest`, times a
    random factor in [0.5, 1) so that calls which failed together do not return together. An endpoint's own
    Retry-After is obeyed instead if it is longer; one over `refuse_after` seconds is not waited for: the run stops.
    If another server is available at once there is no wait.
    """

    def __init__(
        self, attempts: int = 8, first: float = 0.5, longest: float = 60.0, refuse_after: float = 900.0
    ) -> None:
        self.attempts = attempts
        self.first = first
        self.longest = longest
        self.refuse_after = refuse_after

    def wait(self, attempt: int, error: UnavailableError) -> float | None:
        """Seconds to wait after the `attempt`-th failure; None if the call is given up."""
        if attempt >= self.attempts:
            return None
        if error.elsewhere:
            return 0.0
        own: float = min(self.longest, self.first * 2 ** (attempt - 1)) * random.uniform(0.5, 1)
        return max(own, error.retry_after or 0.0)

    def refuses(self, error: UnavailableError) -> bool:
        """True if the endpoint asks for more patience than this (a used-up daily quota, say)."""
        return not error.elsewhere and (error.retry_after or 0.0) > self.refuse_after


class Pacer:
    """Admits at most `limit` requests at once to one endpoint.

    The limit starts at `most`. A sign of overload multiplies it by 0.7, once for all the requests that were in flight
    at the time; every answer raises it, by one per `limit` answers and at least by 1 in 50. A Retry-After holds back
    all of the endpoint's requests, not only the one that received it. `freed` is called when there may be room again,
    for callers that wait elsewhere, as for any server of a fleet.
    """

    def __init__(self, most: int, freed: Callable[[], None] | None = None) -> None:
        self.most = most
        self._freed = freed
        self.limit = float(most)
        self.in_flight = 0
        self.answers = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._cuts = 0
        self._paused_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False

    async def enter(self) -> int:
        """Wait for a place; returns a ticket for `overloaded`."""
        if self._waiting or not self._has_room():
            await self._queue()
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
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + max(1 / self.limit, _LEAST_RISE))

    def overloaded(self, ticket: int, retry_after: float | None) -> None:
        """The endpoint asked for less. `ticket` shows whether the request was sent before the last cut."""
        if ticket == self._cuts:
            self._cuts += 1
            self.limit = max(1.0, self.limit * _CUT)
        if retry_after:
            self._pause(retry_after)

    def close(self) -> None:
        """Release all waiters, room or not: the run is stopping, and they will send nothing."""
        self._closed = True
        self._wake()

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)
        if self._alarm is None:
            self._look_again()

    def _look_again(self) -> None:
        """Wake the waiters when the hold is over; timers can fire a little early, and holds can be extended."""
        loop = asyncio.get_running_loop()
        rest = self._paused_until - loop.time()
        self._alarm = loop.call_later(max(rest, _TICK), self._look_again) if rest > 0 else None
        self._wake()

    def _has_room(self) -> bool:
        if self._closed:
            return True
        if self.in_flight + 1 > self.limit:
            return False
        return not self._paused_until or asyncio.get_running_loop().time() >= self._paused_until

    async def _queue(self) -> None:
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
        if self._freed is not None:
            self._freed()
