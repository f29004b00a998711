"""A reader of untrusted WARC files (ISO 28500). It reads record by record, within limits, and distinguishes damage from
truncation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord, ArcWarcRecordLoader
from warcio.statusandheaders import StatusAndHeadersParserException

from overton.errors import Unreadable
from overton.untrusted import Limit, inflated, members

LONGEST_HEAD = 1 << 16
"""The most bytes of a record before its content."""

_PIECE_BYTES = 1 << 16
_GZIP_WINDOW_BITS = 31
_GZIP_MAGIC = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/"
_SKIP_LIMIT = Limit(2**30 + 2**24, ratio=1100)
"""The size limit for records that are skipped. It admits the largest page that may be fetched, at any compression."""


@dataclass(frozen=True)
class RecordHead:
    """The head of a record; missing fields are ''. `start` and `end` are the record's position in the file, in bytes.

    `kind` is the type of the WARC record, '' for a gzip member without a WARC record.
    """

    start: int
    end: int
    kind: str = ""
    uri: str = ""
    digest: str = ""
    content_type: str = ""


def record_heads(path: Path) -> Iterator[RecordHead]:
    """Yield the heads of all separately compressed records, to the end of the file. The content of records is skipped.

    Raises:
        Unreadable: the file cannot be read beyond `Unreadable.byte`. If `ends_early` is set, the rest is an incomplete
            record, left by a killed process; otherwise the file is damaged at that byte.
        OSError: the file cannot be opened or read.
    """
    try:
        for member in members(_read_pieces(path), _GZIP_WINDOW_BITS, _SKIP_LIMIT, kept=LONGEST_HEAD):
            yield _head_of(member.start, member.end, member.content)
    except Unreadable as error:
        if error.ends_early and _has_later_record(path, (error.byte or 0) + 1):
            raise Unreadable("its compressed data is damaged", byte=error.byte) from None
        raise


def record_at(path: Path, start: int, limit: Limit) -> ArcWarcRecord:
    """The record that starts at `start`. Its payload, as received, is `raw_stream`.

    Raises:
        Unreadable: no complete record within the limit starts there.
        OSError: the file cannot be opened or read.
    """
    for member in members(_read_pieces(path, start), _GZIP_WINDOW_BITS, limit):
        record = _parse_record(member.content)
        if record is not None:
            return record
        break
    raise Unreadable("has no WARC record there", byte=start)


def _read_pieces(path: Path, start: int = 0) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _has_later_record(path: Path, start: int) -> bool:
    """Whether a record starts at `start` or later. If so, an earlier record that seems incomplete is really damaged,
    because only the last record of a file can be incomplete."""
    before = b""
    for piece in _read_pieces(path, start):
        searched = before + piece
        place = searched.find(_GZIP_MAGIC)
        while 0 <= place <= len(searched) - len(_GZIP_MAGIC):
            if _is_record_start(path, start - len(before) + place):
                return True
            place = searched.find(_GZIP_MAGIC, place + 1)
        before = searched[-len(_GZIP_MAGIC) + 1 :]
        start += len(piece)
    return False


def _is_record_start(path: Path, place: int) -> bool:
    head = b""
    try:
        for out in inflated(_read_pieces(path, place), _GZIP_WINDOW_BITS, _SKIP_LIMIT):
            head += out
            if len(head) >= len(_RECORD_START):
                break
    except Unreadable:
        return False
    return head.startswith(_RECORD_START)


def _head_of(start: int, end: int, head: bytes) -> RecordHead:
    record = _parse_record(head, head_only=True)
    if record is None:
        return RecordHead(start, end)
    header = record.rec_headers.get_header
    uri, digest = header("WARC-Target-URI") or "", header("WARC-Payload-Digest") or ""
    return RecordHead(start, end, record.rec_type or "", uri, digest, record.content_type or "")


def _parse_record(content: bytes, *, head_only: bool = False) -> ArcWarcRecord | None:
    """The record in a gzip member; None if it has none."""
    loader = ArcWarcRecordLoader()
    try:
        return loader.parse_record_stream(BytesIO(content), known_format="warc", no_record_parse=head_only)
    except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError):
        return None
    except (AttributeError, TypeError, ValueError):  # raised if a record lacks a field that its type requires
        return None
