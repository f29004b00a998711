"""Everything that a run searched and read, in a WARC file (ISO 28500) that standard tools open.

Records are only ever added, each a gzip member of its own, written in one piece:

- `request` and `response` for each exchange with the web, robots.txt and redirects included, as they came;
- `resource` for a page of a local collection (its text), and for the ranked hits of a query (JSON);
- `metadata` (JSON, a `Page`) for each page as the model was given it, or the reason why it was not.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

import msgspec
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from overton import __version__
from overton.calls import Hit, Page
from overton.errors import RunError

if TYPE_CHECKING:
    from overton.retrieval.wire import Exchange

__all__ = ["ARCHIVE", "Archive", "Ranked", "hex_digest", "member_at", "members", "parsed", "query_urn"]

ARCHIVE = "pages.warc.gz"
"""The archive's name in a run folder."""

_JSON = "application/json"


class Ranked(msgspec.Struct, frozen=True):
    """The hits of one query as the archive keeps them; `engine` is the identity of what was searched."""

    query: str
    engine: str
    hits: tuple[Hit, ...]


def hex_digest(body: bytes) -> str:
    """The SHA-256 under which the archive holds a body, in hexadecimal."""
    return sha256(body).hexdigest()


def query_urn(query: str) -> str:
    """The name under which the archive holds a query's hits."""
    return f"urn:x-overton:search:{quote(query, safe='')}"


class Archive:
    """A run's archive, open for adding to it. Several may have the same file open in one process.

    What an earlier session left torn is cut off. A kill loses nothing that was added before; a power failure may lose
    what the system had not written yet, up to the last close.

    Raises:
        RunError: the folder cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ARCHIVE
        self._descriptor: int | None = None
        try:
            self._kept = self._mended()
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
            empty = os.fstat(self._descriptor).st_size == 0
        except OSError as error:
            raise RunError(f"{self.path} cannot be written to: {error.strerror}") from error
        if empty:
            self._write([_warcinfo()])

    def exchange(self, exchange: Exchange) -> None:
        """Keep a request and its response as they went over the wire."""
        self._write(_exchange_records(exchange))

    def page(self, page: Page) -> None:
        """Keep a page as the model is given it, or why it is not."""
        self._once(page.url, "metadata", msgspec.json.encode(page), _JSON)

    def text(self, url: str, body: bytes) -> None:
        """Keep the body of a collection's page."""
        self._once(url, "resource", body, "text/plain; charset=utf-8")

    def hits(self, ranked: Ranked) -> None:
        """Keep the hits of a query."""
        self._once(query_urn(ranked.query), "resource", msgspec.json.encode(ranked), _JSON)

    def close(self) -> None:
        """Have the system write everything, and close."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.fsync(descriptor)
            os.close(descriptor)

    def _mended(self) -> set[bytes]:
        """Cut off what a killed session left torn; gives the keys of what is kept once and is there."""
        kept, end = set(), 0
        for member in members(self.path) if self.path.is_file() else ():
            kept.add(_key(member.content))
            end = member.end
        if self.path.is_file() and self.path.stat().st_size > end:
            os.truncate(self.path, end)
        return kept - {b""}

    def _once(self, uri: str, kind: str, payload: bytes, content_type: str) -> None:
        """Add a record unless the same one is there: what thousands of trials read in a collection is kept once."""
        digest = f"sha256:{hex_digest(payload)}"
        key = _hashed(kind, uri, digest)
        if key not in self._kept:
            self._write([_record(kind, uri, payload, content_type, digest)])
            self._kept.add(key)

    def _write(self, records: Sequence[bytes]) -> None:
        if self._descriptor is None:
            raise RunError(f"{self.path} is closed")
        try:
            _append(self._descriptor, b"".join(records))
        except OSError as error:
            raise RunError(
                f"{self.path} could not be written: {error.strerror}. Free some space or mend the disk, then resume"
            ) from error


_BINARY = getattr(os, "O_BINARY", 0)


def parsed(content: bytes) -> ArcWarcRecord | None:
    """The WARC record in a member; its payload is `content_stream()` (as HTTP meant it) or `raw_stream` (as it came).

    None where it holds none.
    """
    try:
        return next(iter(ArchiveIterator(BytesIO(content))), None)
    except ArchiveLoadFailed:
        return None


def _key(content: bytes) -> bytes:
    """What tells a record that is kept once from others, b'' of any other record."""
    record = parsed(content)
    if record is None or record.rec_type not in {"resource", "metadata"}:
        return b""
    header = record.rec_headers.get_header
    return _hashed(record.rec_type, header("WARC-Target-URI") or "", header("WARC-Payload-Digest") or "")


def _hashed(*parts: str) -> bytes:
    return sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:16]


def _warcinfo() -> bytes:
    sink = BytesIO()
    writer = WARCWriter(sink, gzip=True, warc_version="1.1")
    info = {"software": f"overton/{__version__}", "format": "WARC File Format 1.1"}
    writer.write_record(writer.create_warcinfo_record(ARCHIVE, info))
    return sink.getvalue()


def _record(kind: str, uri: str, payload: bytes, content_type: str, digest: str) -> bytes:
    sink = BytesIO()
    writer = WARCWriter(sink, gzip=True, warc_version="1.1")
    record = writer.create_warc_record(
        _one_line(uri),
        kind,
        payload=BytesIO(payload),
        length=len(payload),
        warc_content_type=content_type,
        warc_headers_dict={"WARC-Payload-Digest": digest},
    )
    writer.write_record(record)
    return sink.getvalue()


def _exchange_records(exchange: Exchange) -> list[bytes]:
    """The response and the request to it, concurrent, each a member of its own."""
    writer = WARCWriter(BytesIO(), gzip=True, warc_version="1.1")
    digest = {"WARC-Payload-Digest": f"sha256:{hex_digest(exchange.body)}"}
    cut = {"WARC-Truncated": exchange.truncated} if exchange.truncated else {}
    response = writer.create_warc_record(
        str(exchange.url),
        "response",
        payload=BytesIO(exchange.body),
        length=len(exchange.body),
        warc_headers_dict=digest | cut,
        http_headers=StatusAndHeaders(
            _one_line(f"{exchange.status} {exchange.reason}"), _kept_headers(exchange), protocol=exchange.version
        ),
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
    return [_written(response), _written(request)]


def _written(record: ArcWarcRecord) -> bytes:
    sink = BytesIO()
    WARCWriter(sink, gzip=True, warc_version="1.1").write_record(record)
    return sink.getvalue()


def _kept_headers(exchange: Exchange) -> list[tuple[str, str]]:
    """The response's headers; those of a framing that the body here no longer has get another name."""
    framing = {"transfer-encoding"} | ({"content-length"} if exchange.truncated else set())
    return [
        (f"X-Archive-Orig-{name}" if name.lower() in framing else name, _one_line(value))
        for name, value in exchange.headers
    ]


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


_CHUNK = 1 << 20
_GZIP = 31
_alone = threading.Lock()


@dataclass(frozen=True)
class _Member:
    """One whole member: where it begins and ends in the file (bytes), and what it holds, decompressed."""

    start: int
    end: int
    content: bytes


def members(path: Path) -> Iterator[_Member]:
    """All members up to the end of the file, or up to the first that is torn, as a killed process leaves one."""
    with path.open("rb") as file:
        start, waiting = 0, b""
        while member := _next(file, start, waiting):
            found, waiting = member
            yield found
            start = found.end


def member_at(path: Path, start: int) -> bytes:
    """What the member that begins at `start` holds.

    Raises:
        EOFError: no whole member begins there.
    """
    with path.open("rb") as file:
        file.seek(start)
        found = _next(file, start, b"")
    if found is None:
        raise EOFError(f"no record begins at byte {start}")
    return found[0].content


def _append(descriptor: int, content: bytes) -> None:
    """Write to the end of a file that was opened for appending, whole or not at all; any thread may.

    Raises:
        OSError: the disk is full, say.
    """
    with _alone:
        before = os.fstat(descriptor).st_size
        try:
            while content:  # once, unless the disk fills up
                content = content[os.write(descriptor, content) :]
        except OSError:
            os.ftruncate(descriptor, before)
            raise


def _next(file: BinaryIO, start: int, waiting: bytes) -> tuple[_Member, bytes] | None:
    """The member at `start`, of which `waiting` is read already, and what was read beyond it."""
    decompressor, content = zlib.decompressobj(_GZIP), bytearray()
    piece = waiting or file.read(_CHUNK)
    read = len(piece)
    while piece:
        try:
            content += decompressor.decompress(piece)
        except zlib.error:
            return None
        if decompressor.eof:
            rest = decompressor.unused_data
            return _Member(start, start + read - len(rest), bytes(content)), rest
        piece = file.read(_CHUNK)
        read += len(piece)
    return None
