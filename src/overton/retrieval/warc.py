"""WARC files (ISO 28500) read as what they are, anyone's: record by record, within limits, damage told from an end."""

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

__all__ = ["LONGEST_HEAD", "Told", "record_at", "told"]

LONGEST_HEAD = 1 << 16
"""Bytes of a record that may come before what it holds."""

_PIECE = 1 << 16
_GZIP = 31
_MAGIC = b"\x1f\x8b\x08"
_FIRST = b"WARC/"
_ANY = Limit(2**30 + 2**24, ratio=1100)
"""Of records that are read past and not held: the largest page that may be fetched, however well it is compressed."""


@dataclass(frozen=True)
class Told:
    """What the head of a record tells; '' where it does not. `start` and `end` are where it stands in the file (bytes).

    `kind` is the type of a WARC record, '' of a member of the file that holds none.
    """

    start: int
    end: int
    kind: str = ""
    uri: str = ""
    digest: str = ""
    content_type: str = ""


def told(path: Path) -> Iterator[Told]:
    """The heads of all records, each compressed by itself, to the end of the file. What they hold is read past.

    Raises:
        Unreadable: the file cannot be read on from `Unreadable.byte`. `ends_early` where the rest is the beginning of a
            record, as a killed process leaves one; else the file is damaged there.
        OSError: it cannot be opened or read.
    """
    try:
        for member in members(_pieces(path), _GZIP, _ANY, kept=LONGEST_HEAD):
            yield _told(member.start, member.end, member.content)
    except Unreadable as error:
        if error.ends_early and _goes_on(path, (error.byte or 0) + 1):
            raise Unreadable("its compressed data is damaged", byte=error.byte) from None
        raise


def record_at(path: Path, start: int, limit: Limit) -> ArcWarcRecord:
    """The record that begins at `start`; its payload is `raw_stream`, as it came.

    Raises:
        Unreadable: no whole record within the limit begins there.
        OSError: the file cannot be opened or read.
    """
    for member in members(_pieces(path, start), _GZIP, limit):
        record = _parsed(member.content)
        if record is not None:
            return record
        break
    raise Unreadable("holds no WARC record there", byte=start)


def _pieces(path: Path, start: int = 0) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while piece := file.read(_PIECE):
            yield piece


def _goes_on(path: Path, start: int) -> bool:
    """Whether a record begins at `start` or anywhere after: what seems to end early there has swallowed it."""
    before = b""
    for piece in _pieces(path, start):
        searched = before + piece
        place = searched.find(_MAGIC)
        while 0 <= place <= len(searched) - len(_MAGIC):
            if _begins(path, start - len(before) + place):
                return True
            place = searched.find(_MAGIC, place + 1)
        before = searched[-len(_MAGIC) + 1 :]
        start += len(piece)
    return False


def _begins(path: Path, place: int) -> bool:
    begun = b""
    try:
        for out in inflated(_pieces(path, place), _GZIP, _ANY):
            begun += out
            if len(begun) >= len(_FIRST):
                break
    except Unreadable:
        return False
    return begun.startswith(_FIRST)


def _told(start: int, end: int, head: bytes) -> Told:
    record = _parsed(head, head_only=True)
    if record is None:
        return Told(start, end)
    header = record.rec_headers.get_header
    uri, digest = header("WARC-Target-URI") or "", header("WARC-Payload-Digest") or ""
    return Told(start, end, record.rec_type or "", uri, digest, record.content_type or "")


def _parsed(content: bytes, *, head_only: bool = False) -> ArcWarcRecord | None:
    """The record in a member, None where it holds none."""
    loader = ArcWarcRecordLoader()
    try:
        return loader.parse_record_stream(BytesIO(content), known_format="warc", no_record_parse=head_only)
    except (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError):
        return None
    except (AttributeError, TypeError, ValueError):  # where a record lacks what its type must have
        return None
