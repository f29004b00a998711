"""The robots.txt file of each site (RFC 9309). It states which pages may be fetched and how long to pause between
requests."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from protego import Protego
from yarl import URL

from overton.retrieval.http import Exchange
from overton.retrieval.limits import PageSkipped, inflate

ROBOTS_BYTES = 512 * 1024
"""The number of bytes to read of a robots.txt file. RFC 9309, section 2.5, requires at least 500 KiB."""
_MAX_DELAY_S = 10.0
_MAX_SITES = 2_048

_AskSite = Callable[[URL], Awaitable[Exchange]]


class Robots:
    """The robots.txt of each site, fetched when first needed and kept.

    If a site has no such file (status 400 to 499, except 429), all its pages may be read. If the file cannot be fetched
    (status 500 to 599 or 429, time-outs, endless redirects), no page may be read (RFC 9309, section 2.3.1). `ask`
    fetches an address, following redirects.
    """

    def __init__(self, ask: _AskSite, agent: str) -> None:
        self._ask = ask
        self._agent = agent.partition("/")[0]  # robots.txt files name the product without its version
        self._sites: OrderedDict[URL, asyncio.Task[Protego]] = OrderedDict()
        self._failed: OrderedDict[URL, None] = OrderedDict()

    async def check(self, url: URL) -> float:
        """Return the seconds to wait between requests, as the site asks: 0 by default, and at most 10.

        Raises:
            PageSkipped: the site does not allow this page to be read, or does not answer.
        """
        rules = await self._rules(url.origin())
        if not rules.can_fetch(str(url), self._agent):
            raise PageSkipped("robots.txt")
        return min(float(rules.crawl_delay(self._agent) or 0.0), _MAX_DELAY_S)

    async def _rules(self, origin: URL) -> Protego:
        task = self._sites.get(origin)
        if task is None:
            task = self._sites[origin] = asyncio.ensure_future(self._fetch(origin))
            self._forget_oldest()
        try:
            return await asyncio.shield(task)  # other tasks may wait for it too
        except PageSkipped as unread:
            # A retry of the page fetches the file again, because a failure of the network must not be kept.
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
        while len(self._sites) > _MAX_SITES and next(iter(self._sites.values())).done():
            self._sites.popitem(last=False)
        while len(self._failed) > _MAX_SITES:
            self._failed.popitem(last=False)

    async def _fetch(self, origin: URL) -> Protego:
        try:
            exchange = await self._ask(origin / "robots.txt")
        except PageSkipped as unread:
            if unread.reason in {"timeout", "disconnected", "too many redirects"}:
                raise PageSkipped("robots.txt unreachable", again=unread.again, network=unread.network) from None
            raise
        if exchange.status == 429 or exchange.status >= 500 or exchange.truncated in {"time", "disconnect"}:
            raise PageSkipped("robots.txt unreachable", again=True)
        return await asyncio.to_thread(Protego.parse, _robots_text(exchange) if exchange.status == 200 else "")


def _robots_text(exchange: Exchange) -> str:
    content = inflate(exchange.body, exchange.header("content-encoding"), ROBOTS_BYTES, cut=True)
    return content.decode("utf-8-sig", "replace").replace("\0", "")
