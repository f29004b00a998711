"""Pages of the web: fetched under guard and with manners, read in a process of their own, archived as they came."""

from __future__ import annotations

import asyncio

from aiohttp.abc import AbstractResolver
from yarl import URL

from overton.calls import Page
from overton.errors import UnavailableError
from overton.retrieval.archive import Archive, hex_digest
from overton.retrieval.extraction import Job
from overton.retrieval.fetching import Fetcher
from overton.retrieval.kinds import declared_charset, inflated, sniffed
from overton.retrieval.limits import Limits, Unread
from overton.retrieval.locating import host_of, vetted
from overton.retrieval.reading import Readers
from overton.retrieval.wire import Exchange

__all__ = ["WebPages", "read_exchange"]

_SILENT_HOSTS = 8
"""Hosts in a row that do not answer, none answered between, before our own network is taken to be down."""


class WebPages:
    """The web as a source of pages."""

    identity = "web"

    def __init__(self, limits: Limits, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._fetcher = Fetcher(limits, self._witness, resolver)
        self._readers = Readers()
        self._archive: Archive | None = None
        self._silent: set[str] = set()

    async def read(self, url: str, archive: Archive | None) -> Page:
        """The page at `url`, or why it cannot be read.

        Raises:
            UnavailableError: one host after the other does not answer: the network is down, it seems.
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
        """Close all connections and end the readers."""
        await self._fetcher.close()
        await self._readers.close()

    async def _witness(self, exchange: Exchange) -> None:
        self._silent.clear()
        if self._archive is not None:
            await asyncio.to_thread(self._archive.exchange, exchange)  # compressing takes its time

    def _note(self, url: str, unread: Unread) -> None:
        """Tell a host that is gone from a network that is: what a cut cable hides must not be taken for the web."""
        if not unread.network:
            return
        self._silent.add(host_of(vetted(url, self._limits)))
        if len(self._silent) >= _SILENT_HOSTS:
            raise UnavailableError(
                "connection", f"web: none of the last {len(self._silent)} hosts answers; is the network up?"
            )


async def read_exchange(readers: Readers, url: str, exchange: Exchange, limits: Limits) -> Page:
    """The page in a response.

    Raises:
        Unread: it holds no text.
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
        final_url="" if final == str(URL(url.strip()).with_fragment(None)) else final,
    )
