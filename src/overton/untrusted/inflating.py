"""Compressed bytes of others, decompressed within limits: of the size that comes out, and of how much one byte may
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

__all__ = ["Limit", "inflated", "zstandard_inflated"]

_PIECE = 1 << 16
_PIECE_OF_ZSTANDARD = 1 << 11
"""Compressed bytes taken at a time. Four bytes of zstandard can stand for 128 KiB, a piece for 64 MiB at worst."""
_LONGEST_WINDOW = 1 << 31
"""Dumps are packed with windows of up to 2 GiB; zstandard refuses more than 128 MiB unless told."""
_FREE = 1 << 24
"""Bytes that may come out before the ratio counts: a small honest file may well be of one letter."""


@dataclass(frozen=True)
class Limit:
    """The most that may come out: `size` bytes, and past the first `free` ones `ratio` bytes for each that goes in.

    Texts shrink to a tenth or a thirtieth, JSON full of repeated keys to a hundredth; a bomb to a thousandth.
    """

    size: int
    ratio: int = 400
    free: int = _FREE

    def check(self, taken: int, made: int) -> None:
        """Refuse what has become too much of `taken` bytes.

        Raises:
            Unreadable: it has.
        """
        if made > self.size:
            raise Unreadable(f"is larger than {self.size:,} bytes once it is decompressed")
        if made > self.free and made > self.ratio * max(taken, 1):
            raise Unreadable(f"grows more than {self.ratio}-fold when it is decompressed")


def inflated(pieces: Iterable[bytes], window: int, limit: Limit) -> Iterator[bytes]:
    """Decompress zlib's formats (`window` as `zlib.decompressobj` takes it), member after member, piece by piece.

    At most 64 KiB are held at a time, whatever goes in.

    Raises:
        Unreadable: it is damaged, ends early, or passes the limit; after the last good bytes.
    """
    taken = made = 0
    member = None
    for piece in pieces:
        left = piece
        while left:
            member = member or zlib.decompressobj(window)
            before = len(left)
            out = _step(member.decompress, left)
            left = member.unconsumed_tail or member.unused_data
            taken, made = taken + before - len(left), made + len(out)
            limit.check(taken, made)
            if out:
                yield out
            member = None if member.eof else member
    if member is not None:
        raise Unreadable("its compressed data ends early")


def zstandard_inflated(pieces: Iterable[bytes], limit: Limit) -> Iterator[bytes]:
    """Decompress zstandard, frame after frame, piece by piece.

    Raises:
        Unreadable: it is damaged, ends early, or passes the limit.
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
