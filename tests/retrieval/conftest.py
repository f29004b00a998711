"""A local site that serves what a test defines, names that resolve as a test says, and helpers to call answerers."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from overton.calls import Page, Reply, Request, Settings, page_of, user
from overton.retrieval import open_pages

Behaviour = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

ARTICLE = """<!doctype html><html lang="en"><head><title>Night buses</title>
<meta property="article:published_time" content="2021-03-04T10:00:00Z"></head><body><nav><a href="/">Home</a></nav>
<article><h1>Night buses</h1>{}</article><footer>All rights reserved</footer></body></html>"""
PARAGRAPHS = [
    "The city council voted on Tuesday to extend the night bus network to eleven further districts next spring.",
    "Drivers welcomed the plan but asked for longer breaks, while residents along the route feared more noise.",
    "A study by the transport office found that ridership after midnight had doubled in only three years.",
]


def article(*paragraphs: str) -> str:
    return ARTICLE.format("".join(f"<p>{text}</p>" for text in paragraphs or PARAGRAPHS))


def answers(
    body: str | bytes = "", status: int = 200, content_type: str | None = "text/html; charset=utf-8", **headers: str
) -> Behaviour:
    """A response, as defined by a test. Header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named |= {"Content-Type": content_type} if content_type else {}
    content = body.encode() if isinstance(body, str) else body

    async def behave(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=content, status=status, headers=named)

    return behave


@dataclass
class Site:
    """A server on a local address; unknown paths give a 404. `seen` counts requests by path."""

    host: str = "127.0.0.1"
    port: int = 0
    paths: dict[str, Behaviour] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen[request.path] += 1
        self.headers.append(dict(request.headers))
        behaviour = self.paths.get(request.path)
        return await behaviour(request) if behaviour else web.Response(status=404)


@dataclass
class Names(AbstractResolver):
    """Names and their addresses; several answers are given in turn, the last for ever."""

    table: dict[str, list[str]]
    asked: Counter[str] = field(default_factory=Counter)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        answers = self.table.get(host)
        if not answers:
            raise OSError(socket.EAI_NONAME, "Name or service not known")
        address = answers[min(self.asked[host], len(answers) - 1)]
        self.asked[host] += 1
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST)
        ]

    async def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxies and no keys of the machine's."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SERPER_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID", "BRAVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


async def _started(site: Site, port: int = 0) -> web.ServerRunner:
    runner = web.ServerRunner(web.Server(site.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, site.host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    site.port = runner.addresses[0][1]
    return runner


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A running site on 127.0.0.1."""
    made = Site()
    runner = await _started(made)
    yield made
    await runner.cleanup()


@pytest.fixture
async def other_site(site: Site) -> AsyncIterator[Site]:
    """Another one, on 127.0.0.2 and the same port."""
    made = Site("127.0.0.2")
    try:
        runner = await _started(made, site.port)
    except OSError:
        pytest.skip("this system has no address 127.0.0.2")
    yield made
    await runner.cleanup()


@pytest.fixture
def names() -> Callable[..., Names]:
    return lambda **table: Names({name.replace("_", "."): list(answers) for name, answers in table.items()})


@pytest.fixture
def any_port(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allows the site's port, so that only the guard is between a fetch and the site."""
    monkeypatch.setattr("overton.retrieval.address_guard._PORTS", {80, 443, site.port})


def asks(content: str) -> Request:
    return Request((user(content),), Settings())


@pytest.fixture
def ask() -> Callable[[Any, str], Awaitable[Reply]]:
    """Send an answerer one request."""

    async def asking(answerer: Any, content: str) -> Reply:
        reply: Reply = await answerer.answer(asks(content))
        return reply

    return asking


@pytest.fixture
async def read() -> AsyncIterator[Callable[..., Awaitable[Page]]]:
    """Read an address of the web, the local site allowed unless other arguments are given."""
    opened: list[Any] = []

    async def reading(address: str, *args: tuple[str, str]) -> Page:
        defaults = [("allow", "127.0.0.1"), ("delay", "0"), ("timeout", "5")]
        given = {key for key, _ in args}
        answerer = open_pages("web", [*(one for one in defaults if one[0] not in given), *args]).answerer
        opened.append(answerer)
        return page_of(await answerer.answer(asks(address)))

    yield reading
    await asyncio.gather(*(answerer.close() for answerer in opened))


@pytest.fixture
def pages() -> Any:
    """How a site's pages are written: `pages.article(...)`, `pages.answers(...)`."""

    class Pages:
        article = staticmethod(article)
        answers = staticmethod(answers)
        paragraphs = PARAGRAPHS

    return Pages
