"""The archive: standard records, safe to kill, and enough to run another model on the same pages."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from yarl import URL

from overton.calls import Hit, Page, Reply, hits_of, page_of
from overton.errors import InputError, RejectedError, RunError, Unreadable
from overton.retrieval import open_pages, open_search
from overton.retrieval.archive import TORN, Archive, ArchivedHits
from overton.retrieval.archive_search import contents_of
from overton.retrieval.http import Exchange
from overton.retrieval.limits import ARCHIVE
from overton.retrieval.warc import record_at, record_heads
from overton.untrusted import GzipMember, Limit
from overton.untrusted import members as members_of

Ask = Callable[[Any, str], Awaitable[Reply]]


def records(folder: Path) -> list[tuple[str, str]]:
    """Type and address of every record, as a standard tool reads them, digests verified."""
    found = []
    with (folder / ARCHIVE).open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            found.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or ""))
    return found


def members(path: Path) -> list[GzipMember]:
    """All members of a whole archive."""
    return list(members_of([path.read_bytes()], 31, Limit(1 << 24)))


@pytest.fixture
def web(site: Any) -> Any:
    args = [("allow", "127.0.0.1"), ("delay", "0"), ("timeout", "5")]
    return open_pages("web", args)


async def test_everything_that_goes_over_the_wire_is_kept(
    site: Any, web: Any, ask: Ask, pages: Any, tmp_path: Path
) -> None:
    site.paths |= {"/old": pages.answers(status=302, Location="/new")}
    site.paths |= {"/new": pages.answers(gzip.compress(pages.article().encode()), Content_Encoding="gzip")}
    web.keep_in(tmp_path)
    await ask(web.answerer, f"{site.url}/old")
    await web.answerer.close()
    assert records(tmp_path) == [
        ("warcinfo", ""),
        *[(kind, f"{site.url}/robots.txt") for kind in ("response", "request")],
        *[(kind, f"{site.url}/old") for kind in ("response", "request")],
        *[(kind, f"{site.url}/new") for kind in ("response", "request")],
        ("metadata", f"{site.url}/old"),
    ]


async def test_a_body_is_kept_as_it_came_and_found_by_its_digest(
    site: Any, web: Any, ask: Ask, pages: Any, tmp_path: Path
) -> None:
    body = gzip.compress(pages.article().encode())
    site.paths["/"] = pages.answers(body, Content_Encoding="gzip")
    web.keep_in(tmp_path)
    page = page_of(await ask(web.answerer, f"{site.url}/"))
    await web.answerer.close()
    with (tmp_path / ARCHIVE).open("rb") as file:
        (kept,) = [
            (record.rec_headers.get_header("WARC-Payload-Digest"), record.raw_stream.read())
            for record in ArchiveIterator(file)
            if record.rec_type == "response" and record.rec_headers.get_header("WARC-Target-URI") == f"{site.url}/"
        ]
    assert kept == (f"sha256:{page.digest}", body)
    assert page.digest == sha256(body).hexdigest()


async def test_another_run_reads_the_same_pages_without_the_network(
    site: Any, web: Any, ask: Ask, pages: Any, tmp_path: Path
) -> None:
    site.paths |= {
        "/a": pages.answers(pages.article()),
        "/b.pdf": pages.answers(b"%PDF-", content_type="application/pdf"),
    }
    web.keep_in(tmp_path)
    addresses = [f"{site.url}/a", f"{site.url}/b.pdf", f"{site.url}/gone", "http://10.0.0.1/"]
    first = [(await ask(web.answerer, address)).text for address in addresses]
    await web.answerer.close()
    seen = site.seen.copy()
    archived = open_pages(f"archive/{tmp_path}").answerer
    assert [(await ask(archived, address)).text for address in addresses] == first
    assert page_of(await ask(archived, f"{site.url}/never")).skipped == "not in the archive"
    await archived.close()
    assert site.seen == seen


async def test_pages_of_other_tools_archives_are_parsed_again(
    site: Any, web: Any, ask: Ask, pages: Any, tmp_path: Path
) -> None:
    """Another crawler's archive has responses, but no pages as a model saw them."""
    site.paths |= {"/old": pages.answers(status=301, Location="/new"), "/new": pages.answers(pages.article())}
    web.keep_in(tmp_path)
    read = page_of(await ask(web.answerer, f"{site.url}/old"))
    await web.answerer.close()
    path = tmp_path / "other.warc.gz"
    kept = [gzip.compress(m.content) for m in members(tmp_path / ARCHIVE) if b"WARC-Type: metadata" not in m.content]
    path.write_bytes(b"".join(kept))
    archived = open_pages(f"archive/{path}").answerer
    assert page_of(await ask(archived, f"{site.url}/old")) == read
    assert page_of(await ask(archived, f"{site.url}/robots.txt")).skipped == "HTTP 404"
    await archived.close()


async def test_chunks_that_another_tool_kept_are_put_together(ask: Ask, pages: Any, tmp_path: Path) -> None:
    body = pages.article().encode()
    chunks = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (100, body[:100], len(body) - 100, body[100:])
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2021-03-04T00:00:00Z\r\n"
    head += "WARC-Record-ID: <urn:uuid:6f9a2f3e-0000-4000-8000-000000000000>\r\n"
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    path = tmp_path / "other.warc.gz"
    path.write_bytes(gzip.compress(head.encode() + http + b"\r\n\r\n"))
    archived = open_pages(f"archive/{path}").answerer
    page = page_of(await ask(archived, "http://a.test/"))
    await archived.close()
    assert all(paragraph in page.text for paragraph in pages.paragraphs)
    assert page.digest == sha256(body).hexdigest()


async def test_another_run_finds_the_same_hits(ask: Ask, tmp_path: Path) -> None:
    live = open_search("starter", top=4)
    live.keep_in(tmp_path)
    first = await ask(live.answerer, "  mindfulness in\nschools ")
    await live.answerer.close()
    archived = open_search(f"archive/{tmp_path}").answerer
    assert hits_of(await ask(archived, "mindfulness in schools")) == hits_of(first)
    assert len(hits_of(first)) == 4
    with pytest.raises(RejectedError, match="has no hits for the query 'something else'"):
        await ask(archived, "something else")


async def test_a_collections_pages_are_kept_once_and_serve_another_run(ask: Ask, tmp_path: Path) -> None:
    search, source = open_search("starter"), open_pages("starter")
    search.keep_in(tmp_path)
    source.keep_in(tmp_path)
    hits = hits_of(await ask(search.answerer, "mindfulness"))
    replies = [await ask(source.answerer, hit.url) for _ in range(2) for hit in hits]
    await search.answerer.close()
    await source.answerer.close()
    kept = records(tmp_path)
    assert len(kept) == len(set(kept)) == 1 + 1 + 2 * len(hits)
    archived = open_pages(f"archive/{tmp_path}").answerer
    assert [await ask(archived, hit.url) for hit in hits] == replies[: len(hits)]


async def test_a_session_that_goes_on_keeps_nothing_twice(ask: Ask, tmp_path: Path) -> None:
    for _ in range(2):
        search = open_search("starter")
        search.keep_in(tmp_path)
        await ask(search.answerer, "mindfulness")
        await search.answerer.close()
    assert [kind for kind, _ in records(tmp_path)] == ["warcinfo", "resource"]


@pytest.mark.parametrize("left", [1, 5, 20, 60])
def test_torn_end_after_a_kill_is_put_aside_and_the_rest_stays(left: int, tmp_path: Path) -> None:
    path = tmp_path / ARCHIVE
    archive = Archive(tmp_path)
    for number in range(3):
        archive.page(Page(f"http://a.test/{number}", text=f"Text {number}"))
    archive.close()
    whole = members(path)
    os.truncate(path, whole[-1].start + left)
    torn = path.read_bytes()[whole[-1].start :]
    again = Archive(tmp_path)
    again.page(Page("http://a.test/2", text="Text 2"))
    again.page(Page("http://a.test/0", text="Text 0"))
    again.close()
    assert records(tmp_path) == [("warcinfo", ""), *[("metadata", f"http://a.test/{number}") for number in range(3)]]
    assert (tmp_path / TORN).read_bytes() == torn


def test_a_killed_process_loses_nothing_that_it_had_added(tmp_path: Path) -> None:
    adding = (
        "import itertools, pathlib, sys\n"
        "from overton.calls import Page\n"
        "from overton.retrieval.archive import Archive\n"
        "archive = Archive(pathlib.Path(sys.argv[1]))\n"
        "for n in itertools.count():\n"
        "    archive.page(Page(f'http://a.test/{n}', text=str(n) * 1000))\n"
        "    print(n, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", adding, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(50)]
    process.kill()
    told += [int(line) for line in process.stdout.read().splitlines() if line]
    process.wait()
    Archive(tmp_path).close()
    kept = [uri for kind, uri in records(tmp_path) if kind == "metadata"]
    assert kept[: len(told)] == [f"http://a.test/{n}" for n in told]


async def test_an_archive_that_ends_torn_can_be_read_as_far_as_it_goes(ask: Ask, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for number in range(2):
        archive.page(Page(f"http://a.test/{number}", text=f"Text {number}"))
    archive.close()
    os.truncate(tmp_path / ARCHIVE, (tmp_path / ARCHIVE).stat().st_size - 3)
    archived = open_pages(f"archive/{tmp_path}").answerer
    assert page_of(await ask(archived, "http://a.test/0")).text == "Text 0"
    assert page_of(await ask(archived, "http://a.test/1")).skipped == "not in the archive"


def test_several_may_append_to_one_archive(tmp_path: Path) -> None:
    one, other = Archive(tmp_path), Archive(tmp_path)
    for number in range(3):
        one.page(Page(f"http://one.test/{number}"))
        other.hits(ArchivedHits(f"query {number}", "starter", (Hit("http://one.test/"),)))
    one.close()
    other.close()
    assert len(records(tmp_path)) == 7


def test_addresses_and_queries_cannot_break_out_of_a_record(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.page(
        Page("http://a.test/\r\nWARC-Type: response\r\n\r\nfalse", text="ü \ud800".encode("utf-8", "replace").decode())
    )
    archive.hits(ArchivedHits("a\r\nb: c ü", "starter", ()))
    archive.close()
    assert [kind for kind, _ in records(tmp_path)] == ["warcinfo", "metadata", "resource"]


def test_closed_archive_and_missing_folder_raise_run_errors(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.close()
    with pytest.raises(RunError, match="is closed"):
        archive.page(Page("http://a.test/"))
    with pytest.raises(RunError, match="cannot be written to"):
        Archive(tmp_path / "nowhere")


def test_identities_follow_from_an_archive_s_content(tmp_path: Path) -> None:
    for name, texts in {"a": ["x", "y"], "b": ["y", "x"], "c": ["x", "z"]}.items():
        (tmp_path / name).mkdir()
        archive = Archive(tmp_path / name)
        for text in texts:
            archive.page(Page(f"http://a.test/{text}", text=text))
        archive.close()
    identities = [open_pages(f"archive/{tmp_path / name}").answerer.identity for name in "abc"]
    assert identities[0] == identities[1] != identities[2]
    assert str(tmp_path) not in identities[0]


def test_folders_and_files_without_an_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no pages\.warc\.gz"):
        open_search(f"archive/{tmp_path}")
    (tmp_path / ARCHIVE).write_bytes(b"not gzip at all")
    with pytest.raises(InputError, match="does not contain separately compressed WARC records"):
        open_pages(f"archive/{tmp_path}")


@pytest.mark.hostile
async def test_an_archive_that_misleads_is_read_no_further(ask: Ask, tmp_path: Path) -> None:
    """Another tool's records may contain anything."""

    def record(kind: str, content_type: str, block: bytes) -> bytes:
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2021-03-04T00:00:00Z\r\n"
        )
        head += f"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
        return gzip.compress(head.encode() + block + b"\r\n\r\n")

    response = "application/http; msgtype=response"
    for name, member, reason in (
        ("notes", record("metadata", "application/json", b'{"seen": "by another tool"}'), "not in the archive"),
        ("loop", record("response", response, b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), "too many redirects"),
        ("odd", record("response", response, b"HTTP/1.1 302 Found\r\nLocation: http://[x\r\n\r\n"), "invalid address"),
    ):
        path = tmp_path / f"{name}.warc.gz"
        path.write_bytes(member)
        archived = open_pages(f"archive/{path}").answerer
        assert page_of(await ask(archived, "http://a.test/")).skipped == reason


def filled(folder: Path, pages: int = 6) -> bytes:
    """An archive with some pages, one of them a gzip body within the record."""
    archive = Archive(folder)
    for number in range(pages):
        archive.page(Page(f"http://a.test/{number}", text=f"Text {number} " + "word " * (200 * (number % 3))))
        archive.exchange(
            Exchange(URL(f"http://a.test/{number}"), (), "HTTP/1.1", 200, "OK", (), gzip.compress(b"x" * 3000))
        )
    archive.close()
    return (folder / ARCHIVE).read_bytes()


@pytest.mark.hostile
def test_no_flipped_byte_ever_makes_a_resume_cut_an_archive(tmp_path: Path) -> None:
    """Each is either reported as damage, with nothing changed, or only the last record, which is moved aside."""
    sound = filled(tmp_path)
    path, aside = tmp_path / ARCHIVE, tmp_path / TORN
    last = members(path)[-1].start
    chance, named = random.Random(12), 0
    for place in sorted(chance.sample(range(len(sound)), 200)):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        aside.unlink(missing_ok=True)
        try:
            Archive(tmp_path).close()
        except RunError as error:
            named += f"{path} is damaged at byte " in str(error)
            assert path.read_bytes() == damaged
            assert not aside.exists()
        else:
            kept = aside.read_bytes() if aside.exists() else b""
            assert path.read_bytes() + kept == damaged
            assert not kept or place >= last
    assert named > 175


@pytest.mark.parametrize("spec", ["search", "pages"])
def test_a_damaged_archive_of_another_run_is_named_with_its_place(spec: str, tmp_path: Path) -> None:
    damaged = bytearray(filled(tmp_path))
    start = members(tmp_path / ARCHIVE)[3].start
    damaged[start + 40] ^= 0xFF
    (tmp_path / ARCHIVE).write_bytes(damaged)
    with pytest.raises(InputError, match=f"is damaged at byte {start:,} .*: use a sound copy"):
        (open_search if spec == "search" else open_pages)(f"archive/{tmp_path}")


def bomb(kind: str, uri: str, content_type: str, mebibytes: int = 30) -> bytes:
    """A record of this many MiB that takes a thousandth of that in a file."""
    press = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nContent-Type: {content_type}\r\n"
    head += f"Content-Length: {mebibytes << 20}\r\n\r\n"
    pieces = [head.encode(), *[b" " * (1 << 20)] * mebibytes, b"\r\n\r\n"]
    return b"".join([*map(press.compress, pieces), press.flush()])


@pytest.mark.hostile
async def test_a_bomb_in_an_archive_takes_no_memory(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "bomb.warc.gz"
    search = bomb("resource", "urn:x-overton:search:q", "application/json")
    path.write_bytes(search + bomb("metadata", "http://a.test/", "application/json"))
    tracemalloc.start()
    archived, found = open_pages(f"archive/{path}").answerer, open_search(f"archive/{path}").answerer
    assert page_of(await ask(archived, "http://a.test/")).skipped == "too large"
    with pytest.raises(RejectedError, match="is larger than"):
        await ask(found, "q")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20


async def test_unreadable_hits_are_a_rejection_that_names_the_byte(ask: Ask, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.hits(ArchivedHits("q", "test", (Hit("http://a.test/"),)))
    archive.close()
    warcinfo, hits = members(tmp_path / ARCHIVE)
    spoiled = hits.content.replace(b'{"query"', b'{"\xff\xfe"+')
    (tmp_path / ARCHIVE).write_bytes(gzip.compress(warcinfo.content) + gzip.compress(spoiled))
    found = open_search(f"archive/{tmp_path}").answerer
    with pytest.raises(RejectedError, match=r"cannot be read at byte \d+: "):
        await ask(found, "q")


@pytest.mark.hostile
@given(data=st.data())
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_record_is_read_or_passed_over(data: st.DataObject, tmp_path: Path) -> None:
    """Records that lack what their type must have, or contain anything else, in complete members."""
    lines = st.sampled_from(
        [
            b"WARC-Type: response",
            b"WARC-Type: metadata",
            b"WARC-Type: \xff",
            b"WARC-Target-URI: http://a.test/",
            b"WARC-Target-URI: http://[]@",
            b"WARC-Target-URI:",
            b"Content-Type: application/http",
            b"Content-Length: 7",
            b"Content-Length: -7",
            b"Content-Length: 9" + b"9" * 5000,
            b"Content-Length: x",
            b"no colon",
            b"\x00",
        ]
    )
    blocks = st.sampled_from(
        [b"", b"HTTP/1.1 200 OK\r\n\r\nx", b"HTTP/9", b"HTTP/1.1 302 x\r\nLocation: //[]@\r\n\r\n"]
    )
    head = data.draw(st.sampled_from([b"WARC/1.0", b"WARC/9", b"", b"\xff", b"filedesc://x"]))
    content = b"\r\n".join([head, *data.draw(st.lists(lines, max_size=8)), b"", data.draw(blocks | st.binary())])
    path = tmp_path / ARCHIVE
    path.write_bytes(gzip.compress(content))
    for record in record_heads(path):
        with suppress(Unreadable):
            found = record_at(path, record.start, Limit(1 << 20))
            assert isinstance(found.raw_stream.read(), bytes)
    try:
        contents_of(path)
    except InputError as error:
        assert "does not contain separately compressed WARC records" in str(error)  # noqa: PT017
    Archive(tmp_path).close()


@pytest.mark.hostile
def test_an_archive_of_empty_parts_is_given_up_early(tmp_path: Path) -> None:
    """A gigabyte of them would be read for a quarter of an hour."""
    path = tmp_path / "empty.warc.gz"
    path.write_bytes(gzip.compress(b"") * 10_002 + filled(tmp_path))
    with pytest.raises(InputError, match="does not contain separately compressed WARC records"):
        contents_of(path)
