"""The members of an `.eval` log, a zip archive that may be anybody's: found by name, read within limits.

Inspect's own reader takes what an archive says of itself for true, and a member whole. So do readers of zip archives in
general: here the directory is read by Python's, and every member by ourselves, piece by piece.
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
from overton.untrusted import Limit, inflated, zstandard_inflated

__all__ = ["Archive"]

_LIMIT = Limit(100_000_000)
"""A member's, decompressed. A sample of ours takes a few hundred kilobytes."""
_LONGEST_DIRECTORY = 1 << 24
_HEAD = struct.Struct("<4s22xHH")
_PIECE = 1 << 16
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_RAW_DEFLATE = -15
_ENCRYPTED = 1


class Archive:
    """An open archive. Of members with the same name the last counts, as it does for Inspect."""

    def __init__(self, path: Path) -> None:
        """Read the directory.

        Raises:
            Unreadable: it is no zip archive, or a damaged one.
            OSError: the file cannot be read.
        """
        self._file = path.open("rb")
        try:
            with zipfile.ZipFile(_Bounded(self._file)) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error) as error:
            self._file.close()
            raise Unreadable(f"is no whole zip archive: {error}") from None
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
        """A member whole, None where there is none of this name.

        Raises:
            Unreadable: it is damaged, encrypted, packed in a way that is not read, or too large; `place` is its name.
            OSError: the file cannot be read.
        """
        info = self._members.get(name)
        if info is None:
            return None
        try:
            content = b"".join(self._unpacked(info))
        except Unreadable as error:
            raise Unreadable(error.reason, place=name) from None
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise Unreadable("is not what the archive's directory says of it", place=name)
        return content

    def _unpacked(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        if info.flag_bits & _ENCRYPTED:
            raise Unreadable("is encrypted")
        _LIMIT.check(info.compress_size, info.file_size)
        pieces = self._packed(info)
        if info.compress_type == _DEFLATED:
            return inflated(pieces, _RAW_DEFLATE, _LIMIT)
        if info.compress_type == _ZSTANDARD:
            return zstandard_inflated(pieces, _LIMIT)
        if info.compress_type == _STORED:
            return pieces
        raise Unreadable(f"is compressed by the method {info.compress_type}, which logs do not use")

    def _packed(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        self._file.seek(max(0, info.header_offset))
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(b"PK\x03\x04"):
            raise Unreadable("is not where the archive's directory says")
        _, name, extra = _HEAD.unpack(head)
        self._file.seek(name + extra, 1)
        left = min(info.compress_size, _LIMIT.size)
        while left and (piece := self._file.read(min(_PIECE, left))):
            left -= len(piece)
            yield piece


class _Bounded:
    """A file of which no more is read at once than a directory may be long."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.tell, self.seek, self.seekable, self.close = file.tell, file.seek, file.seekable, lambda: None

    def read(self, size: int = -1) -> bytes:
        if size > _LONGEST_DIRECTORY:
            raise Unreadable(f"has a directory of more than {_LONGEST_DIRECTORY:,} bytes")
        return self._file.read(_LONGEST_DIRECTORY if size < 0 else size)
