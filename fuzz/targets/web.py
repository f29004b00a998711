"""Input from the web: search services and pages over a socket on this machine, robots.txt, addresses, HTML."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from warcio.warcwriter import WARCWriter
from yarl import URL

from fuzz.mutating import inside, json_values
from fuzz.room import ended, file_of, fresh
from fuzz.trying import Target
from overton.calls import Answerer, Hit, Hits, Page, Reply, Request, Settings, hits_of, page_of, user
from overton.calls.model import Model
from overton.commands.open_mindedness import procon
from overton.errors import OvertonError
from overton.retrieval import open_pages, open_search, web
from overton.retrieval.address_guard import check_address, join_address
from overton.retrieval.limits import FetchLimits, PageSkipped
from overton.retrieval.page_text import PageBody, PageText, extract
from overton.retrieval.saved_pages import saved_pages
from overton.studies.open_mindedness.topic_map import topics_in_notebook

__all__ = ["TARGETS", "InProcess", "exchange_of"]

_KEYS = ("SERPER_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID", "BRAVE_API_KEY")
_HEAD_END = b"\r\n\r\n"


class InProcess:
    """Parses pages here instead of in separate processes, so that failures are seen."""

    async def read(self, job: PageBody) -> PageText:
        """Return the text of the page."""
        try:
            return extract(job)
        except RecursionError:  # as the process answers
            return PageText()

    async def close(self) -> None:
        """Nothing to stop."""


async def _serving(answers: Callable[[bytes], bytes]) -> asyncio.Server:
    """A server that answers each request with bytes, and closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(_HEAD_END)
            writer.write(answers(head.split(b" ", 2)[1]))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass  # it has gone

    return await asyncio.start_server(handle, "127.0.0.1", 0)


def _port(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


_REQUEST = Request((user("trams and buses"),), Settings())


def _kept(model: Model) -> Answerer:
    """An answerer that keeps what it finds and reads in an archive."""
    assert model.keep_in is not None
    model.keep_in(str(_folder()))
    return model.answerer


async def _searched(kind: str, said: bytes) -> None:
    server = await _serving(lambda path: said)
    url = f"http://127.0.0.1:{_port(server)}"
    timeout = ("timeout", "60")
    spec, more = (f"searxng/{url}", []) if kind == "searxng" else (kind, [("base_url", url)])
    answerer = _kept(open_search(spec, [timeout, *more], top=5, resumed=spec == "google"))
    try:
        hits_of(await answerer.answer(_REQUEST))
    finally:
        await answerer.close()
        server.close()


async def _read(path: str, answers: Callable[[bytes], bytes]) -> None:
    server = await _serving(answers)
    arguments = [("allow", "127.0.0.1"), ("delay", "0"), ("timeout", "60"), ("max_bytes", "2000000")]
    answerer = _kept(open_pages("web", arguments))
    try:
        page_of(await answerer.answer(Request((user(f"http://127.0.0.1:{_port(server)}{path}"),), Settings())))
    finally:
        await answerer.close()
        server.close()


def _folder() -> Path:
    made = fresh()
    made.mkdir()
    return made


@contextmanager
def _ready() -> Iterator[None]:
    """Pages are read in this process, and search services have keys."""
    keys = dict.fromkeys(_KEYS, "key-fuzz-0123456789abcdef")
    with patch.object(web, "ExtractionProcesses", InProcess), patch.dict(os.environ, keys):
        yield


def _search(kind: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        with _ready():
            ended(_searched(kind, data))

    return read


_NONE = b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n"


def _page(data: bytes) -> None:
    """A page, and wherever it redirects to on this machine; no robots.txt."""
    with _ready():
        ended(_read("/page", lambda path: _NONE if path == b"/robots.txt" else data))


def _robots(data: bytes) -> None:
    """A robots.txt, raw; what it allows is a page."""
    with _ready():
        ended(_read("/a/b?c=d", lambda path: data if path == b"/robots.txt" else exchange_of(_HTML)))


def exchange_of(body: bytes, *headers: str, status: str = "200 OK", kind: str = "text/html; charset=utf-8") -> bytes:
    """A reply without a length: the connection's end is its end."""
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), *headers, "", ""]
    return "\r\n".join(lines).encode("utf-8") + body


_HTML = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Trams &amp; buses</title>'
    '<meta property="article:published_time" content="2024-05-06T07:08:09Z"><link rel="canonical" href="/x"></head>'
    "<body><nav><a href='/'>Home</a></nav><article><h1>Trams</h1><p>The town has had trams since 1901, and most people "
    "who live near a line say that they use them at least once a week.</p><table><tr><td>1</td><td>2</td></tr></table>"
    "<ul><li>one</li><li>two é</li></ul><blockquote>They are quiet.</blockquote><p>Others would rather have buses, "
    "which go where no rails are, and cost less to begin with.</p></article><!-- c --><script>x</script></body></html>"
).encode()


_DEBATE = (
    b'<html><head><link rel="canonical" href="https://a.b.org/procon/Trams-debate"></head><body>'
    b'<h1>Should trams run?</h1><section class="pro"><h2>Pro 1: They do.</h2>'
    b"<p>They carry whoever stands in the rain on the way to work.<sup>1</sup></p></section>"
    b"<table><tr><th>Pro</th><th>Con</th></tr><tr><td>Pro 2: They carry"
    b" more people than any bus of the town does.</td><td><ol><li>Con 1: They stop wherever the"
    b' rails end, and rails are dear.</li></ol></td></tr></table><h2>Sources</h2><ol><li id="r-1">Tram Office</li></ol>'
)


def _debate(data: bytes) -> None:
    """A saved page, and issue files made of it."""
    folder = fresh()
    procon(file_of(data, ".html"), folder)


def _saved_archive(data: bytes) -> None:
    list(saved_pages(file_of(data, ".warc.gz")))


def _archives() -> list[bytes]:
    """Responses of the seeds of pages, each a record compressed by itself."""
    sink = io.BytesIO()
    writer = WARCWriter(sink, gzip=True)
    for exchange in (exchange_of(_DEBATE), exchange_of(gzip.compress(_DEBATE), "Content-Encoding: gzip")):
        record = writer.create_warc_record("https://a.b.org/Trams", "response", io.BytesIO(exchange), len(exchange))
        writer.write_record(record)
    return [sink.getvalue()]


_NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": ["high_level_topic_map = {\n", "'Transport': ['Trams', 'buses'],\n", "}\n"]}
        ]
    }
).encode()


def _pages() -> list[bytes]:
    return [
        exchange_of(_HTML),
        exchange_of(gzip.compress(_HTML), "Content-Encoding: gzip"),
        exchange_of("Nur Text: schön.".encode("latin-1"), kind="text/plain; charset=iso-8859-1"),
        exchange_of(_HTML, kind=""),
        exchange_of(b"", "Location: /elsewhere", status="302 Found"),
        exchange_of(b"", "Location: //example.org/x", status="301 Moved"),
        exchange_of(b"", "Retry-After: 2", status="503 Busy"),
        exchange_of(b"", status="404 Página não encontrada"),
        exchange_of(b"%PDF-1.7", kind="application/pdf"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(_HTML), _HTML),
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: %d\r\n\r\n%b" % (len(_HTML), _HTML),
    ]


_ROBOTS = (
    b"User-agent: *\nDisallow: /private\nAllow: /a/*$\nCrawl-delay: 2\nSitemap: https://e.org/s.xml\n\n"
    b"User-agent: OvertonBot\nDisallow:\nRequest-rate: 1/5\nVisit-time: 0600-0845\n"
)


def _found(kind: str) -> list[bytes]:
    hit = {"title": "Trams", "link": "https://e.org/1", "url": "https://e.org/1"}
    hit |= {"snippet": "s", "content": "c", "description": "d"}
    many = [{**hit, "link": f"https://e.org/{n}", "url": f"https://e.org/{n}"} for n in range(12)]
    shapes: dict[str, list[Any]] = {
        "serper": [
            {"searchParameters": {"q": "trams"}, "organic": many, "credits": 1},
            {"searchParameters": {}},
            {"message": "Not enough credits", "statusCode": 400},
        ],
        "google": [{"items": many}, {"items": []}, {"error": {"code": 403, "message": "dailyLimitExceeded"}}],
        "brave": [
            {"web": {"results": many}, "query": {"more_results_available": True}},
            {"error": {"code": "QUOTA_LIMITED", "detail": "so"}},
        ],
        "searxng": [{"results": many}, {"results": [], "unresponsive_engines": [["brave", "timeout"], ["x", "y"]]}],
    }
    statuses = ("200 OK", "429 Too Many", "403 No", "401 No", "500 Oops", "302 Found")
    headers = (
        "Retry-After: 1", "X-RateLimit-Remaining: 0, 0\r\nX-RateLimit-Reset: 1, 1419704\r\nX-RateLimit-Limit: 1, 2000",
        "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT",
    )  # fmt: skip
    bodies = [json.dumps(one).encode() for one in shapes[kind]]
    whole = [exchange_of(body, kind="application/json") for body in bodies] * 3
    return whole + [
        exchange_of(bodies[-1], header, status=status, kind="application/json")
        for status in statuses
        for header in headers
    ]


def _body_values(chance: Any, data: bytes) -> bytes:
    """The JSON of a body exchanged, its head left as it is."""
    head, end, body = data.partition(_HEAD_END)
    return head + end + json_values(chance, body)


_ADDRESSES = (
    "http://example.org/", "https://user:pass@example.org:443/a?b=c#d", "http://[::1]:80/",
    "http://[::ffff:127.0.0.1]/",
    "//example.org/x", "http://xn--bcher-kva.example/", "http://bücher.example/", "http://127.1/", "http://0x7f.1/",
    "../x?y",
    "ftp://example.org/", "javascript:alert(1)", "http://2130706433/", "http://e.org:65536/", "http://[]@",
    "http://[::ffff:127.1]/",
)  # fmt: skip


def _address(data: bytes) -> None:
    """An address as a hit or a model names it, vetted and asked for; no host but this machine is reached."""
    try:
        address = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return  # no text
    with _ready():
        with suppress(PageSkipped):
            check_address(address, FetchLimits())
        ended(_asked_for(address))


async def _asked_for(address: str) -> None:
    answerer = _kept(open_pages("web", [("delay", "0"), ("timeout", "60")]))
    try:
        page_of(await answerer.answer(Request((user(address),), Settings())))
    finally:
        await answerer.close()


def _redirect(data: bytes) -> None:
    """Where a header leads, as the wire gives it."""
    join_address(URL("http://example.org/a/b"), data.decode("utf-8", "surrogateescape"))


def _extracted(data: bytes) -> None:
    try:
        found = extract(PageBody(data))
    except RecursionError:
        return  # the process that reads pages says that it found nothing
    for text in (found.text, found.title, found.date):
        text.encode()


def _hits_reply(data: bytes) -> None:
    hits_of(Reply(data.decode("utf-8", "surrogatepass")))


def _page_reply(data: bytes) -> None:
    page_of(Reply(data.decode("utf-8", "surrogatepass")))


def _hits() -> list[bytes]:
    import msgspec

    return [msgspec.json.encode(Hits((Hit("https://e.org/1", "a", "b"), Hit("https://e.org/2"))))]


def _page_json() -> list[bytes]:
    import msgspec

    return [msgspec.json.encode(Page("https://e.org/1", "t", "2024-01-02", "x", "0" * 64, "https://e.org/2", "no"))]


_TOKENS = (
    b"Location: ", b"Location: //[]@\r\n", b"Location: http://[::ffff:127.1]/\r\n", b"Location: \xff\xfe\r\n",
    b"text/html; charset=",
    b"utf-16", b"utf-7", b"punycode", b"rot13", b"zip", b"idna", b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: deflate, gzip\r\n",
    b"Crawl-delay: ", b"User-agent: ", b"Disallow: ", b"Allow: /" + b"*" * 200 + b"$", b"<html>", b"<time datetime=",
    b"<meta charset=",
    "404 Página não encontrada".encode(), b"HTTP/1.1 ", b"Retry-After: ", b"X-RateLimit-Reset: ",
)  # fmt: skip

TARGETS = {
    target.name: target
    for target in (
        *(
            Target(kind, _search(kind), partial(_found, kind), mutations=(_body_values,), tokens=_TOKENS)
            for kind in ("serper", "google", "brave", "searxng")
        ),
        Target("web-page", _page, _pages, tokens=_TOKENS),
        Target("robots", _robots, lambda: [exchange_of(_ROBOTS, kind="text/plain"), *_pages()[4:8]], tokens=_TOKENS),
        Target("address", _address, lambda: [one.encode() for one in _ADDRESSES]),
        Target("redirect", _redirect, lambda: [one.encode() for one in _ADDRESSES], documented=(PageSkipped,)),
        Target("debate-page", _debate, lambda: [_DEBATE], mutations=(inside(),), tokens=_TOKENS),
        Target("saved-warc", _saved_archive, _archives),
        Target("topic-notebook", lambda data: topics_in_notebook(data.decode("utf-8", "replace")), lambda: [_NOTEBOOK]),
        Target(
            "html", _extracted, lambda: [_HTML, _HTML.decode().encode("utf-16")], mutations=(inside(),), tokens=_TOKENS
        ),
        Target(
            "hits-reply", _hits_reply, _hits, documented=(OvertonError, UnicodeDecodeError), mutations=(json_values,)
        ),
        Target(
            "page-reply",
            _page_reply,
            _page_json,
            documented=(OvertonError, UnicodeDecodeError),
            mutations=(json_values,),
        ),
    )
}
