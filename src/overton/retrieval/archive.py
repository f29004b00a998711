"""An archive of a run's queries, hits and pages, in a WARC file (ISO 28500) that standard tools can open.

Records are only appended. Each record is a separate gzip member, written in one piece:

- `request` and `response` for each exchange with the web, robots.txt and redirects included, as received;
- `resource` for a page of a local collection (its text), and for the ranked hits of a query (JSON);
- `metadata` (JSON, a `Page`) for each page: the page as given to the model, or the reason why it was not given.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

import msgspec
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from overton.calls import Hit, Page
from overton.errors import RunError, Unreadable, UnreadableRun
from overton.retrieval.limits import ARCHIVE
from overton.retrieval.warc import record_heads
from overton.untrusted import opened
from overton.version import __version__

if TYPE_CHECKING:
    from overton.retrieval.http import Exchange


TORN = "pages.torn"
"""The file for incomplete records of killed sessions."""

_JSON = "application/json"


class ArchivedHits(msgspec.Struct, frozen=True):
    """The hits of one query, as archived; `engine` is the identity of the search engine."""

    query: str
    engine: str
    hits: tuple[Hit, ...]


def hex_digest(body: bytes) -> str:
    """The SHA-256 under which the archive stores a body, in hexadecimal."""
    return sha256(body).hexdigest()


def query_urn(query: str) -> str:
    """The URI of the record with a query's hits."""
    return f"urn:x-overton:search:{quote(query, safe='')}"


class Archive:
    """A run's archive, open for appending. Several archive objects of a process may have the same file open.

    If a killed session left an incomplete record at the end, the record is moved into `pages.torn`. Complete records
    survive a kill. A power failure may lose records that were appended since the archive was last closed.

    Raises:
        RunError: the folder cannot be written to, or the archive is damaged in a way that a kill does not explain. A
            damaged archive is left unchanged.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ARCHIVE
        self._file: BinaryIO | None = None
        try:
            with _file_lock:
                self._stored_keys = self._repair()
            self._file = opened(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            empty = os.fstat(self._file.fileno()).st_size == 0
        except OSError as error:
            raise RunError(f"{self.path} cannot be written to: {error.strerror}") from error
        except Unreadable as error:
            raise UnreadableRun(str(error)) from None
        if empty:
            self._write([_warcinfo_record()])

    def exchange(self, exchange: Exchange) -> None:
        """Store a request and its response as sent and received."""
        self._write(_exchange_records(exchange))

    def page(self, page: Page) -> None:
        """Store a page as given to the model, or the reason why it was not given."""
        self._add_once(page.url, "metadata", msgspec.json.encode(page), _JSON)

    def text(self, url: str, body: bytes) -> None:
        """Store the body of a collection's page."""
        self._add_once(url, "resource", body, "text/plain; charset=utf-8")

    def hits(self, ranked: ArchivedHits) -> None:
        """Store the hits of a query."""
        self._add_once(query_urn(ranked.query), "resource", msgspec.json.encode(ranked), _JSON)

    def close(self) -> None:
        """Sync everything to disk, and close the archive."""
        file, self._file = self._file, None
        if file is not None:
            with file:
                os.fsync(file.fileno())

    def _repair(self) -> set[bytes]:
        """Move an incomplete last record aside. Return the keys of the existing records that must not be stored
        twice."""
        kept: set[bytes] = set()
        try:
            for record in record_heads(self.path) if self.path.exists() else ():
                if record.kind in _STORED_ONCE:
                    kept.add(_hash_parts(record.kind, record.uri, record.digest))
        except Unreadable as error:
            if not error.ends_early:
                raise UnreadableRun(_damage_message(self.path, error)) from None
            self._move_torn_end(error.byte or 0)
        return kept

    def _move_torn_end(self, start: int) -> None:
        """Move everything from `start` on into a separate file. This part is usually useless, but data is never deleted
        silently."""
        with opened(self.path) as file, opened(self.path.with_name(TORN), os.O_WRONLY | os.O_CREAT | os.O_APPEND) as to:
            file.seek(start)
            copyfileobj(file, to)
            to.flush()
            os.fsync(to.fileno())
        os.truncate(self.path, start)

    def _add_once(self, uri: str, kind: str, payload: bytes, content_type: str) -> None:
        """Add a record unless it exists already, because thousands of trials may read the same page of a collection."""
        digest = f"sha256:{hex_digest(payload)}"
        key = _hash_parts(kind, uri, digest)
        if key not in self._stored_keys:
            self._write([_make_record(kind, uri, payload, content_type, digest)])
            self._stored_keys.add(key)

    def _write(self, records: Sequence[bytes]) -> None:
        if self._file is None:
            raise RunError(f"{self.path} is closed")
        try:
            _append(self._file.fileno(), b"".join(records))
        except OSError as error:
            raise RunError(
                f"{self.path} could not be written: {error.strerror}. Free some space or repair the disk, then resume"
            ) from error


_STORED_ONCE = {"resource", "metadata"}


def _damage_message(path: Path, error: Unreadable) -> str:
    return (
        f"{path} is damaged at byte {error.byte or 0:,}: {error.reason}. It was not changed. Replace it with an intact"
        " copy, or move it out of the folder; the run then continues with a new archive"
    )


def _hash_parts(*parts: str) -> bytes:
    return sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:16]


def _warcinfo_record() -> bytes:
    sink = BytesIO()
    writer = WARCWriter(sink, gzip=True, warc_version="1.1")
    info = {"software": f"overton/{__version__}", "format": "WARC File Format 1.1"}
    writer.write_record(writer.create_warcinfo_record(ARCHIVE, info))
    return sink.getvalue()


def _make_record(kind: str, uri: str, payload: bytes, content_type: str, digest: str) -> bytes:
    sink = BytesIO()
    writer = WARCWriter(sink, gzip=True, warc_version="1.1")
    record = writer.create_warc_record(
        "".join(character if character.isprintable() else " " for character in uri),
        kind,
        payload=BytesIO(payload),
        length=len(payload),
        warc_content_type=content_type,
        warc_headers_dict={"WARC-Payload-Digest": digest},
    )
    writer.write_record(record)
    return sink.getvalue()


def _exchange_records(exchange: Exchange) -> list[bytes]:
    """The records of a response and its request, which refer to each other. Each is a separate gzip member."""
    writer = WARCWriter(BytesIO(), gzip=True, warc_version="1.1")
    digest = {"WARC-Payload-Digest": f"sha256:{hex_digest(exchange.body)}"}
    cut = {"WARC-Truncated": exchange.truncated} if exchange.truncated else {}
    response = writer.create_warc_record(
        str(exchange.url),
        "response",
        payload=BytesIO(exchange.body),
        length=len(exchange.body),
        warc_headers_dict=digest | cut,
        http_headers=_RawHead(_response_head(exchange)),
    )
    request = writer.create_warc_record(
        str(exchange.url),
        "request",
        warc_headers_dict={
            "WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID"),
            "WARC-Date": response.rec_headers.get_header("WARC-Date"),
        },
        http_headers=StatusAndHeaders(
            f"GET {exchange.url.raw_path_qs} HTTP/1.1", list(exchange.request), is_http_request=True
        ),
    )
    return [_write_record(response), _write_record(request)]


def _write_record(record: ArcWarcRecord) -> bytes:
    sink = BytesIO()
    WARCWriter(sink, gzip=True, warc_version="1.1").write_record(record)
    return sink.getvalue()


class _RawHead(StatusAndHeaders):  # type: ignore[misc]  # warcio has no types
    """The head of a response, with any bytes that a site put into it."""

    def __init__(self, head: bytes) -> None:
        super().__init__("as it came", [])
        self._head = head

    def compute_headers_buffer(self, header_filter: object = None) -> None:
        """Return the head as received. warcio itself would write only ASCII headers."""
        self.headers_buff = self._head


def _response_head(exchange: Exchange) -> bytes:
    """The status line and headers. Headers that describe the framing of the transfer are renamed, because the stored
    body no longer has this framing."""
    framing = {"transfer-encoding"} | ({"content-length"} if exchange.truncated else set())
    status = exchange.reason.encode("utf-8", "surrogateescape")
    lines = [f"{exchange.version} {exchange.status} ".encode() + status]
    for name, value in exchange.headers:
        kept = f"X-Archive-Orig-{name}" if name.lower() in framing else name
        lines.append(f"{kept}: {value}".encode("latin-1", "replace"))
    return b"".join(line.translate(_NO_LINE_ENDS) + b"\r\n" for line in [*lines, b""])


_NO_LINE_ENDS = bytes.maketrans(b"\r\n\0", b"   ")


_file_lock = threading.Lock()


def _append(descriptor: int, content: bytes) -> None:
    """Append to a file opened for appending, entirely or not at all, from any thread.

    Raises:
        OSError: the data cannot be written, for example because the disk is full.
    """
    with _file_lock:
        before = os.fstat(descriptor).st_size
        try:
            while content:  # a single pass, unless the disk fills up
                content = content[os.write(descriptor, content) :]
        except OSError:
            os.ftruncate(descriptor, before)
            raise
