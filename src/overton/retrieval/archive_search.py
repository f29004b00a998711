"""Another run's archive as a search engine and as a source of pages. A query returns the hits that the same query
returned in the archived run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from warcio.bufferedreaders import ChunkedDataReader
from warcio.recordloader import ArcWarcRecord

from overton.calls import Hit, Page
from overton.errors import AccessError, InputError, Problem, RejectedError, Unreadable
from overton.retrieval.address_guard import join_address, parsed_address
from overton.retrieval.archive import Archive, ArchivedHits, query_urn
from overton.retrieval.http import Exchange
from overton.retrieval.limits import ARCHIVE, FetchLimits, PageSkipped
from overton.retrieval.page_process import ExtractionProcesses
from overton.retrieval.warc import LONGEST_HEAD, RecordHead, record_at, record_heads
from overton.retrieval.web import REDIRECTS, read_exchange
from overton.untrusted import Limit, decode_json

_MAX_PARTS_WITHOUT_RECORD = 10_000
"""After this many compressed parts without a record, a file does not count as an archive. An empty part has only twenty
bytes, so reading gigabytes of empty parts would take many minutes."""

_REDIRECT_STATUSES = set(map(str, REDIRECTS))
_QUERY_PREFIX = query_urn("")


class RecordPlace(NamedTuple):
    """The position of a record in the file, and the digest of its content as stated in the record."""

    start: int
    digest: str


class ArchiveIndex(NamedTuple):
    """The content of an archive: hits by the name of the query, pages and responses by address.

    If a query or an address has several records, the last one counts. `pages` are pages as given to a model;
    `responses` are responses from the web.
    """

    path: Path
    hits: dict[str, RecordPlace]
    pages: dict[str, RecordPlace]
    responses: dict[str, RecordPlace]

    @property
    def hits_digest(self) -> str:
        """The SHA-256 of everything that a search can return, in hexadecimal."""
        return _digest_records(self.hits)

    @property
    def pages_digest(self) -> str:
        """The SHA-256 of all pages that can be read, in hexadecimal."""
        return _digest_records(self.responses | self.pages)


def archive_file(run: Path) -> Path:
    """The archive of a run folder, or the WARC file itself.

    Raises:
        InputError: there is no archive.
    """
    path = run / ARCHIVE if run.is_dir() else run
    if not path.is_file():
        raise InputError(
            [Problem("archive", str(run), (f"there is no {ARCHIVE}; name a run that searched or read pages"))]
        )
    return path


def contents_of(path: Path) -> ArchiveIndex:
    """Index an archive in one pass. An incomplete last record, which a killed session left, is ignored.

    Raises:
        InputError: the archive cannot be read, is damaged, or has no records.
    """
    contents = ArchiveIndex(path, {}, {}, {})
    found = 0
    try:
        for number, record in enumerate(record_heads(path), 1):
            found += bool(record.kind)
            if not found and number > _MAX_PARTS_WITHOUT_RECORD:
                break
            _note_record(contents, record)
    except OSError as error:
        raise InputError([Problem("archive", str(path), f"cannot be read: {error.strerror}")]) from error
    except Unreadable as error:
        if found and not error.ends_early:
            reason = f"is damaged at byte {error.byte or 0:,} ({error.reason}): use a sound copy"
            raise InputError([Problem("archive", str(path), reason)]) from None
    if not found:
        reason = "does not contain separately compressed WARC records, as .warc.gz files do"
        raise InputError([Problem("archive", str(path), reason)])
    return contents


def _note_record(contents: ArchiveIndex, record: RecordHead) -> None:
    place = RecordPlace(record.start, record.digest)
    if record.kind == "resource" and record.uri.startswith(_QUERY_PREFIX):
        contents.hits[record.uri] = place
    elif record.kind == "metadata" and record.content_type == "application/json":
        contents.pages[record.uri] = place
    elif record.kind == "response":
        contents.responses[record.uri] = place


def _digest_records(places: dict[str, RecordPlace]) -> str:
    whole = sha256()
    for uri, place in sorted(places.items()):
        whole.update(f"{place.digest} {uri}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


class ArchivedSearch:
    """A search engine that answers the queries of an archived run with the hits in the archive."""

    def __init__(self, load: Callable[[], ArchiveIndex], identity: str, top: int) -> None:
        self.identity = f"{identity}+top{top}"
        self._load = load
        self._top = top

    @cached_property
    def _contents(self) -> ArchiveIndex:
        return self._load()

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits that the archived run got for exactly this query.

        Raises:
            RejectedError: the archived run did not make this query.
        """
        place = self._contents.hits.get(query_urn(query))
        if place is None:
            raise RejectedError(
                "not archived", f"the archive {self._contents.path} has no hits for the query {query[:200]!r}"
            )
        path = self._contents.path
        try:
            ranked = decode_json(_read_record(path, place, _HITS_LIMIT).raw_stream.read(), _decode_ranked)
        except Unreadable as error:
            said = f"the archive {path} cannot be read at byte {place.start:,}: {error.reason}"
            raise RejectedError("damaged", said) from None
        return ranked.hits[: self._top]

    async def close(self) -> None:
        """Nothing to release."""


class ArchivedPages:
    """A page source that returns pages as the archived run read them. If the archive has only web responses, the pages
    are extracted from the responses."""

    def __init__(self, load: Callable[[], ArchiveIndex], identity: str, limits: FetchLimits) -> None:
        self.identity = identity
        self._load = load
        self._limits = limits
        self._readers = ExtractionProcesses()

    @cached_property
    def _contents(self) -> ArchiveIndex:
        return self._load()

    async def read(self, url: str, archive: Archive | None) -> Page:
        """The page at `url`. A page that is not in the archive counts as skipped."""
        try:
            record = self._find_record(self._contents.pages, url)
            return await self._read_from_responses(url) if record is None else _read_page(record)
        except PageSkipped as unread:
            return Page(url, skipped=unread.reason)

    async def _read_from_responses(self, url: str) -> Page:
        address = url
        for _ in range(self._limits.redirects + 1):
            record = self._find_record(self._contents.responses, address)
            if record is None or record.http_headers is None:
                raise PageSkipped("not in the archive")
            target = record.http_headers.get_header("Location")
            if record.http_headers.get_statuscode() not in _REDIRECT_STATUSES or not target:
                return await read_exchange(self._readers, url, _exchange_of(address, record), self._limits)
            address = join_address(parsed_address(address), target)
        raise PageSkipped("too many redirects")

    def _find_record(self, places: dict[str, RecordPlace], uri: str) -> ArcWarcRecord | None:
        place = places.get(uri)
        if place is None:
            return None
        try:
            return _read_record(
                self._contents.path, place, Limit(_MAX_EXPANSION * self._limits.max_bytes + LONGEST_HEAD)
            )
        except Unreadable as error:
            raise PageSkipped("too large" if error.too_large else "damaged in the archive") from None

    async def close(self) -> None:
        """Stop the processes that extract text."""
        await self._readers.close()


_HITS_LIMIT = Limit(1 << 24)
_MAX_EXPANSION = 4  # one byte of a fetched page becomes at most so many bytes of JSON text
_decode_ranked = msgspec.json.Decoder(ArchivedHits).decode
_decode_page = msgspec.json.Decoder(Page).decode


def _read_record(path: Path, place: RecordPlace, limit: Limit) -> ArcWarcRecord:
    """The record at a place.

    Raises:
        Unreadable: the place no longer has a record within the size limit.
        AccessError: the file can no longer be read.
    """
    try:
        return record_at(path, place.start, limit)
    except OSError as error:
        raise AccessError("archive", f"the archive {path} cannot be read: {error.strerror}") from error


def _read_page(record: ArcWarcRecord) -> Page:
    try:
        return decode_json(record.raw_stream.read(), _decode_page)
    except Unreadable:
        raise PageSkipped("not in the archive") from None  # metadata that another tool wrote about the page


def _exchange_of(address: str, record: ArcWarcRecord) -> Exchange:
    """The exchange in a response record.

    Raises:
        PageSkipped: the response is an error or a redirect, or is incomplete.
    """
    status = record.http_headers.get_statuscode()
    if status != "200":
        raise PageSkipped(f"HTTP {status}")
    if record.rec_headers.get_header("WARC-Truncated"):
        raise PageSkipped("not whole in the archive")
    return Exchange(
        parsed_address(address), (), "HTTP/1.1", 200, "", tuple(record.http_headers.headers), _body_of(record)
    )


def _body_of(record: ArcWarcRecord) -> bytes:
    """The body as received, without the chunk framing that other tools keep."""
    framed = "chunked" in (record.http_headers.get_header("Transfer-Encoding") or "").lower()
    content: bytes = ChunkedDataReader(record.raw_stream).read() if framed else record.raw_stream.read()
    return content
