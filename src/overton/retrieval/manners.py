"""Good manners towards a site: few connections at a time, a pause between them, and its robots.txt (RFC 9309)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from protego import Protego
from yarl import URL

from overton.retrieval.limits import Unread, inflated
from overton.retrieval.wire import Exchange

__all__ = ["ROBOTS_BYTES", "Manners", "Robots"]

_HOSTS = 4_096


@dataclass
class _Host:
    places: asyncio.Semaphore
    free_at: float = 0.0
    users: int = field(default=0)


class Manners:
    """Admits requests to each host in turn: at most `per_host` at a time, started at least `delay` seconds apart."""

    def __init__(self, per_host: int, delay: float) -> None:
        self._per_host = per_host
        self._delay = delay
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, host: str, delay: float = 0.0) -> AsyncIterator[None]:
        """Wait for this host's turn and occupy a place; `delay` is the pause that the host asks for, in seconds."""
        state = self._state(host)
        state.users += 1
        try:
            async with state.places:
                clock = asyncio.get_running_loop().time
                begins = max(clock(), state.free_at)
                state.free_at = begins + max(self._delay, delay)
                await asyncio.sleep(begins - clock())
                yield
        finally:
            state.users -= 1

    def _state(self, host: str) -> _Host:
        state = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self._per_host)))
        self._hosts.move_to_end(host)
        while len(self._hosts) > _HOSTS and not next(iter(self._hosts.values())).users:
            self._hosts.popitem(last=False)
        return state


ROBOTS_BYTES = 512 * 1024
"""Bytes read of a robots.txt; RFC 9309, section 2.5, requires at least 500 KiB."""
_LONGEST_WISH = 10.0
_SITES = 2_048

_ask = Callable[[URL], Awaitable[Exchange]]


class Robots:
    """The robots.txt of each site, fetched when first needed and kept.

    If there is none (400 to 499) all may be read; if it cannot be fetched (500 to 599, 429, time-outs, endless
    redirects) nothing may (RFC 9309, section 2.3.1). `ask` fetches an address, following redirects.
    """

    def __init__(self, ask: _ask, agent: str) -> None:
        self._ask = ask
        self._agent = agent.partition("/")[0]  # robots.txt files name the product, not its version
        self._sites: OrderedDict[URL, asyncio.Task[Protego]] = OrderedDict()
        self._failed: OrderedDict[URL, None] = OrderedDict()

    async def check(self, url: URL) -> float:
        """Seconds that the site wants between requests, 0 if it does not say (at most 10 are respected).

        Raises:
            Unread: the site does not allow this page to be read, or does not answer.
        """
        rules = await self._rules(url.origin())
        if not rules.can_fetch(str(url), self._agent):
            raise Unread("robots.txt")
        return min(float(rules.crawl_delay(self._agent) or 0.0), _LONGEST_WISH)

    async def _rules(self, origin: URL) -> Protego:
        task = self._sites.get(origin)
        if task is None:
            task = self._sites[origin] = asyncio.ensure_future(self._fetched(origin))
            self._forget_oldest()
        try:
            return await asyncio.shield(task)  # others may wait for it too
        except Unread as unread:
            # Fetched again for a page's second try; nothing is kept from a network that was down.
            if self._sites.get(origin) is task and (unread.network or origin not in self._failed):
                del self._sites[origin]
                self._failed[origin] = None
            raise

    async def close(self) -> None:
        """Fetch nothing more."""
        sites, self._sites = list(self._sites.values()), OrderedDict()
        for task in sites:
            task.cancel()
        await asyncio.gather(*sites, return_exceptions=True)

    def _forget_oldest(self) -> None:
        while len(self._sites) > _SITES and next(iter(self._sites.values())).done():
            self._sites.popitem(last=False)
        while len(self._failed) > _SITES:
            self._failed.popitem(last=False)

    async def _fetched(self, origin: URL) -> Protego:
        try:
            exchange = await self._ask(origin / "robots.txt")
        except Unread as unread:
            if unread.reason in {"timeout", "disconnected", "too many redirects"}:
                raise Unread("robots.txt unreachable", again=unread.again, network=unread.network) from None
            raise
        if exchange.status == 429 or exchange.status >= 500 or exchange.truncated in {"time", "disconnect"}:
            raise Unread("robots.txt unreachable", again=True)
        return await asyncio.to_thread(Protego.parse, _text(exchange) if exchange.status == 200 else "")


def _text(exchange: Exchange) -> str:
    content = inflated(exchange.body, exchange.header("content-encoding"), ROBOTS_BYTES, cut=True)
    return content.decode("utf-8-sig", "replace").replace("\0", "")
