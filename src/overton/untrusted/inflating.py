"""Foreign compressed bytes, decompressed within limits: on the size of the output, and on how much one byte may
become.

Errors are raised after the last good bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overton.errors import Unreadable

if TYPE_CHECKING:
    import zstandard

__all__ = ["Limit", "Member", "check_cells", "inflated", "members", "zstandard_inflated"]

_PIECE = 1 << 16
_PIECE_OF_ZSTANDARD = 1 << 11
"""Compressed bytes taken at a time. Four bytes of zstandard can stand for 128 KiB, a piece for 64 MiB at worst."""
_LONGEST_WINDOW = 1 << 31
"""Dumps are packed with windows of up to 2 GiB; zstandard by default refuses more than 128 MiB."""
_FREE = 1 << 24
"""Bytes of output before the ratio counts: a small legitimate file may consist of one letter."""
_CELL = 16
"""Approximate bytes of a cell in memory."""


@dataclass(frozen=True)
class Limit:
    """The most output: `size` bytes, and beyond the first `free` ones `ratio` bytes per byte of input.

    Texts compress to a tenth or a thirtieth, JSON full of repeated keys to a hundredth, a bomb to a thousandth.
    """

    size: int
    ratio: int = 400
    free: int = _FREE

    def check(self, taken: int, made: int) -> None:
        """Refuse output that is too large for `taken` bytes of input.

        Raises:
            Unreadable: it is.
        """
        if made > self.size:
            raise Unreadable(f"is larger than {self.size:,} bytes once decompressed", too_large=True)
        if made > self.free and made > self.ratio * max(taken, 1):
            raise Unreadable(f"grows more than {self.ratio}-fold when decompressed", too_large=True)


def check_cells(cells: int, size: int, limit: Limit) -> None:
    """Refuse a file of `size` bytes that expands to more cells than `limit` allows.

    Raises:
        Unreadable: it does.
    """
    if cells * _CELL > max(limit.free, min(limit.size, limit.ratio * size)):
        raise Unreadable(f"has {cells:,} cells in {size:,} bytes, more than is allowed for so small a file")


def inflated(pieces: Iterable[bytes], window: int, limit: Limit) -> Iterator[bytes]:
    """Decompress zlib's formats (`window` as `zlib.decompressobj` takes it), member after member, piece by piece.

    At most 64 KiB are in memory at a time, whatever the input.

    Raises:
        Unreadable: it is damaged, ends early, or exceeds the limit; after the last good bytes.
    """
    taken = made = 0
    for out, took, _ in _steps(pieces, window):
        taken, made = taken + took, made + len(out)
        limit.check(taken, made)
        if out:
            yield out


@dataclass(frozen=True)
class Member:
    """One member: where it starts and ends in the input (bytes), and its content, decompressed."""

    start: int
    end: int
    content: bytes


def members(pieces: Iterable[bytes], window: int, limit: Limit, *, kept: int | None = None) -> Iterator[Member]:
    """Each member separately, each within the limit; of its content the first `kept` bytes, None for all.

    Raises:
        Unreadable: one is damaged, ends early, or exceeds the limit; after the last good one. `Unreadable.byte` is
            where it starts.
    """
    start, end, made, content = 0, 0, 0, bytearray()
    try:
        for out, took, ended in _steps(pieces, window):
            end, made = end + took, made + len(out)
            limit.check(end - start, made)
            content += out if kept is None else out[: max(kept - len(content), 0)]
            if ended:
                yield Member(start, end, bytes(content))
                start, made, content = end, 0, bytearray()
    except Unreadable as error:
        error.byte = start
        raise


def _steps(pieces: Iterable[bytes], window: int) -> Iterator[tuple[bytes, int, bool]]:
    """The output step by step, how many bytes each step took, and whether a member ended with it."""
    member = None
    for piece in pieces:
        left = piece
        while left:
            member = member or zlib.decompressobj(window)
            before = len(left)
            out = _step(member.decompress, left)
            left = member.unconsumed_tail or member.unused_data
            yield out, before - len(left), member.eof
            member = None if member.eof else member
    while member is not None:  # all input is consumed, but some output may be left
        out = _step(member.decompress, b"")
        if not (out or member.eof):
            raise Unreadable("its compressed data ends early", ends_early=True)
        yield out, 0, member.eof
        member = None if member.eof else member


def zstandard_inflated(pieces: Iterable[bytes], limit: Limit) -> Iterator[bytes]:
    """Decompress zstandard, frame after frame, piece by piece.

    Raises:
        Unreadable: it is damaged, ends early, or exceeds the limit.
    """
    import zstandard

    context = zstandard.ZstdDecompressor(max_window_size=_LONGEST_WINDOW)
    frame: zstandard.ZstdDecompressionObj | None = None
    taken = made = 0
    for left in _small(pieces):
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


def _small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for start in range(0, len(piece), _PIECE_OF_ZSTANDARD):
            yield piece[start : start + _PIECE_OF_ZSTANDARD]


def _step(decompress: Callable[[bytes, int], bytes], left: bytes) -> bytes:
    try:
        return decompress(left, _PIECE)
    except zlib.error:
        raise Unreadable("its compressed data is damaged") from None
