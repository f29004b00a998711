"""A file of gzip members, one a record: written at its end only, and read as far as it is whole."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = ["Member", "append", "member_at", "members"]

_CHUNK = 1 << 20
_GZIP = 31
_alone = threading.Lock()


@dataclass(frozen=True)
class Member:
    """One whole member: where it begins and ends in the file (bytes), and what it holds, decompressed."""

    start: int
    end: int
    content: bytes


def members(path: Path) -> Iterator[Member]:
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


def append(descriptor: int, content: bytes) -> None:
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


def _next(file: BinaryIO, start: int, waiting: bytes) -> tuple[Member, bytes] | None:
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
            return Member(start, start + read - len(rest), bytes(content)), rest
        piece = file.read(_CHUNK)
        read += len(piece)
    return None
