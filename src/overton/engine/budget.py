"""The limits of a run's spending, and the disk space that is reserved for its journal."""

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
    """The most that a run may spend in all its sessions, in US dollars and in requests (retries included).

    `calls` is never exceeded. `cost` is exceeded only if a model bills more than the `max_tokens` of its calls allow.
    The excess is then at most the largest excess of any call, multiplied by the number of calls in flight. Without
    batches, at most `connections` calls to each model are in flight. With batches, all calls of the current batches
    are in flight. If the process is killed before the first such bill is recorded, the excess can double.
    """

    cost: float | None = None
    calls: int | None = None


_FRAME_TOKENS = 16
"""The maximum number of tokens that the framing of a message (role and separators) can add."""


def worst_case(price: Price, request: Request) -> float:
    """The most that a request can cost, in dollars. It assumes one input token per byte of the messages, and all
    allowed output tokens."""
    sent = sum(len(message.content.encode()) + _FRAME_TOKENS for message in request.messages)
    return (sent * price.worst_input + _max_output_tokens(request.settings) * price.output) / 1e6


def _max_output_tokens(settings: Settings) -> int:
    """The output tokens that a request allows, by its settings or extra fields."""
    extra = (settings.extra.get(name) for name in ("max_tokens", "max_completion_tokens"))
    return max(settings.max_tokens or 0, *(value if isinstance(value, int) else 0 for value in extra))


class Reservation:
    """Dollars set aside for a request in flight; `worst` rises if the model turns out to bill more."""

    __slots__ = ("request", "worst")

    def __init__(self, request: Request, worst: float) -> None:
        self.request = request
        self.worst = worst


@dataclass
class Billing:
    """A model's bills above the worst case of its calls, and the reservations for its requests in flight.

    `times` is the largest ratio of a bill to the worst case of its request, at least 1. `most` is the largest bill in
    dollars that exceeded a worst case, 0 if no bill did.
    """

    times: float = 1.0
    most: float = 0.0
    in_flight: set[Reservation] = field(default_factory=set)

    def worst(self, price: Price | None, request: Request) -> float:
        """The most that a request is expected to cost, in dollars: its worst case by tokens, or more if earlier bills
        were higher."""
        return 0.0 if price is None else max(worst_case(price, request) * self.times, self.most)

    def learn(self, price: Price | None, request: Request, bill: float) -> str:
        """Expect bills like `bill` from now on. Return a note for the user, '' if the bill is not above the amount
        expected so far."""
        if price is None or bill <= self.worst(price, request):
            return ""
        self.most = bill
        if allowed := worst_case(price, request):
            self.times = bill / allowed
            return f"bills up to {self.times:.3g} times the worst-case cost of its calls ({_BILLING_ADVICE})"
        return f"bills up to ${bill:.4g} for calls that should cost nothing ({_BILLING_ADVICE})"

    def raise_reserved(self, price: Price | None) -> float:
        """Raise the reservations of requests in flight to the bills that are now expected. Return the additional
        dollars to set aside."""
        more = 0.0
        for reserved in self.in_flight:
            worst = self.worst(price, reserved.request)
            more += max(0.0, worst - reserved.worst)
            reserved.worst = max(reserved.worst, worst)
        return more


_BILLING_ADVICE = (
    "if every output token is used. It may bill reasoning beyond max_tokens). Overton now reserves that much per call"
)


class Spending(NamedTuple):
    """Requests sent, retries included, and their cost in US dollars."""

    requests: int = 0
    cost: float = 0.0

    def within(self, other: Spending) -> bool:
        """Whether the number of requests and the cost are at most those of `other`."""
        return self.requests <= other.requests and self.cost <= other.cost


class Ledger(Protocol):
    """A record of the most that a run may have spent. The record survives if the process is killed.

    `allowed` is the latest bound that is safely on disk, and `commits` the number of times that a bound was written.
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
        """Include this bound in the next write. With `soon`, write it even if there is nothing else to write."""
        ...

    def lower(self, most: Spending) -> None:
        """Allow no more than this amount from now on, and write the lower bound."""
        ...

    async def allow(self, level: Spending) -> None:
        """Wait until the bound on disk allows this amount. A bound that allows this amount must already have been
        proposed.

        Raises:
            JournalError: the bound cannot be written.
        """
        ...


_AHEAD_DIVISOR = 20
"""The divisor N: at most 1/N of the amount left below a limit is allowed ahead of need."""
_LEAST_WINDOWS = 2.0
_MOST_WINDOWS = 6.0
_WINDOW_DECAY = 0.95


class Budget:
    """Spending against `Limits`; starts with what earlier sessions spent.

    A session can be killed at any moment. So the `ledger`, if there is one, keeps on disk an upper bound of the
    spending. No request is sent before this bound covers it. After a kill, the next session counts the whole bound as
    spent. The bound is raised in blocks, ahead of need, so that requests seldom wait for the disk. A block covers the
    requests sent during several commits (see `_Pace`), but at most a twentieth of the remaining money or requests.
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
        """The requests sent and their cost. Requests in flight count with their worst case."""
        return Spending(self.calls, self.cost + self._set_aside)

    @property
    def in_flight(self) -> int:
        """The number of requests for which money is set aside."""
        return self._in_flight

    @property
    def is_exceeded(self) -> bool:
        """Whether the sum of the amounts spent and set aside exceeds the limit on cost, because a model billed more
        than expected."""
        return self.limits.cost is not None and self.cost + self._set_aside > self.limits.cost

    async def reserve(self, worst: float, *, covered: bool = True) -> None:
        """Set aside `worst` dollars and one request. Wait as long as requests in flight may still free enough of the
        budget.

        With `covered=False`, do not wait for the ledger. The caller must then call `cover` before sending the request.

        Raises:
            LimitReached: the request could exceed a limit even if nothing were in flight.
            JournalError: the ledger cannot be written.
        """
        while not self._has_room_for(worst):
            if not self._in_flight:
                raise self._limit_error(worst)
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
        """Note the end of a reserved request, and its cost. An impossible cost counts as the worst case."""
        self._in_flight -= 1
        # Because of rounding, the sum need not return to exactly zero, and may fall below it.
        self._set_aside = max(0.0, self._set_aside - worst) if self._in_flight else 0.0
        self.cost += cost if 0 <= cost < inf else worst
        self._settled.set()

    def set_aside_more(self, dollars: float) -> None:
        """Set aside this many more dollars for requests in flight. Further requests that no longer fit into the limit
        are not sent."""
        if dollars <= 0:
            return
        self._set_aside += dollars
        if self._ledger is not None:
            self._most = _maximum(self._most, self.spent)
            self._ledger.propose(self._most, soon=True)

    def withdraw(self, worst: float) -> None:
        """Release the reservation of a request that was not sent after all."""
        self.calls -= 1
        self.settle(worst, 0.0)

    async def cover(self) -> None:
        """Wait until the ledger allows the whole amount set aside.

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
        """Move `worst` dollars from the amount spent to the amount set aside, because requests of earlier sessions are
        still under way."""
        self.cost = max(0.0, self.cost - worst)
        self._set_aside += worst
        self._in_flight += requests

    def relax(self) -> None:
        """Lower the ledger's bound to the sum of the amounts spent and set aside, because many requests cost less than
        was set aside. Do nothing while a caller waits for a higher bound. Lowering the bound would make that caller
        wait for ever."""
        if self._ledger is not None and not self._covering:
            self._most, self._safe = self.spent, Spending(0, -1.0)
            self._ledger.lower(self._most)

    async def _cover(self, ledger: Ledger, worst: float) -> None:
        """Wait until the ledger allows the amount now set aside; propose more ahead of need."""
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
        """The amount to allow above `level`."""
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

    def _limit_error(self, worst: float) -> LimitReached:
        if self.limits.calls is not None and self.calls + 1 > self.limits.calls:
            return LimitReached(f"the limit of {self.limits.calls} calls is reached", limit="calls")
        return LimitReached(
            f"the next call could cost up to {_dollars(worst)}, with the most tokens that its prompt can have and all"
            " its output tokens."
            f" {_dollars(self.cost)} is spent, and the limit is {_dollars(self.limits.cost or 0.0)}",
            limit="cost",
        )


def _dollars(amount: float) -> str:
    """An amount in dollars and cents, or with more decimals if it is smaller than that."""
    return f"${amount:,.2f}" if round(amount, 2) == amount else f"${amount:.4g}"


class _Pace:
    """How much to allow ahead of need: a multiple of the rise in spending between two commits.

    A bound has to last until the next one is on disk, which takes two commits. If a request has to wait nevertheless,
    either spending has accelerated or the disk is slow. The amount is then doubled. With each commit it shrinks a
    little.
    """

    def __init__(self, level: Spending) -> None:
        self._windows = _LEAST_WINDOWS
        self._has_waited = False
        self._commits = 0
        self._at_commit = level
        self._recent_rise = Spending()

    def ahead(self, level: Spending, commits: int) -> Spending:
        """The amount by which to raise the bound, after spending has risen to `level` and the ledger has made this many
        commits."""
        if passed := commits - self._commits:
            risen = Spending(level.requests - self._at_commit.requests, level.cost - self._at_commit.cost)
            self._recent_rise = _divide(_maximum(risen, Spending()), passed)
            self._commits, self._at_commit = commits, level
            self._windows, self._has_waited = max(_LEAST_WINDOWS, self._windows * _WINDOW_DECAY**passed), False
        return Spending(max(1, int(self._windows * self._recent_rise.requests)), self._windows * self._recent_rise.cost)

    def note_wait(self) -> None:
        """Note that a request has to wait for the disk."""
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
    """A file that reserves disk space until the space is needed. If a process is killed, the next process takes over
    the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, size: int) -> None:
        """Reserve this many bytes on the disk. If this fails for a reason other than a full disk, continue without
        reserved space.

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
                reason = f"{size / 1e6:.1f} MB cannot be reserved on it. No request was sent"
                raise DiskError(f"{self.path.parent}: the disk is full: {reason}") from error

    def free(self) -> bool:
        """Give the space back; False if none was taken."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True
