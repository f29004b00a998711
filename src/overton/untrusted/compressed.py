"""Decompression of gzip, zstandard and zip data from outside, within limits. All good bytes are yielded before an error
is raised.

Ordinary zip readers trust the sizes that an archive states. This module checks that the archive's directory is small
enough before Python's reader reads it. It reads every member piece by piece.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from overton.errors import Unreadable

if TYPE_CHECKING:
    import zstandard


_PIECE_BYTES = 1 << 16
_ZSTANDARD_PIECE_BYTES = 1 << 11
"""Compressed bytes read at a time. Four bytes of zstandard can expand to 128 KiB, so a piece can expand to 64 MiB."""
_MAX_WINDOW_BYTES = 1 << 31
"""The largest window accepted. Forum dumps have windows of up to 2 GiB, but zstandard refuses more than 128 MiB by
default."""
_FREE_BYTES = 1 << 24
"""Bytes of output for which the ratio is not checked, because a small legitimate file may repeat a single letter."""
_CELL_BYTES = 16
"""Approximate bytes of a cell in memory."""


@dataclass(frozen=True)
class Limit:
    """The maximum output: `size` bytes. If the output is larger than `free` bytes, it must also be at most `ratio`
    times the input.

    Texts compress to between a tenth and a thirtieth of their size. JSON with many repeated keys compresses to a
    hundredth, and a decompression bomb to a thousandth.
    """

    size: int
    ratio: int = 400
    free: int = _FREE_BYTES

    def check(self, taken: int, made: int) -> None:
        """Refuse output that is too large for `taken` bytes of input.

        Raises:
            Unreadable: the output is too large.
        """
        if made > self.size:
            raise Unreadable(f"is larger than {self.size:,} bytes once decompressed", too_large=True)
        if made > self.free and made > self.ratio * max(taken, 1):
            raise Unreadable(f"grows more than {self.ratio}-fold when decompressed", too_large=True)


def check_cells(cells: int, size: int, limit: Limit) -> None:
    """Refuse a file of `size` bytes that expands to more cells than `limit` allows.

    Raises:
        Unreadable: the file has too many cells.
    """
    if cells * _CELL_BYTES > max(limit.free, min(limit.size, limit.ratio * size)):
        raise Unreadable(f"has {cells:,} cells in {size:,} bytes, more than is allowed for so small a file")


def inflated(pieces: Iterable[bytes], window: int, limit: Limit) -> Iterator[bytes]:
    """Decompress zlib's formats, member after member, piece by piece. `window` is `wbits` of `zlib.decompressobj`.

    At most 64 KiB are in memory at a time, whatever the input.

    Raises:
        Unreadable: the data is damaged, ends early, or exceeds the limit. All good bytes are yielded first.
    """
    taken = made = 0
    for out, took, _ in _inflate_steps(pieces, window):
        taken, made = taken + took, made + len(out)
        limit.check(taken, made)
        if out:
            yield out


@dataclass(frozen=True)
class GzipMember:
    """A gzip member: its start and end in the input, in bytes, and its decompressed content."""

    start: int
    end: int
    content: bytes


def members(pieces: Iterable[bytes], window: int, limit: Limit, *, kept: int | None = None) -> Iterator[GzipMember]:
    """Yield each gzip member with the first `kept` bytes of its content, or with all bytes if `kept` is None. The limit
    applies to each member separately.

    Raises:
        Unreadable: a member is damaged, ends early, or exceeds the limit. All good members before it are yielded first.
            `Unreadable.byte` is the start of the bad member.
    """
    start, end, made, content = 0, 0, 0, bytearray()
    try:
        for out, took, ended in _inflate_steps(pieces, window):
            end, made = end + took, made + len(out)
            limit.check(end - start, made)
            content += out if kept is None else out[: max(kept - len(content), 0)]
            if ended:
                yield GzipMember(start, end, bytes(content))
                start, made, content = end, 0, bytearray()
    except Unreadable as error:
        error.byte = start
        raise


def _inflate_steps(pieces: Iterable[bytes], window: int) -> Iterator[tuple[bytes, int, bool]]:
    """For each step: the output, the number of input bytes taken, and whether a member ended."""
    member = None
    for piece in pieces:
        left = piece
        while left:
            member = member or zlib.decompressobj(window)
            before = len(left)
            out = _inflate_piece(member.decompress, left)
            left = member.unconsumed_tail or member.unused_data
            yield out, before - len(left), member.eof
            member = None if member.eof else member
    while member is not None:  # the input is used up, but some output may still be pending
        out = _inflate_piece(member.decompress, b"")
        if not (out or member.eof):
            raise Unreadable("its compressed data ends early", ends_early=True)
        yield out, 0, member.eof
        member = None if member.eof else member


def zstandard_inflated(pieces: Iterable[bytes], limit: Limit) -> Iterator[bytes]:
    """Decompress zstandard, frame after frame, piece by piece.

    Raises:
        Unreadable: the data is damaged, ends early, or exceeds the limit.
    """
    import zstandard

    context = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    frame: zstandard.ZstdDecompressionObj | None = None
    taken = made = 0
    for left in _split_pieces(pieces):
        taken += len(left)
        while left:
            frame = frame or context.decompressobj()
            try:
                out = frame.decompress(left)
            except zstandard.ZstdError:
                raise Unreadable("its compressed data is damaged") from None
            made += len(out)
            limit.check(taken, made)
            if out:
                yield out
            left = frame.unused_data  # noqa: PLW2901
            frame = None if frame.eof else frame
    if frame is not None:
        raise Unreadable("its compressed data ends early")


def _split_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _ZSTANDARD_PIECE_BYTES):
            yield piece[start : start + _ZSTANDARD_PIECE_BYTES]


def _inflate_piece(decompress: Callable[[bytes, int], bytes], left: bytes) -> bytes:
    try:
        return decompress(left, _PIECE_BYTES)
    except zlib.error:
        raise Unreadable("its compressed data is damaged") from None


_MAX_DIRECTORY_BYTES = 1 << 24
_MAX_END_BYTES = 1 << 17
"""The maximum number of bytes after the directory: its end record, and a comment of at most 64 KiB."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_RAW_DEFLATE = -15
_ENCRYPTED_FLAG = 1
_MISMATCH = "does not match the archive's directory"


class Zip:
    """An open zip archive. `limit` applies to each member separately. If several members have the same name, the last
    one is used."""

    def __init__(self, path: Path, limit: Limit) -> None:
        """Open the archive and read its directory.

        Raises:
            Unreadable: the file is not a zip archive, or it is damaged.
            OSError: the file cannot be read.
        """
        self._limit = limit
        self._file = path.open("rb")
        try:
            with zipfile.ZipFile(_BoundedFile(self._file)) as archive:
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
        """The content of a member, None if no member has this name.

        Raises:
            Unreadable: the member is damaged, encrypted, compressed by an unsupported method, or too large.
                `Unreadable.place` is the member's name.
            OSError: the file cannot be read.
        """
        return b"".join(self.pieces(name)) if name in self._members else None

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a member piece by piece. At its end, its size and checksum are compared with the directory.

        Raises:
            Unreadable: as for `read`, or there is no member of this name.
            OSError: the file cannot be read.
        """
        if (info := self._members.get(name)) is None:
            raise Unreadable("is not in the archive", place=name)
        size = digest = 0
        try:
            for piece in self._unpack(info):
                size, digest = size + len(piece), zlib.crc32(piece, digest)
                if size > info.file_size:
                    raise Unreadable(_MISMATCH)
                yield piece
        except Unreadable as error:
            raise Unreadable(error.reason, place=name) from None
        if (size, digest) != (info.file_size, info.CRC):
            raise Unreadable(_MISMATCH, place=name)

    def _unpack(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        if info.flag_bits & _ENCRYPTED_FLAG:
            raise Unreadable("is encrypted")
        self._limit.check(info.compress_size, info.file_size)
        pieces = self._read_packed(info)
        if info.compress_type == _DEFLATED:
            return inflated(pieces, _RAW_DEFLATE, self._limit)
        if info.compress_type == _ZSTANDARD:
            return zstandard_inflated(pieces, self._limit)
        if info.compress_type == _STORED:
            return pieces
        raise Unreadable(f"is compressed by the unsupported method {info.compress_type}")

    def _read_packed(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        self._file.seek(max(0, info.header_offset))
        head = self._file.read(_LOCAL_HEADER.size)
        if len(head) < _LOCAL_HEADER.size or not head.startswith(b"PK\x03\x04"):
            raise Unreadable("is not where the archive's directory says")
        _, name, extra = _LOCAL_HEADER.unpack(head)
        self._file.seek(name + extra, 1)
        left = min(info.compress_size, self._limit.size)
        while left and (piece := self._file.read(min(_PIECE_BYTES, left))):
            left -= len(piece)
            yield piece


class _BoundedFile:
    """A file that refuses to read more bytes at once than a directory may have."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.tell, self.seek, self.seekable, self.close = file.tell, file.seek, file.seekable, lambda: None

    def read(self, size: int = -1) -> bytes:
        if size > _MAX_DIRECTORY_BYTES:
            raise Unreadable(f"has a directory of more than {_MAX_DIRECTORY_BYTES:,} bytes")
        return self._file.read(_MAX_END_BYTES if size < 0 else size)
