"""WARC files (ISO 28500), from anyone: read record by record, within limits, telling damage from truncation."""

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
"""Most bytes of a record before its content."""

_PIECE_BYTES = 1 << 16
_GZIP_WINDOW_BITS = 31
_GZIP_MAGIC = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/"
_SKIP_LIMIT = Limit(2**30 + 2**24, ratio=1100)
"""For records that are skipped and not kept: the largest page that may be fetched, however well compressed."""


@dataclass(frozen=True)
class RecordHead:
    """The head of a record; '' for what it lacks. `start` and `end` are its place in the file (bytes).

    `kind` is the type of a WARC record, '' for a member of the file without one.
    """

    start: int
    end: int
    kind: str = ""
    uri: str = ""
    digest: str = ""
    content_type: str = ""


def record_heads(path: Path) -> Iterator[RecordHead]:
    """The heads of all separately compressed records, to the end of the file. Their content is skipped.

    Raises:
        Unreadable: the file cannot be read beyond `Unreadable.byte`. `ends_early` if the rest is the start of a record,
            as a killed process leaves it; otherwise the file is damaged there.
        OSError: it cannot be opened or read.
    """
    try:
        for member in members(_read_pieces(path), _GZIP_WINDOW_BITS, _SKIP_LIMIT, kept=LONGEST_HEAD):
            yield _head_of(member.start, member.end, member.content)
    except Unreadable as error:
        if error.ends_early and _has_later_record(path, (error.byte or 0) + 1):
            raise Unreadable("its compressed data is damaged", byte=error.byte) from None
        raise


def record_at(path: Path, start: int, limit: Limit) -> ArcWarcRecord:
    """The record that starts at `start`; its payload is `raw_stream`, as received.

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
    """Whether a record starts at `start` or later: then what seems to end early has swallowed it."""
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
    """The record in a member, None if there is none."""
    loader = ArcWarcRecordLoader()
    try:
        return loader.parse_record_stream(BytesIO(content), known_format="warc", no_record_parse=head_only)
    except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError):
        return None
    except (AttributeError, TypeError, ValueError):  # if a record lacks what its type must have
        return None
