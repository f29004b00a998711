"""How the fetcher handles sites that are well-behaved, clumsy or hostile."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import pytest
from aiohttp import web

from overton.calls import Page, page_of
from overton.errors import UnavailableError
from overton.retrieval import open_pages
from overton.retrieval.limits import FetchLimits
from overton.retrieval.web import WebPages

Read = Callable[..., Awaitable[Page]]


async def test_a_page_is_read(site: Any, read: Read, pages: Any) -> None:
    html = pages.article()
    site.paths["/news"] = pages.answers(html)
    page = await read(f"{site.url}/news#comments")
    assert page.title == "Night buses"
    assert page.date == "2021-03-04"
    assert all(paragraph in page.text for paragraph in pages.paragraphs)
    assert "All rights reserved" not in page.text
    assert page.digest == sha256(html.encode()).hexdigest()
    assert (page.url, page.final_url, page.skipped) == (f"{site.url}/news#comments", "", "")


async def test_a_plain_text_is_read_as_it_is(site: Any, read: Read, pages: Any) -> None:
    site.paths["/notes.txt"] = pages.answers("One.\r\n\r\n\r\n\x07Two <b>.\n", content_type="text/plain")
    assert (await read(f"{site.url}/notes.txt")).text == "One.\n\nTwo <b>."


async def test_the_fetcher_names_itself_and_sends_no_cookie_back(site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(pages.article(), Set_Cookie="id=7; Path=/")
    answerer = open_pages("web", [("allow", "127.0.0.1"), ("delay", "0")]).answerer
    from overton.calls import Request, Settings, user

    for _ in range(2):
        await answerer.answer(Request((user(f"{site.url}/"),), Settings()))
    await answerer.close()
    assert all(headers["User-Agent"].startswith("OvertonBot/") for headers in site.headers)
    assert not any("Cookie" in headers for headers in site.headers)
    assert site.seen == {"/robots.txt": 1, "/": 2}


# Robots


async def test_robots_rules_are_honoured(site: Any, read: Read, pages: Any) -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: OvertonBot\nDisallow: /private/\n"
    site.paths |= {"/robots.txt": pages.answers(rules, content_type="text/plain")}
    site.paths |= {"/a": pages.answers(pages.article()), "/private/b": pages.answers(pages.article())}
    assert (await read(f"{site.url}/private/b")).skipped == "robots.txt"
    assert (await read(f"{site.url}/a")).skipped == ""
    assert site.seen["/private/b"] == 0


@pytest.mark.parametrize(("status", "skipped"), [(404, ""), (403, ""), (410, ""), (429, "robots"), (503, "robots")])
async def test_a_missing_robots_file_allows_all_and_an_unreachable_one_nothing(
    status: int, skipped: str, site: Any, read: Read, pages: Any
) -> None:
    site.paths |= {"/robots.txt": pages.answers(status=status), "/": pages.answers(pages.article())}
    page = await read(f"{site.url}/")
    assert page.skipped == ("robots.txt unreachable" if skipped else "")
    assert site.seen["/"] == (0 if skipped else 1)


async def test_a_site_without_a_reachable_robots_file_is_not_asked_for_it_page_by_page(
    site: Any, ask: Any, pages: Any
) -> None:
    site.paths["/robots.txt"] = pages.answers(status=503)
    answerer = open_pages("web", [("allow", "127.0.0.1"), ("delay", "0")]).answerer
    replies = [await ask(answerer, f"{site.url}/{number}") for number in range(5)]
    await answerer.close()
    assert {page_of(reply).skipped for reply in replies} == {"robots.txt unreachable"}
    assert site.seen == {"/robots.txt": 2}


async def test_a_robots_file_without_end_is_read_to_its_limit(site: Any, read: Read, pages: Any) -> None:
    rules = b"User-agent: *\nDisallow: /private\n" + b"# nothing\n" * 200_000
    packed = gzip.compress(rules)
    site.paths |= {"/robots.txt": pages.answers(packed, content_type="text/plain", Content_Encoding="gzip")}
    site.paths |= {"/": pages.answers(pages.article())}
    assert (await read(f"{site.url}/private")).skipped == "robots.txt"
    assert (await read(f"{site.url}/")).skipped == ""


async def test_a_redirect_obeys_the_rules_of_its_target(site: Any, other_site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(status=301, Location=f"{other_site.url}/closed")
    other_site.paths["/robots.txt"] = pages.answers("User-agent: *\nDisallow: /closed", content_type="text/plain")
    page = await read(f"{site.url}/", ("allow", "127.0.0.1"), ("allow", "127.0.0.2"), ("delay", "0"))
    assert page.skipped == "robots.txt"
    assert other_site.seen == {"/robots.txt": 1}


# Redirects


async def test_redirects_are_followed_and_reported(site: Any, read: Read, pages: Any) -> None:
    site.paths |= {"/old": pages.answers(status=301, Location="/new"), "/new": pages.answers(pages.article())}
    page = await read(f"{site.url}/old")
    assert (page.url, page.final_url) == (f"{site.url}/old", f"{site.url}/new")


async def test_a_loop_of_redirects_ends(site: Any, read: Read, pages: Any) -> None:
    site.paths |= {"/a": pages.answers(status=302, Location="/b"), "/b": pages.answers(status=302, Location="/a")}
    assert (await read(f"{site.url}/a")).skipped == "too many redirects"
    assert site.seen["/a"] + site.seen["/b"] == 6


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("ftp://127.0.0.1/x", "not http"),
        ("http://u:p@127.0.0.1/x", "credentials in the address"),
        ("http://[broken/", "invalid address"),
        ("http://10.0.0.1/", "private address"),
    ],
)
async def test_a_redirect_to_nowhere_good_is_not_followed(
    target: str, reason: str, site: Any, read: Read, pages: Any
) -> None:
    site.paths["/"] = pages.answers(status=302, Location=target)
    assert (await read(f"{site.url}/")).skipped == reason


# Sizes


async def test_a_page_that_is_too_large_is_cut_off(site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(pages.article("word " * 5_000))
    assert (await read(f"{site.url}/", ("max_bytes", "9000"))).skipped == "too large"


async def test_a_gzip_bomb_is_not_unpacked(site: Any, read: Read, pages: Any) -> None:
    bomb = gzip.compress(b"<p>" + b"a" * 50_000_000)
    assert len(bomb) < 100_000
    site.paths["/"] = pages.answers(bomb, Content_Encoding="gzip")
    assert (await read(f"{site.url}/")).skipped == "too large"


async def test_a_bomb_within_a_bomb_is_not_unpacked(site: Any, read: Read, pages: Any) -> None:
    bomb = gzip.compress(gzip.compress(b"a" * 50_000_000))
    site.paths["/"] = pages.answers(bomb, Content_Encoding="gzip, gzip")
    assert (await read(f"{site.url}/")).skipped == "too large"


async def test_a_body_without_end_is_cut_off(site: Any, read: Read) -> None:
    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        while True:
            await response.write(b"<p>more</p>" * 1000)

    site.paths["/"] = endless
    assert (await read(f"{site.url}/", ("max_bytes", "100000"))).skipped == "too large"


async def test_a_slow_drip_times_out_after_two_tries(site: Any, read: Read) -> None:
    async def drip(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        while True:
            await response.write(b"<p>")
            await asyncio.sleep(0.02)

    site.paths["/"] = drip
    assert (await read(f"{site.url}/", ("timeout", "0.3"))).skipped == "timeout"
    assert site.seen["/"] == 2


async def test_headers_without_end_are_not_read(site: Any, read: Read) -> None:
    async def verbose(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 100_000)
        return web.Response()

    site.paths["/"] = verbose
    assert (await read(f"{site.url}/")).skipped in {"not HTTP", "disconnected"}


# Types and encodings


@pytest.mark.parametrize(
    ("content_type", "body", "reason"),
    [
        ("application/pdf", b"%PDF-1.7 ...", "application/pdf"),
        ("text/html", b"%PDF-1.7 ...", "application/pdf"),
        ("image/png", b"\x89PNG", "image/png"),
        ("text/html", b"\x89PNG\r\n", "image/png"),
        ("text/html", b"abc\x00\x01\x02def", "binary"),
        ("application/json", b"{}", "application/json"),
        ("text/html", b"", "no text"),
        ("text/html", b"<html><body></body></html>", "no text"),
    ],
)
async def test_pages_without_text_are_skipped_by_their_type(
    content_type: str, body: bytes, reason: str, *, site: Any, read: Read, pages: Any
) -> None:
    site.paths["/"] = pages.answers(body, content_type=content_type)
    assert (await read(f"{site.url}/")).skipped == reason


@pytest.mark.parametrize(("body", "reason"), [(b"PK\x03\x04rest", "application/zip"), (None, "")])
async def test_pages_without_a_type_are_recognised_by_their_content(
    body: bytes | None, reason: str, site: Any, read: Read, pages: Any
) -> None:
    async def bare(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        content = body or pages.article().encode()
        request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)
        return web.Response()

    site.paths["/"] = bare
    assert (await read(f"{site.url}/")).skipped == reason


@pytest.mark.parametrize(
    ("header", "encoding", "wrap"),
    [
        ("text/html; charset=utf-8", "utf-8", "{}"),
        ("text/html; charset=iso-8859-1", "cp1252", "{}"),
        ("text/html", "utf-8", "{}"),
        ("text/html; charset=utf-8", "cp1252", "{}"),  # declares one and is another
        ("text/html; charset=utf-8", "cp1252", "<meta charset=windows-1252>{}"),
        ("text/html; charset=zlib_codec", "utf-8", "{}"),
        ("text/html; charset=unicode_escape", "utf-8", "{}"),
        ("text/html; charset=nonsense", "utf-8", "{}"),
        ("text/html", "utf-16", "{}"),
        ("text/html", "utf-8-sig", "{}"),
    ],
)
async def test_charsets_are_found_out(
    header: str, encoding: str, wrap: str, *, site: Any, read: Read, pages: Any
) -> None:
    sentence = "Über die Straße zum Café: Bürger wünschen sich mehr Nachtbusse, „sofort“ und überall."
    site.paths["/"] = pages.answers(
        pages.article(wrap.format(sentence), *pages.paragraphs).encode(encoding), content_type=header
    )
    assert sentence in (await read(f"{site.url}/")).text


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body)[2:-4]),
        ("identity", bytes),
    ],
)
async def test_compressed_pages_are_read(
    coding: str, pack: Callable[[bytes], bytes], site: Any, read: Read, pages: Any
) -> None:
    body = pack(pages.article().encode())
    site.paths["/"] = pages.answers(body, Content_Encoding=coding)
    page = await read(f"{site.url}/")
    assert pages.paragraphs[0] in page.text
    assert page.digest == sha256(body).hexdigest()


@pytest.mark.parametrize(("coding", "reason"), [("br", "content encoding br"), ("gzip", "damaged body")])
async def test_other_compressions_are_skipped(coding: str, reason: str, site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(b"\x0b\x02\x80hello\x03", Content_Encoding=coding)
    assert (await read(f"{site.url}/")).skipped == reason


async def test_brackets_within_brackets_do_no_harm(site: Any, read: Read, pages: Any) -> None:
    site.paths |= {"/deep": pages.answers("<div>" * 100_000 + "text" + "</div>" * 100_000)}
    site.paths |= {"/": pages.answers(pages.article())}
    assert isinstance((await read(f"{site.url}/deep")).skipped, str)
    assert (await read(f"{site.url}/")).skipped == ""


# Faults


@pytest.mark.parametrize("status", [401, 403, 404, 410, 451])
async def test_a_refusal_is_an_answer_at_once(status: int, site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(status=status)
    assert (await read(f"{site.url}/")).skipped == f"HTTP {status}"
    assert site.seen["/"] == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_site_is_tried_twice(status: int, site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(status=status, Retry_After="0")
    assert (await read(f"{site.url}/")).skipped == f"HTTP {status}"
    assert site.seen["/"] == 2


async def test_a_site_that_wants_a_long_pause_is_left_alone(site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(status=429, Retry_After="3600")
    assert (await read(f"{site.url}/")).skipped == "HTTP 429"
    assert site.seen["/"] == 1


async def test_the_second_try_may_succeed(site: Any, read: Read, pages: Any) -> None:
    async def once(request: web.BaseRequest) -> web.StreamResponse:
        if site.seen["/"] > 1:
            answer: web.StreamResponse = await pages.answers(pages.article())(request)
            return answer
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    site.paths["/"] = once
    assert (await read(f"{site.url}/")).skipped == ""


async def test_a_body_that_ends_early_is_not_taken_for_a_page(site: Any, read: Read, pages: Any) -> None:
    async def short(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        response.content_length = 100_000
        await response.prepare(request)
        await response.write(pages.article().encode())
        assert request.transport is not None
        request.transport.close()
        return response

    site.paths["/"] = short
    assert (await read(f"{site.url}/")).skipped == "disconnected"


async def test_names_that_are_gone_and_closed_ports_are_answers(site: Any, names: Any) -> None:
    limits = FetchLimits(allow=frozenset({"closed.test"}), delay=0, timeout=5)
    source = WebPages(limits, names(closed_test=["127.0.0.1"]))
    assert (await source.read("http://gone.test/", None)).skipped == "no such host"
    assert (await source.read("http://closed.test:1/", None)).skipped == "no connection"
    await source.close()


async def test_a_dead_network_is_not_taken_for_dead_pages(site: Any, names: Any, pages: Any) -> None:
    source = WebPages(FetchLimits(allow=frozenset({"127.0.0.1"}), delay=0, timeout=5), names())
    site.paths["/"] = pages.answers(pages.article())
    for number in range(7):
        assert (await source.read(f"http://gone{number}.test/", None)).skipped == "no such host"
    with pytest.raises(UnavailableError, match="is the network up"):
        await source.read("http://gone7.test/", None)
    assert (await source.read(f"{site.url}/", None)).text
    assert (await source.read("http://gone8.test/", None)).skipped == "no such host"
    await source.close()


async def test_an_untrusted_certificate_is_an_answer(names: Any) -> None:
    """A plain HTTP server is not a TLS server."""
    from aiohttp import web as server

    runner = server.ServerRunner(server.Server(lambda request: server.Response()))
    await runner.setup()
    await server.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    source = WebPages(FetchLimits(allow=frozenset({"127.0.0.1"}), delay=0, timeout=5))
    assert (await source.read(f"https://127.0.0.1:{port}/", None)).skipped == "TLS"
    await source.close()
    await runner.cleanup()


# Manners


async def test_no_more_connections_to_a_host_than_allowed(site: Any, pages: Any, ask: Any) -> None:
    at_once = most = 0

    async def counting(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1
        answer: web.StreamResponse = await pages.answers(pages.article())(request)
        return answer

    site.paths |= {f"/{number}": counting for number in range(8)}
    args = [("allow", "127.0.0.1"), ("delay", "0"), ("per_host", "3")]
    answerer = open_pages("web", args).answerer
    replies = await asyncio.gather(*(ask(answerer, f"{site.url}/{number}") for number in range(8)))
    await answerer.close()
    assert all(page_of(reply).text for reply in replies)
    assert most == 3
    assert site.seen["/robots.txt"] == 1
