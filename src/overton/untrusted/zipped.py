"""The members of a zip archive, found by name and decompressed within limits.

Readers of zip archives trust what an archive says of itself. Here its directory is read by Python's reader, once its
size is known to be acceptable, and every member piece by piece.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from overton.errors import Unreadable
from overton.untrusted.inflating import Limit, inflated, zstandard_inflated

__all__ = ["Zip"]

_LONGEST_DIRECTORY = 1 << 24
_LONGEST_END = 1 << 17
"""Most bytes after the directory: its own end, and a comment of at most 64 KiB."""
_HEAD = struct.Struct("<4s22xHH")
_PIECE = 1 << 16
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_RAW_DEFLATE = -15
_ENCRYPTED = 1
_OTHERWISE = "does not match the archive's directory"


class Zip:
    """An open archive, whose members are each limited to `limit`. Of those with the same name the last counts."""

    def __init__(self, path: Path, limit: Limit) -> None:
        """Read the directory.

        Raises:
            Unreadable: it is not a zip archive, or is damaged.
            OSError: the file cannot be read.
        """
        self._limit = limit
        self._file = path.open("rb")
        try:
            with zipfile.ZipFile(_Bounded(self._file)) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error) as error:
            self._file.close()
            raise Unreadable(f"is not a complete zip archive: {error}") from None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def names(self) -> Iterator[str]:
        """The names of all members."""
        return iter(self._members)

    def read(self, name: str) -> bytes | None:
        """A whole member, None if none has this name.

        Raises:
            Unreadable: it is damaged, encrypted, packed by an unsupported method, or too large; `place` is its name.
            OSError: the file cannot be read.
        """
        return b"".join(self.pieces(name)) if name in self._members else None

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member piece by piece; at its end it is checked against the directory.

        Raises:
            Unreadable: as `read`; there is no member of this name.
            OSError: the file cannot be read.
        """
        if (info := self._members.get(name)) is None:
            raise Unreadable("is not in the archive", place=name)
        size = digest = 0
        try:
            for piece in self._unpacked(info):
                size, digest = size + len(piece), zlib.crc32(piece, digest)
                if size > info.file_size:
                    raise Unreadable(_OTHERWISE)
                yield piece
        except Unreadable as error:
            raise Unreadable(error.reason, place=name) from None
        if (size, digest) != (info.file_size, info.CRC):
            raise Unreadable(_OTHERWISE, place=name)

    def _unpacked(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        if info.flag_bits & _ENCRYPTED:
            raise Unreadable("is encrypted")
        self._limit.check(info.compress_size, info.file_size)
        pieces = self._packed(info)
        if info.compress_type == _DEFLATED:
            return inflated(pieces, _RAW_DEFLATE, self._limit)
        if info.compress_type == _ZSTANDARD:
            return zstandard_inflated(pieces, self._limit)
        if info.compress_type == _STORED:
            return pieces
        raise Unreadable(f"is compressed by the unsupported method {info.compress_type}")

    def _packed(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        self._file.seek(max(0, info.header_offset))
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(b"PK\x03\x04"):
            raise Unreadable("is not where the archive's directory says")
        _, name, extra = _HEAD.unpack(head)
        self._file.seek(name + extra, 1)
        left = min(info.compress_size, self._limit.size)
        while left and (piece := self._file.read(min(_PIECE, left))):
            left -= len(piece)
            yield piece


class _Bounded:
    """A file of which no more is read at once than a directory may have."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.tell, self.seek, self.seekable, self.close = file.tell, file.seek, file.seekable, lambda: None

    def read(self, size: int = -1) -> bytes:
        if size > _LONGEST_DIRECTORY:
            raise Unreadable(f"has a directory of more than {_LONGEST_DIRECTORY:,} bytes")
        return self._file.read(_LONGEST_END if size < 0 else size)
