"""What a run may spend: the worst case of what is in flight is set aside, so that a limit is never passed."""

from __future__ import annotations

import asyncio

import msgspec

from overton.calls import Price, Request, Settings
from overton.errors import LimitReached

__all__ = ["Budget", "Limits", "worst_case"]


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The most that a run may spend, over all its sessions: US dollars, and requests sent (retries included)."""

    cost: float | None = None
    calls: int | None = None


_FRAME = 16
"""Tokens that a message's frame can add."""


def worst_case(price: Price, request: Request) -> float:
    """The most dollars that a request can cost: a token for each byte of its messages, and all tokens allowed out."""
    sent = sum(len(message.content.encode()) + _FRAME for message in request.messages)
    return (sent * price.input + _allowed(request.settings) * price.output) / 1e6


def _allowed(settings: Settings) -> int:
    """Output tokens that a request allows, where the settings or its extra fields say so."""
    extra = (settings.extra.get(name) for name in ("max_tokens", "max_completion_tokens"))
    return max(settings.max_tokens or 0, *(value if isinstance(value, int) else 0 for value in extra))


class Budget:
    """Spending against `Limits`; starts with what earlier sessions spent."""

    def __init__(self, limits: Limits, *, cost: float = 0.0, calls: int = 0) -> None:
        self.limits = limits
        self.cost = cost
        self.calls = calls
        self._set_aside = 0.0
        self._in_flight = 0
        self._settled = asyncio.Event()

    async def reserve(self, worst: float) -> None:
        """Set aside one request that can cost `worst` dollars; waits while requests in flight may yet free enough.

        Raises:
            LimitReached: even with nothing in flight it could pass a limit.
        """
        while not self._fits(worst):
            if not self._in_flight:
                raise LimitReached(self._reached())
            self._settled.clear()
            await self._settled.wait()
        self._set_aside += worst
        self._in_flight += 1
        self.calls += 1

    def settle(self, worst: float, cost: float) -> None:
        """A reserved request has ended and cost this much."""
        self._set_aside -= worst
        self._in_flight -= 1
        self.cost += cost
        self._settled.set()

    def withdraw(self, worst: float) -> None:
        """A reserved request was not sent after all."""
        self.calls -= 1
        self.settle(worst, 0.0)

    def _fits(self, worst: float) -> bool:
        money, calls = self.limits.cost, self.limits.calls
        return (money is None or self.cost + self._set_aside + worst <= money) and (
            calls is None or self.calls + 1 <= calls
        )

    def _reached(self) -> str:
        if self.limits.calls is not None and self.calls + 1 > self.limits.calls:
            return f"the limit of {self.limits.calls} calls is reached"
        return (
            f"the next call could pass the limit of ${self.limits.cost:.2f}: ${self.cost:.4f} is spent, and its worst"
            " case (every output token used) is set aside before it is sent"
        )
