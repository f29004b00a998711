"""A source of pages from the web. Pages are fetched with the address guard and each host's delays, archived as
received, and parsed in a separate process."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp.abc import AbstractResolver
from yarl import URL

from overton.calls import Page
from overton.errors import UnavailableError
from overton.retrieval.address_guard import check_address, host_of, join_address, parsed_address
from overton.retrieval.archive import Archive, hex_digest
from overton.retrieval.http import Exchange, GuardedHttp
from overton.retrieval.limits import FetchLimits, PageSkipped, declared_charset, inflate, sniffed
from overton.retrieval.page_process import ExtractionProcesses
from overton.retrieval.page_text import PageBody, one_line
from overton.retrieval.robots import ROBOTS_BYTES, Robots
from overton.untrusted import retry_after

_SILENT_HOSTS = 8
"""If this many hosts in a row do not answer, Overton assumes that this machine's network is down."""


class WebPages:
    """The web as a source of pages."""

    identity = "web"

    def __init__(self, limits: FetchLimits, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._fetcher = _Fetcher(limits, self._on_exchange, resolver)
        self._readers = ExtractionProcesses()
        self._archive: Archive | None = None
        self._silent_hosts: set[str] = set()

    async def read(self, url: str, archive: Archive | None) -> Page:
        """The page at `url`, or the reason why it cannot be read.

        Raises:
            UnavailableError: many hosts in a row do not answer, so the network seems to be down.
        """
        self._archive = archive
        try:
            exchange = await self._fetcher.fetch(url)
            self._silent_hosts.clear()
            return await read_exchange(self._readers, url, exchange, self._limits)
        except PageSkipped as unread:
            self._note_silence(url, unread)
            return Page(url, skipped=unread.reason)

    async def close(self) -> None:
        """Close all connections and stop the processes that extract text."""
        await self._fetcher.close()
        await self._readers.close()

    async def _on_exchange(self, exchange: Exchange) -> None:
        self._silent_hosts.clear()
        if self._archive is not None:
            await asyncio.to_thread(self._archive.exchange, exchange)  # compressing takes time

    def _note_silence(self, url: str, unread: PageSkipped) -> None:
        """Distinguish a silent host from a network that is down, because a failure of the network must not be recorded
        as a result."""
        if not unread.network:
            return
        self._silent_hosts.add(host_of(check_address(url, self._limits)))
        if len(self._silent_hosts) >= _SILENT_HOSTS:
            raise UnavailableError(
                "connection", f"web: none of the last {len(self._silent_hosts)} hosts answered; is the network up?"
            )


async def read_exchange(readers: ExtractionProcesses, url: str, exchange: Exchange, limits: FetchLimits) -> Page:
    """The page in a response.

    Raises:
        PageSkipped: the response contains no text.
    """
    body = inflate(exchange.body, exchange.header("content-encoding"), limits.max_bytes)
    kind = sniffed(body)
    if kind:
        raise PageSkipped(kind)
    content_type = exchange.header("content-type").lower()
    plain = content_type.startswith(("text/plain", "text/markdown"))
    found = await readers.read(PageBody(body, declared_charset(content_type), "text" if plain else "html"))
    if not found.text:
        raise PageSkipped("no text")
    final = str(exchange.url)
    return Page(
        url=url,
        title=found.title,
        date=found.date,
        text=found.text,
        digest=hex_digest(exchange.body),
        final_url="" if final == str(parsed_address(url)) else final,
    )


REDIRECTS = {301, 302, 303, 307, 308}
_BUSY_STATUSES = {429, 500, 502, 503, 504}
_MAX_WAIT_S = 10.0
_ROBOTS_TIMEOUT_S = 10.0

_OnExchange = Callable[[Exchange], Awaitable[None]]


class _Fetcher:
    """A client that fetches addresses within limits and obeys robots.txt.

    `on_exchange` receives every exchange, including those for robots.txt. Every address in a chain of redirects is
    checked by the address guard and against the robots.txt of its own site.
    """

    def __init__(self, limits: FetchLimits, on_exchange: _OnExchange, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._on_exchange = on_exchange
        self._http = GuardedHttp(limits, resolver)
        self._host_turns = HostTurns(limits.per_host, limits.delay)
        self._robots = Robots(self._fetch_robots, limits.agent)

    async def fetch(self, address: str) -> Exchange:
        """Follow the redirects from `address`, and return the last exchange, which is successful and complete.

        Raises:
            PageSkipped: the page cannot be fetched.
        """
        try:
            return await self._fetch_once(address)
        except PageSkipped as unread:
            if not unread.again or (unread.wait or 0.0) > _MAX_WAIT_S:
                raise
            await asyncio.sleep(self._limits.delay if unread.wait is None else unread.wait)
            return await self._fetch_once(address)

    async def close(self) -> None:
        """Close all connections."""
        await self._robots.close()
        await self._http.close()

    async def _fetch_once(self, address: str) -> Exchange:
        chain = _RedirectChain(check_address(address, self._limits), self._limits, self._limits.timeout)
        while True:
            wish = await self._robots.check(chain.url)
            exchange = await self._get(chain, wish, most=self._limits.max_bytes)
            if chain.ends_with(exchange):
                return _require_success(exchange)

    async def _fetch_robots(self, url: URL) -> Exchange:
        chain = _RedirectChain(url, self._limits, min(_ROBOTS_TIMEOUT_S, self._limits.timeout))
        while True:
            exchange = await self._get(chain, 0.0, most=ROBOTS_BYTES, any_type=True)
            if chain.ends_with(exchange):
                return exchange

    async def _get(self, chain: _RedirectChain, wish: float, *, most: int, any_type: bool = False) -> Exchange:
        clock = asyncio.get_running_loop().time
        async with self._host_turns.turn(host_of(chain.url), wish):
            began = clock()
            exchange = await self._http.get(chain.url, seconds=chain.seconds, most=most, any_type=any_type)
            chain.seconds -= clock() - began
        await self._on_exchange(exchange)
        return exchange


class _RedirectChain:
    """The state of a request: the next address, the number of redirects so far, and the number of seconds left."""

    def __init__(self, url: URL, limits: FetchLimits, seconds: float) -> None:
        self.url = url
        self.seconds = seconds
        self._limits = limits
        self._redirect_count = 0

    def ends_with(self, exchange: Exchange) -> bool:
        """Whether this exchange is final. If it is a redirect, its target is requested next.

        Raises:
            PageSkipped: there were too many redirects, or the target may not be fetched.
        """
        target = exchange.header("location")
        if exchange.status not in REDIRECTS or not target:
            return True
        self._redirect_count += 1
        if self._redirect_count > self._limits.redirects:
            raise PageSkipped("too many redirects")
        self.url = check_address(join_address(self.url, target), self._limits)
        if self.seconds <= 0:
            raise PageSkipped("timeout", again=True)
        return False


def _require_success(exchange: Exchange) -> Exchange:
    if exchange.status != 200:
        raise PageSkipped(
            f"HTTP {exchange.status}", again=exchange.status in _BUSY_STATUSES, wait=_requested_wait(exchange)
        )
    if exchange.truncated == "length":
        raise PageSkipped("too large")
    if exchange.truncated in {"time", "disconnect"}:
        raise PageSkipped("timeout" if exchange.truncated == "time" else "disconnected", again=True)
    if exchange.truncated:  # a type from which no text is extracted
        raise PageSkipped(one_line(exchange.header("content-type").partition(";")[0]).lower()[:60] or "no text")
    return exchange


def _requested_wait(exchange: Exchange) -> float | None:
    return retry_after({name: exchange.header(name) for name in ("retry-after", "date")})


_MAX_HOSTS = 4_096


@dataclass
class _Host:
    places: asyncio.Semaphore
    free_at: float = 0.0
    users: int = field(default=0)


class HostTurns:
    """A limiter of requests to each host: at most `per_host` at a time, started at least `delay` seconds apart."""

    def __init__(self, per_host: int, delay: float) -> None:
        self._per_host = per_host
        self._delay = delay
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, host: str, delay: float = 0.0) -> AsyncIterator[None]:
        """Wait until a request to this host may start. Inside the block, the request counts towards the host's limit.
        `delay` is the pause that the host asks for, in seconds."""
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
        while len(self._hosts) > _MAX_HOSTS and not next(iter(self._hosts.values())).users:
            self._hosts.popitem(last=False)
        return state
