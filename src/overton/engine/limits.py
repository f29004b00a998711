"""What a call waits for before it is sent: room in what the run may spend. The other thing is a place: see `pacing`."""

from __future__ import annotations

import asyncio
from math import inf
from typing import NamedTuple, Protocol

import msgspec

from overton.calls import Price, Request, Settings
from overton.errors import LimitReached

__all__ = ["Budget", "Ledger", "Limits", "Spending", "worst_case"]


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The most that a run may spend, over all its sessions: US dollars, and requests sent (retries included)."""

    cost: float | None = None
    calls: int | None = None


_FRAME = 16
"""Tokens that a message's frame can add."""


def worst_case(price: Price, request: Request) -> float:
    """The most dollars that a request can cost: a token for each byte of its messages, and all tokens allowed out."""
    sent = sum(len(message.content.encode()) + _FRAME for message in request.messages)
    return (sent * price.worst_input + _allowed(request.settings) * price.output) / 1e6


def _allowed(settings: Settings) -> int:
    """Output tokens that a request allows, where the settings or its extra fields say so."""
    extra = (settings.extra.get(name) for name in ("max_tokens", "max_completion_tokens"))
    return max(settings.max_tokens or 0, *(value if isinstance(value, int) else 0 for value in extra))


class Spending(NamedTuple):
    """Requests sent, retries included, and the US dollars that they cost."""

    requests: int = 0
    cost: float = 0.0

    def within(self, other: Spending) -> bool:
        """Whether neither is more than the other's."""
        return self.requests <= other.requests and self.cost <= other.cost


class Ledger(Protocol):
    """What remembers, even where the process is killed, the most that a run may have spent.

    `allowed` is the last that is safe on the disk; `commits` counts how often it was written.
    """

    @property
    def allowed(self) -> Spending:
        """See above."""
        ...

    @property
    def commits(self) -> int:
        """See above."""
        ...

    def propose(self, most: Spending, *, soon: bool) -> None:
        """Have this written with whatever is written next; `soon`, even where nothing else is."""
        ...

    def lower(self, most: Spending) -> None:
        """Allow no more than this from now on, and have that written too."""
        ...

    async def allow(self, level: Spending) -> None:
        """Wait, as short as can be, until what is on the disk allows so much; it was proposed before.

        Raises:
            JournalError: it cannot be written.
        """
        ...


_SHARE = 20
"""Of what a limit leaves, one part in so many at most is allowed ahead of need."""
_LEAST_WINDOWS = 2.0
_MOST_WINDOWS = 6.0
_EASING = 0.95


class Budget:
    """Spending against `Limits`; starts with what earlier sessions spent.

    A session can be killed at any moment. So nothing is sent before a `ledger`, where there is one, holds a bound that
    covers it, and the next session takes that bound for what was spent. It is raised in blocks, ahead of need, so that
    sends seldom wait for the disk: by what is sent in the time of some commits (see `_Pace`), and by a twentieth of
    what a limit leaves at most.
    """

    def __init__(self, limits: Limits, *, cost: float = 0.0, calls: int = 0, ledger: Ledger | None = None) -> None:
        self.limits = limits
        self.cost = cost
        self.calls = calls
        self._ledger = ledger
        self._set_aside = 0.0
        self._in_flight = 0
        self._covering = 0
        self._settled = asyncio.Event()
        self._most = Spending()
        self._safe = Spending(0, -1.0)
        self._pace = _Pace(self.spent)

    @property
    def spent(self) -> Spending:
        """What was sent and what it cost; of what is in flight the worst case."""
        return Spending(self.calls, self.cost + self._set_aside)

    @property
    def in_flight(self) -> int:
        """How many requests are set aside."""
        return self._in_flight

    async def reserve(self, worst: float, *, covered: bool = True) -> None:
        """Set aside one request that can cost `worst` dollars; waits while requests in flight may yet free enough.

        What is not sent at once need not be `covered` by the ledger: `cover` does it before it is.

        Raises:
            LimitReached: even with nothing in flight it could pass a limit.
            JournalError: the ledger cannot be written.
        """
        while not self._fits(worst):
            if not self._in_flight:
                raise self._reached()
            self._settled.clear()
            await self._settled.wait()
        self._set_aside += worst
        self._in_flight += 1
        self.calls += 1
        if (covered and self._ledger is not None) and (
            self.calls > self._safe.requests or self.cost + self._set_aside > self._safe.cost
        ):
            await self._cover(self._ledger, worst)

    def settle(self, worst: float, cost: float) -> None:
        """A reserved request has ended and cost this much; what can be no cost counts as the worst case."""
        self._in_flight -= 1
        # Sums of fractions do not end at zero by themselves, and may end below it.
        self._set_aside = max(0.0, self._set_aside - worst) if self._in_flight else 0.0
        self.cost += cost if 0 <= cost < inf else worst
        self._settled.set()

    def withdraw(self, worst: float) -> None:
        """A reserved request was not sent after all."""
        self.calls -= 1
        self.settle(worst, 0.0)

    async def cover(self) -> None:
        """Wait until the ledger allows all that is set aside.

        Raises:
            JournalError: the ledger cannot be written.
        """
        if self._ledger is None:
            return
        level = self.spent
        self._most = _larger(self._most, level)
        self._ledger.propose(self._most, soon=True)
        await self._allowed(self._ledger, level)

    async def _allowed(self, ledger: Ledger, level: Spending) -> None:
        self._covering += 1
        try:
            await ledger.allow(level)
        finally:
            self._covering -= 1

    def adopt(self, worst: float, requests: int) -> None:
        """Of what earlier sessions spent, so much was set aside for requests that are still under way."""
        self.cost = max(0.0, self.cost - worst)
        self._set_aside += worst
        self._in_flight += requests

    def relax(self) -> None:
        """Have the ledger allow no more than what is spent and set aside: much that was set aside has cost less. Not
        while somebody waits for a higher bound, who would wait for ever."""
        if self._ledger is not None and not self._covering:
            self._most, self._safe = self.spent, Spending(0, -1.0)
            self._ledger.lower(self._most)

    async def _cover(self, ledger: Ledger, worst: float) -> None:
        """Wait until the ledger allows what is set aside by now; see that it soon allows more."""
        level, covered = self.spent, False
        ahead = self._ahead(level, ledger.commits)
        self._most = _larger(self._most, _sum(level, ahead))
        ledger.propose(self._most, soon=not _sum(level, _part(ahead, 2)).within(ledger.allowed))
        try:
            if not level.within(ledger.allowed):
                self._pace.waits()
                await self._allowed(ledger, level)
            covered = True
        finally:
            if not covered:
                self.withdraw(worst)
        self._safe = _smaller(ledger.allowed, _sum(self.spent, _part(ahead, 4)))

    def _ahead(self, level: Spending, commits: int) -> Spending:
        """How much more than `level` to have allowed."""
        calls, money = self._pace.ahead(level, commits)
        money = min(money, self._set_aside)
        if self.limits.calls is not None:
            left = self.limits.calls - level.requests
            calls = min(calls, max(left // _SHARE, min(left, 1)))
        if self.limits.cost is not None:
            money = min(money, max(0.0, self.limits.cost - level.cost) / _SHARE)
        return Spending(calls, money)

    def _fits(self, worst: float) -> bool:
        money, calls = self.limits.cost, self.limits.calls
        return (money is None or self.cost + self._set_aside + worst <= money) and (
            calls is None or self.calls + 1 <= calls
        )

    def _reached(self) -> LimitReached:
        if self.limits.calls is not None and self.calls + 1 > self.limits.calls:
            return LimitReached(f"the limit of {self.limits.calls} calls is reached", limit="calls")
        return LimitReached(
            f"the next call could pass the limit of ${self.limits.cost:.2f}: ${self.cost:.4f} is spent, and its worst"
            " case (every output token used) is set aside before it is sent",
            limit="cost",
        )


class _Pace:
    """How much to have allowed ahead of need: by how much what is spent rises between two commits, some times over.

    A bound has to last until the one after it is on the disk, which takes two commits. Where a request had to wait all
    the same (the pace rose, or the disk is slow) it is twice as much from then on, and with each commit a little less.
    """

    def __init__(self, level: Spending) -> None:
        self._windows = _LEAST_WINDOWS
        self._waited = False
        self._commits = 0
        self._at_commit = level
        self._lately = Spending()

    def ahead(self, level: Spending, commits: int) -> Spending:
        """It, where what is spent has risen to `level`, and so many commits were made."""
        if passed := commits - self._commits:
            risen = Spending(level.requests - self._at_commit.requests, level.cost - self._at_commit.cost)
            self._lately = _part(_larger(risen, Spending()), passed)
            self._commits, self._at_commit = commits, level
            self._windows, self._waited = max(_LEAST_WINDOWS, self._windows * _EASING**passed), False
        return Spending(max(1, int(self._windows * self._lately.requests)), self._windows * self._lately.cost)

    def waits(self) -> None:
        """A request has to wait for the disk."""
        if not self._waited:
            self._windows, self._waited = min(_MOST_WINDOWS, 2 * self._windows), True


def _sum(one: Spending, other: Spending) -> Spending:
    return Spending(one.requests + other.requests, one.cost + other.cost)


def _part(one: Spending, parts: int) -> Spending:
    return Spending(-(-one.requests // parts), one.cost / parts)


def _larger(one: Spending, other: Spending) -> Spending:
    return Spending(max(one.requests, other.requests), max(one.cost, other.cost))


def _smaller(one: Spending, other: Spending) -> Spending:
    return Spending(min(one.requests, other.requests), min(one.cost, other.cost))
