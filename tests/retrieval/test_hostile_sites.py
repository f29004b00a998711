"""A website or a search service may send any bytes: a page becomes an answer with a reason, a search our error.

Responses are archived as received, and can be read again.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from yarl import URL

from overton.calls import Page, Reply, hits_of, page_of
from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError
from overton.retrieval import open_pages, open_search
from overton.retrieval.address_guard import check_address, join_address, parsed_address
from overton.retrieval.limits import ARCHIVE, FetchLimits, PageSkipped, inflate

pytestmark = pytest.mark.hostile

Ask = Callable[[Any, str], Awaitable[Reply]]
KEY = "BSA-test/0123456789+abcdefghij"


class Raw:
    """Answers every request with the bytes of `answer`, robots.txt with a 404."""

    port = 0
    answer = b""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        robots = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        writer.write(robots if b"/robots.txt" in head else self.answer)
        await writer.drain()
        writer.close()

    def says(self, status: bytes, *headers: bytes, body: bytes = b"") -> None:
        lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body), b"Connection: close", b"", body]
        self.answer = b"\r\n".join(lines)


@pytest.fixture
async def raw() -> AsyncIterator[Raw]:
    made = Raw()
    server = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


@pytest.fixture
async def read(raw: Raw, ask: Ask, tmp_path: Path) -> AsyncIterator[Callable[[str], Awaitable[Page]]]:
    web = open_pages("web", [("allow", "127.0.0.1"), ("delay", "0"), ("timeout", "2")])
    web.keep_in(tmp_path)

    async def reading(address: str) -> Page:
        return page_of(await ask(web.answerer, address))

    yield reading
    await web.answerer.close()


ACCENTS = "404 Página não encontrada"


@pytest.mark.parametrize(
    ("status", "skipped"),
    [
        (ACCENTS.encode(), "HTTP 404"),
        (ACCENTS.encode("latin-1"), "HTTP 404"),
        (b"410 \xff\xfe\xed\xa0\x80\x1b[2J", "HTTP 410"),
        (b"404 " + b"x" * 5000, "HTTP 404"),
    ],
)
async def test_a_status_line_of_any_bytes_is_an_answer_and_kept_as_it_came(
    raw: Raw, read: Any, tmp_path: Path, status: bytes, skipped: str
) -> None:
    raw.says(status, b"X-Odd: \xe0\xff\xc3\xa9")
    assert (await read(f"http://127.0.0.1:{raw.port}/")).skipped == skipped
    with (tmp_path / ARCHIVE).open("rb") as file:
        responses = [record for record in ArchiveIterator(file, no_record_parse=True) if record.rec_type == "response"]
        assert len(responses) == 2
    kept = gzip.decompress((tmp_path / ARCHIVE).read_bytes())
    assert b"HTTP/1.1 " + status + b"\r\nX-Odd: \xe0\xff\xc3\xa9\r\n" in kept


NO_ADDRESSES = [
    "http://[]@",
    "//[]@",
    "http://[::ffff:127.1]/",
    "http://[",
    "http://a:b/",
    "http://a:99999/",
    "http://\ud800/",
    "http://[::1]x/",
]


@pytest.mark.parametrize("address", NO_ADDRESSES)
async def test_invalid_address_is_a_skipped_page(read: Any, address: str) -> None:
    if "\ud800" in address:
        with pytest.raises(RejectedError, match="surrogate"):
            await read(address)
    else:
        assert (await read(address)).skipped in {"invalid address", "not http", "private address"}


@pytest.mark.parametrize("address", [one for one in NO_ADDRESSES if one.isascii()])
async def test_a_redirect_to_no_address_is_a_page_that_cannot_be_read(raw: Raw, read: Any, address: str) -> None:
    raw.says(b"302 Found", b"Location: " + address.encode())
    assert (await read(f"http://127.0.0.1:{raw.port}/")).skipped in {"invalid address", "private address"}


_parts = st.sampled_from(
    ["http:", "https:", "//", "/", "[", "]", "@", ":", "::1", "ffff:", "127.1", "%", "?", "#", "é"]
)
_addresses = st.lists(_parts | st.text(max_size=2), max_size=9).map("".join)


@given(_addresses)
@example("http://[]@")
@example("//[]@")
@example("http://[::ffff:127.1]/")
def test_any_text_is_an_address_that_can_be_written_and_read_again_or_unread(text: str) -> None:
    base = URL("http://a.test/b")
    for parse in (parsed_address, lambda one: parsed_address(one, base), lambda one: check_address(one, FetchLimits())):
        try:
            url = parse(text)
        except PageSkipped:
            continue
        assert parsed_address(str(url)) == url
        if url.scheme in ("http", "https") and url.host:  # where redirects come from
            assert parsed_address(join_address(url, "/x")).host == url.host


@given(st.binary(), st.sampled_from(["gzip", "deflate", "gzip, deflate"]), st.booleans())
@settings(max_examples=200)
def test_any_body_is_undone_or_unread(body: bytes, encoding: str, cut: bool) -> None:
    for given_body in (body, gzip.compress(body), gzip.compress(body)[:-3]):
        try:
            assert len(inflate(given_body, encoding, 50, cut=cut)) <= 50
        except PageSkipped:
            continue


# Search services

ODD_ANSWERS = [
    b'{"results":[{"url":"\xff"}]}',
    b"[" * 200_000,
    b'{"results":' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"results":[%b]}' % (b"9" * 5000),
    b'{"error":' * 900 + b"1" + b"}" * 900,
]


@pytest.fixture
def search(raw: Raw, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("SERPER_API_KEY", "BRAVE_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        monkeypatch.setenv(name, KEY)

    async def searching(spec: str, tmp_path: Path | None = None) -> Any:
        at = f"http://127.0.0.1:{raw.port}"
        args = [("timeout", "2")] + ([] if spec == "searxng" else [("base_url", at)])
        found = open_search(f"searxng/{at}" if spec == "searxng" else spec, args, resumed=spec == "google")
        if tmp_path:
            found.keep_in(tmp_path)
        try:
            return hits_of(await ask(found.answerer, "night buses"))
        finally:
            await found.answerer.close()

    return searching


@pytest.mark.parametrize("spec", ["serper", "brave", "google", "searxng"])
@pytest.mark.parametrize("status", [b"200 OK", b"400 \xff", b"429 x", b"500 x"])
async def test_a_search_answer_of_any_bytes_is_hits_or_an_error_of_ours(
    raw: Raw, search: Any, spec: str, status: bytes
) -> None:
    late = b"Retry-After: Wed, 21 Oct 99999999999999999999 07:28:00 GMT"
    spent = (b"X-RateLimit-Remaining: 0", b"X-RateLimit-Reset: " + b"9" * 400)
    for body in ODD_ANSWERS:
        raw.says(status, late, *spent, body=body)
        try:
            assert await search(spec) == ()
        except UnavailableError as error:
            assert error.retry_after is None  # noqa: PT017
        except AnswerError as error:
            assert isinstance(error, AccessError | RejectedError)  # noqa: PT017


async def test_a_compressed_answer_is_read_and_a_bomb_is_not(raw: Raw, search: Any) -> None:
    raw.says(
        b"200 OK", b"Content-Encoding: gzip", body=gzip.compress(b'{"web":{"results":[{"url":"http://a.test/"}]}}')
    )
    assert [hit.url for hit in await search("brave")] == ["http://a.test/"]
    raw.says(b"200 OK", b"Content-Encoding: gzip", body=gzip.compress(b" " * (20 << 20)))
    with pytest.raises(UnavailableError, match="too large"):
        await search("brave")


@pytest.mark.parametrize(
    "echo", [KEY, KEY.replace("/", "\\/"), "".join(f"\\u{ord(c):04x}" for c in KEY), KEY.replace("/", "%2F")]
)
async def test_a_key_that_a_service_echoes_is_in_no_hit_and_no_archive(
    raw: Raw, search: Any, tmp_path: Path, echo: str
) -> None:
    hit = f'{{"url":"http://a.test/?key={echo}","title":"{echo}","description":"your {echo}"}}'
    raw.says(b"200 OK", body=f'{{"web":{{"results":[{hit}]}}}}'.encode())
    (found,) = await search("brave", tmp_path)
    assert (found.url, found.title, found.snippet) == ("http://a.test/?key=[hidden]", "[hidden]", "your [hidden]")
    kept = gzip.decompress((tmp_path / ARCHIVE).read_bytes())
    assert json.dumps(found.snippet).encode() in kept
    assert KEY[:12].encode() not in kept
