"""From an address to what is there: robots.txt asked, turns taken, redirects followed singly, tried twice at most."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp.abc import AbstractResolver
from yarl import URL

from overton.retrieval.limits import Limits, Unread
from overton.retrieval.locating import host_of, joined, vetted
from overton.retrieval.manners import Manners
from overton.retrieval.plaintext import one_line
from overton.retrieval.robots import ROBOTS_BYTES, Robots
from overton.retrieval.wire import Exchange, Wire

__all__ = ["Fetcher"]

_REDIRECTS = {301, 302, 303, 307, 308}
_BUSY = {429, 500, 502, 503, 504}
_LONGEST_WAIT = 10.0
_ROBOTS_SECONDS = 10.0

Witness = Callable[[Exchange], Awaitable[None]]


class Fetcher:
    """Fetches addresses within limits and with manners; `witness` sees every exchange, robots.txt included.

    Each hop of a redirect is vetted, checked against its own site's robots.txt, and connected to under guard.
    """

    def __init__(self, limits: Limits, witness: Witness, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._witness = witness
        self._wire = Wire(limits, resolver)
        self._manners = Manners(limits.per_host, limits.delay)
        self._robots = Robots(self._robots_file, limits.agent)

    async def fetch(self, address: str) -> Exchange:
        """The last exchange of the way that begins at `address`: a success, its body whole.

        Raises:
            Unread: there is none.
        """
        try:
            return await self._attempt(address)
        except Unread as unread:
            if not unread.again or (unread.wait or 0.0) > _LONGEST_WAIT:
                raise
            await asyncio.sleep(self._limits.delay if unread.wait is None else unread.wait)
            return await self._attempt(address)

    async def close(self) -> None:
        """Close all connections."""
        await self._robots.close()
        await self._wire.close()

    async def _attempt(self, address: str) -> Exchange:
        way = _Way(vetted(address, self._limits), self._limits, self._limits.timeout)
        while True:
            wish = await self._robots.check(way.url)
            exchange = await self._get(way, wish, most=self._limits.max_bytes)
            if way.ends_with(exchange):
                return _success(exchange)

    async def _robots_file(self, url: URL) -> Exchange:
        way = _Way(url, self._limits, min(_ROBOTS_SECONDS, self._limits.timeout))
        while True:
            exchange = await self._get(way, 0.0, most=ROBOTS_BYTES, any_type=True)
            if way.ends_with(exchange):
                return exchange

    async def _get(self, way: _Way, wish: float, *, most: int, any_type: bool = False) -> Exchange:
        clock = asyncio.get_running_loop().time
        async with self._manners.turn(host_of(way.url), wish):
            began = clock()
            exchange = await self._wire.get(way.url, seconds=way.seconds, most=most, any_type=any_type)
            way.seconds -= clock() - began
        await self._witness(exchange)
        return exchange


class _Way:
    """Where a request leads: the address that is next, how many redirects came before, how many seconds are left."""

    def __init__(self, url: URL, limits: Limits, seconds: float) -> None:
        self.url = url
        self.seconds = seconds
        self._limits = limits
        self._turns = 0

    def ends_with(self, exchange: Exchange) -> bool:
        """Whether this exchange is no redirect; if it is one, its target is next.

        Raises:
            Unread: there were too many, or it leads where nothing is asked.
        """
        target = exchange.header("location")
        if exchange.status not in _REDIRECTS or not target:
            return True
        self._turns += 1
        if self._turns > self._limits.redirects:
            raise Unread("too many redirects")
        self.url = vetted(joined(self.url, target), self._limits)
        if self.seconds <= 0:
            raise Unread("timeout", again=True)
        return False


def _success(exchange: Exchange) -> Exchange:
    if exchange.status != 200:
        raise Unread(f"HTTP {exchange.status}", again=exchange.status in _BUSY, wait=_wait(exchange))
    if exchange.truncated == "length":
        raise Unread("too large")
    if exchange.truncated in {"time", "disconnect"}:
        raise Unread("timeout" if exchange.truncated == "time" else "disconnected", again=True)
    if exchange.truncated:  # a type that nobody wants to read
        raise Unread(one_line(exchange.header("content-type").partition(";")[0]).lower()[:60] or "no text")
    return exchange


def _wait(exchange: Exchange) -> float | None:
    """Seconds in a Retry-After header; a date there is further away than anyone waits for a page."""
    wish = exchange.header("retry-after").strip()
    return float(wish) if wish.isascii() and wish.isdigit() and len(wish) < 9 else None
