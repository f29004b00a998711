"""The limits of a run's spending, and room on the disk to note it."""

from __future__ import annotations

import asyncio
import errno
import os
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from overton.calls import Price, Request, Settings
from overton.errors import DiskError, LimitReached


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The most that a run may spend, over all its sessions: US dollars, and requests sent (retries included)."""

    cost: float | None = None
    calls: int | None = None


_FRAME_TOKENS = 16
"""Most tokens that a message's framing can add."""


def worst_case(price: Price, request: Request) -> float:
    """The most a request can cost, in dollars: one token per byte of its messages, and every output token allowed."""
    sent = sum(len(message.content.encode()) + _FRAME_TOKENS for message in request.messages)
    return (sent * price.worst_input + _max_output_tokens(request.settings) * price.output) / 1e6


def _max_output_tokens(settings: Settings) -> int:
    """Output tokens that a request allows, if its settings or extra fields say so."""
    extra = (settings.extra.get(name) for name in ("max_tokens", "max_completion_tokens"))
    return max(settings.max_tokens or 0, *(value if isinstance(value, int) else 0 for value in extra))


class Reservation:
    """Dollars set aside for a request in flight: `worst` rises if its model turns out to bill more."""

    __slots__ = ("request", "worst")

    def __init__(self, request: Request, worst: float) -> None:
        self.request = request
        self.worst = worst


@dataclass
class Billing:
    """A model's bills beyond the worst case of its calls, and the reservations of its requests in flight.

    `times` is the largest bill as a multiple of its request's worst case, at least 1. `most` is the largest bill in
    dollars among those that were more than expected, 0 if all were as expected.
    """

    times: float = 1.0
    most: float = 0.0
    in_flight: set[Reservation] = field(default_factory=set)

    def worst(self, price: Price | None, request: Request) -> float:
        """The most that a request is expected to cost, in dollars: by its tokens, or by earlier bills beyond them."""
        return 0.0 if price is None else max(worst_case(price, request) * self.times, self.most)

    def learn(self, price: Price | None, request: Request, bill: float) -> str:
        """Expect bills like this one from now on; returns a note about it, '' if it is no more than expected."""
        if price is None or bill <= self.worst(price, request):
            return ""
        self.most = bill
        if allowed := worst_case(price, request):
            self.times = bill / allowed
            return f"bills up to {self.times:.3g} times the worst-case cost of its calls ({_BILLING_ADVICE})"
        return f"bills up to ${bill:.4g} for calls that should cost nothing ({_BILLING_ADVICE})"

    def raise_reserved(self, price: Price | None) -> float:
        """Expect such bills of the requests in flight too; returns how many dollars more are to be set aside."""
        more = 0.0
        for reserved in self.in_flight:
            worst = self.worst(price, reserved.request)
            more += max(0.0, worst - reserved.worst)
            reserved.worst = max(reserved.worst, worst)
        return more


_BILLING_ADVICE = (
    "every output token used: does it bill reasoning beyond max_tokens?); that much is now set aside per call"
)


class Spending(NamedTuple):
    """Requests sent, retries included, and their cost in US dollars."""

    requests: int = 0
    cost: float = 0.0

    def within(self, other: Spending) -> bool:
        """Whether neither exceeds that of `other`."""
        return self.requests <= other.requests and self.cost <= other.cost


class Ledger(Protocol):
    """Remembers, even if the process is killed, the most that a run may have spent.

    `allowed` is the latest bound safely on disk; `commits` counts how often it was written.
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
        """Have this written with the next write; with `soon`, even if there is no other."""
        ...

    def lower(self, most: Spending) -> None:
        """Allow no more than this from now on, and have that written too."""
        ...

    async def allow(self, level: Spending) -> None:
        """Wait, no longer than needed, until the bound on disk allows this much; it must have been proposed.

        Raises:
            JournalError: it cannot be written.
        """
        ...


_AHEAD_DIVISOR = 20
"""At most this fraction (1 in N) of what a limit leaves is allowed ahead of need."""
_LEAST_WINDOWS = 2.0
_MOST_WINDOWS = 6.0
_WINDOW_DECAY = 0.95


class Budget:
    """Spending against `Limits`; starts with what earlier sessions spent.

    A session can be killed at any moment. So nothing is sent before the `ledger`, if there is one, has a bound that
    covers it, and the next session takes that bound as spent. It is raised in blocks, ahead of need, so that sends
    seldom wait for the disk: by what is sent during some commits (see `_Pace`), and by at most a twentieth of what a
    limit leaves.
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
        """The requests sent and their cost, with the worst case for those in flight."""
        return Spending(self.calls, self.cost + self._set_aside)

    @property
    def in_flight(self) -> int:
        """For how many requests money is set aside."""
        return self._in_flight

    @property
    def is_exceeded(self) -> bool:
        """Whether what is spent and set aside exceeds the limit on cost, as some model billed more than expected."""
        return self.limits.cost is not None and self.cost + self._set_aside > self.limits.cost

    async def reserve(self, worst: float, *, covered: bool = True) -> None:
        """Set aside one request that can cost `worst` dollars; waits while requests in flight may still free enough.

        A request not sent at once need not be `covered` by the ledger: `cover` does that before it is sent.

        Raises:
            LimitReached: even with nothing in flight it could exceed a limit.
            JournalError: the ledger cannot be written.
        """
        while not self._has_room_for(worst):
            if not self._in_flight:
                raise self._limit_error()
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
        """A reserved request has ended and cost this much; an impossible cost counts as the worst case."""
        self._in_flight -= 1
        # Sums of fractions need not return to exactly zero, and may fall below it.
        self._set_aside = max(0.0, self._set_aside - worst) if self._in_flight else 0.0
        self.cost += cost if 0 <= cost < inf else worst
        self._settled.set()

    def set_aside_more(self, dollars: float) -> None:
        """Requests in flight can cost this much more than was reserved; nothing is sent that no longer fits."""
        if dollars <= 0:
            return
        self._set_aside += dollars
        if self._ledger is not None:
            self._most = _maximum(self._most, self.spent)
            self._ledger.propose(self._most, soon=True)

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
        self._most = _maximum(self._most, level)
        self._ledger.propose(self._most, soon=True)
        await self._wait_for_ledger(self._ledger, level)

    async def _wait_for_ledger(self, ledger: Ledger, level: Spending) -> None:
        self._covering += 1
        try:
            await ledger.allow(level)
        finally:
            self._covering -= 1

    def adopt(self, worst: float, requests: int) -> None:
        """This much of what earlier sessions spent was set aside for requests that are still under way."""
        self.cost = max(0.0, self.cost - worst)
        self._set_aside += worst
        self._in_flight += requests

    def relax(self) -> None:
        """Lower the ledger's bound to what is spent and set aside, since much set aside has cost less. Not while a
        caller waits for a higher bound, or it would wait for ever."""
        if self._ledger is not None and not self._covering:
            self._most, self._safe = self.spent, Spending(0, -1.0)
            self._ledger.lower(self._most)

    async def _cover(self, ledger: Ledger, worst: float) -> None:
        """Wait until the ledger allows what is now set aside; propose more ahead of need."""
        level, covered = self.spent, False
        ahead = self._ahead(level, ledger.commits)
        self._most = _maximum(self._most, _add(level, ahead))
        ledger.propose(self._most, soon=not _add(level, _divide(ahead, 2)).within(ledger.allowed))
        try:
            if not level.within(ledger.allowed):
                self._pace.note_wait()
                await self._wait_for_ledger(ledger, level)
            covered = True
        finally:
            if not covered:
                self.withdraw(worst)
        self._safe = _minimum(ledger.allowed, _add(self.spent, _divide(ahead, 4)))

    def _ahead(self, level: Spending, commits: int) -> Spending:
        """How much more than `level` to allow."""
        calls, money = self._pace.ahead(level, commits)
        money = min(money, self._set_aside)
        if self.limits.calls is not None:
            left = self.limits.calls - level.requests
            calls = min(calls, max(left // _AHEAD_DIVISOR, min(left, 1)))
        if self.limits.cost is not None:
            money = min(money, max(0.0, self.limits.cost - level.cost) / _AHEAD_DIVISOR)
        return Spending(calls, money)

    def _has_room_for(self, worst: float) -> bool:
        money, calls = self.limits.cost, self.limits.calls
        return (money is None or self.cost + self._set_aside + worst <= money) and (
            calls is None or self.calls + 1 <= calls
        )

    def _limit_error(self) -> LimitReached:
        if self.limits.calls is not None and self.calls + 1 > self.limits.calls:
            return LimitReached(f"the limit of {self.limits.calls} calls is reached", limit="calls")
        return LimitReached(
            f"the next call could exceed the limit of ${self.limits.cost:.2f}: ${self.cost:.4f} is spent, and its worst"
            " case (every output token used) is set aside before it is sent",
            limit="cost",
        )


class _Pace:
    """How much to allow ahead of need: a multiple of the rise in spending between two commits.

    A bound has to last until the next one is on disk, which takes two commits. If a request had to wait all the same
    (the pace rose, or the disk is slow), the amount is doubled from then on, and shrinks a little with each commit.
    """

    def __init__(self, level: Spending) -> None:
        self._windows = _LEAST_WINDOWS
        self._has_waited = False
        self._commits = 0
        self._at_commit = level
        self._recent_rise = Spending()

    def ahead(self, level: Spending, commits: int) -> Spending:
        """The amount, after spending has risen to `level` and this many commits were made."""
        if passed := commits - self._commits:
            risen = Spending(level.requests - self._at_commit.requests, level.cost - self._at_commit.cost)
            self._recent_rise = _divide(_maximum(risen, Spending()), passed)
            self._commits, self._at_commit = commits, level
            self._windows, self._has_waited = max(_LEAST_WINDOWS, self._windows * _WINDOW_DECAY**passed), False
        return Spending(max(1, int(self._windows * self._recent_rise.requests)), self._windows * self._recent_rise.cost)

    def note_wait(self) -> None:
        """A request has to wait for the disk."""
        if not self._has_waited:
            self._windows, self._has_waited = min(_MOST_WINDOWS, 2 * self._windows), True


def _add(spending: Spending, other: Spending) -> Spending:
    return Spending(spending.requests + other.requests, spending.cost + other.cost)


def _divide(spending: Spending, parts: int) -> Spending:
    return Spending(-(-spending.requests // parts), spending.cost / parts)


def _maximum(spending: Spending, other: Spending) -> Spending:
    return Spending(max(spending.requests, other.requests), max(spending.cost, other.cost))


def _minimum(spending: Spending, other: Spending) -> Spending:
    return Spending(min(spending.requests, other.requests), min(spending.cost, other.cost))


_BLOCK = bytes(1 << 16)
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """A file that takes up space until it is freed. A killed process leaves it; the next one takes it over."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, size: int) -> None:
        """Take up this many bytes on the disk; none if that is impossible for another reason than a full disk.

        Raises:
            DiskError: there is too little space.
        """
        try:
            with self.path.open("wb") as file:
                for _ in range(-(-size // len(_BLOCK))):
                    file.write(_BLOCK)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self.free()
            if error.errno in _DISK_FULL_ERRNOS:
                reason = f"{size / 1e6:.1f} MB cannot be set aside in it. Nothing was asked"
                raise DiskError(f"{self.path.parent}: the disk is full: {reason}") from error

    def free(self) -> bool:
        """Give the space back; False if none was taken."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True
