"""Pages of the web: fetched under guard and with manners, parsed in a separate process, archived as received."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp.abc import AbstractResolver
from yarl import URL

from overton.calls import Page
from overton.errors import UnavailableError
from overton.retrieval.archive import Archive, hex_digest
from overton.retrieval.extraction import Job, one_line
from overton.retrieval.guard import host_of, joined, parsed_address, vetted
from overton.retrieval.limits import Limits, Unread, declared_charset, inflated, sniffed
from overton.retrieval.manners import ROBOTS_BYTES, Manners, Robots
from overton.retrieval.reading import Readers
from overton.retrieval.wire import Exchange, Wire
from overton.untrusted import retry_after

__all__ = ["REDIRECTS", "WebPages", "read_exchange"]

_SILENT_HOSTS = 8
"""Silent hosts in a row, with no answer in between, after which our own network is taken to be down."""


class WebPages:
    """The web as a source of pages."""

    identity = "web"

    def __init__(self, limits: Limits, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._fetcher = _Fetcher(limits, self._witness, resolver)
        self._readers = Readers()
        self._archive: Archive | None = None
        self._silent: set[str] = set()

    async def read(self, url: str, archive: Archive | None) -> Page:
        """The page at `url`, or why it cannot be read.

        Raises:
            UnavailableError: one host after another does not answer: the network seems to be down.
        """
        self._archive = archive
        try:
            exchange = await self._fetcher.fetch(url)
            self._silent.clear()
            return await read_exchange(self._readers, url, exchange, self._limits)
        except Unread as unread:
            self._note(url, unread)
            return Page(url, skipped=unread.reason)

    async def close(self) -> None:
        """Close all connections and stop the readers."""
        await self._fetcher.close()
        await self._readers.close()

    async def _witness(self, exchange: Exchange) -> None:
        self._silent.clear()
        if self._archive is not None:
            await asyncio.to_thread(self._archive.exchange, exchange)  # compressing takes time

    def _note(self, url: str, unread: Unread) -> None:
        """Distinguish a missing host from a missing network: a cut cable must not be recorded as the web's answer."""
        if not unread.network:
            return
        self._silent.add(host_of(vetted(url, self._limits)))
        if len(self._silent) >= _SILENT_HOSTS:
            raise UnavailableError(
                "connection", f"web: none of the last {len(self._silent)} hosts answered; is the network up?"
            )


async def read_exchange(readers: Readers, url: str, exchange: Exchange, limits: Limits) -> Page:
    """The page in a response.

    Raises:
        Unread: it contains no text.
    """
    body = inflated(exchange.body, exchange.header("content-encoding"), limits.max_bytes)
    kind = sniffed(body)
    if kind:
        raise Unread(kind)
    content_type = exchange.header("content-type").lower()
    plain = content_type.startswith(("text/plain", "text/markdown"))
    found = await readers.read(Job(body, declared_charset(content_type), "text" if plain else "html"))
    if not found.text:
        raise Unread("no text")
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
_BUSY = {429, 500, 502, 503, 504}
_LONGEST_WAIT = 10.0
_ROBOTS_SECONDS = 10.0

_Witness = Callable[[Exchange], Awaitable[None]]


class _Fetcher:
    """Fetches addresses within limits and with manners; `witness` receives every exchange, including robots.txt.

    Each hop of a redirect is vetted, checked against its own site's robots.txt, and connected to under guard.
    """

    def __init__(self, limits: Limits, witness: _Witness, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._witness = witness
        self._wire = Wire(limits, resolver)
        self._manners = Manners(limits.per_host, limits.delay)
        self._robots = Robots(self._robots_file, limits.agent)

    async def fetch(self, address: str) -> Exchange:
        """The last exchange of the redirects from `address`: a success with its complete body.

        Raises:
            Unread: it cannot be fetched.
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
    """Where a request leads: the next address, how many redirects so far, how many seconds are left."""

    def __init__(self, url: URL, limits: Limits, seconds: float) -> None:
        self.url = url
        self.seconds = seconds
        self._limits = limits
        self._turns = 0

    def ends_with(self, exchange: Exchange) -> bool:
        """Whether this exchange is final; if it is a redirect, its target is next.

        Raises:
            Unread: there were too many, or it leads to an address that may not be fetched.
        """
        target = exchange.header("location")
        if exchange.status not in REDIRECTS or not target:
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
    if exchange.truncated:  # a type that is not read
        raise Unread(one_line(exchange.header("content-type").partition(";")[0]).lower()[:60] or "no text")
    return exchange


def _wait(exchange: Exchange) -> float | None:
    """Seconds that the site asks to wait."""
    return retry_after({name: exchange.header(name) for name in ("retry-after", "date")})
