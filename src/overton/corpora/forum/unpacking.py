"""A file's bytes in blocks, unpacked on the way if compressed and cut at line breaks; few are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from overton.errors import InputError, Problem, Unreadable, reason_of
from overton.untrusted import Limit, inflated, zstandard_inflated

__all__ = ["BLOCK", "Damaged", "unpack", "whole_lines"]

BLOCK = 1 << 18
"""Blocks are at most this many bytes."""

_PIECE = 1 << 14
"""Compressed bytes taken at a time."""

_LIMIT = Limit(1 << 44, ratio=400, free=1 << 26)
"""Dumps of tens of gigabytes unpack to ten or twenty times their size, a bomb to a thousand times or more."""

_GZIP = 31
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Damaged(Exception):
    """The compressed data ends early, is invalid, or expands far too much; what precedes it is good."""


def unpack(path: Path) -> Iterator[bytes]:
    """The file in blocks of at most `BLOCK` bytes: plain, zstandard or gzip, recognised by its first bytes.

    Raises:
        InputError: it cannot be opened, or is packed in another format.
        Damaged: after the last good block.
    """
    try:
        with path.open("rb") as file:
            yield from _blocks(_opened(file, path))
    except OSError as error:
        raise InputError([Problem(str(path), "", f"cannot be read: {reason_of(error)}")]) from error


def _opened(file: BinaryIO, path: Path) -> Iterator[bytes]:
    begin = file.read(6)
    for magic, unpacked in _PACKED:
        if begin.startswith(magic):
            return unpacked(chain([begin], iter(lambda: file.read(_PIECE), b"")))
    for magic, name in _UNKNOWN:
        if begin.startswith(magic):
            reason = f"is packed with {name}; only zstandard and gzip are supported: unpack it first"
            raise InputError([Problem(str(path), "", reason)])
    return chain([begin.removeprefix(_BYTE_ORDER_MARK)], iter(lambda: file.read(BLOCK), b""))


def _blocks(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of equal size; what precedes damage is yielded first."""
    buffered: list[bytes] = []
    size = 0
    try:
        for part in parts:
            buffered.append(part)
            size += len(part)
            if size >= BLOCK:
                yield from _cut(buffered)
                size = 0
    except Damaged:
        yield from _cut(buffered)
        raise
    yield from _cut(buffered)


def _cut(buffered: list[bytes]) -> Iterator[bytes]:
    data = b"".join(buffered)
    buffered.clear()
    for start in range(0, len(data), BLOCK):
        yield data[start : start + BLOCK]


def _zstandard(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from zstandard_inflated(pieces, _LIMIT)
    except Unreadable as error:
        raise Damaged(f"the zstandard data {_said(error)}") from error


def _gzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from inflated(pieces, _GZIP, _LIMIT)
    except Unreadable as error:
        raise Damaged(f"the gzip data {_said(error)}") from error


def _said(error: Unreadable) -> str:
    return error.reason.removeprefix("its compressed data ")


_PACKED: list[tuple[bytes, Callable[[Iterator[bytes]], Iterator[bytes]]]] = [
    (b"\x28\xb5\x2f\xfd", _zstandard),
    (b"\x1f\x8b", _gzip),
    *((bytes([0x50 + number, 0x2A, 0x4D, 0x18]), _zstandard) for number in range(16)),  # frames to be skipped
]
_UNKNOWN = [(b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"PK\x03\x04", "zip"), (b"7z\xbc\xaf", "7z")]


def whole_lines(blocks: Iterable[bytes], longest: int, skip: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """The same lines, in blocks that end where a line ends, each with the number of its first line (from 1).

    A line of more than `longest` bytes (give or take a block) is left out and never kept; `skip` gets its number.
    Only the last block may end without a line break.
    """
    number, buffered, size = 1, list[bytes](), 0
    for block in blocks:
        first = block.find(b"\n") + 1
        if not first:
            size += len(block)
            buffered = [*buffered, block] if size <= longest else []
            continue
        if size > longest:
            skip(number)
            number, block = number + 1, block[first:]  # noqa: PLW2901
        last = block.rfind(b"\n") + 1
        if last:
            whole = b"".join([*buffered, block[:last]])
            yield number, whole
            number += whole.count(b"\n")
        buffered, size = ([block[last:]], len(block) - last) if last < len(block) else ([], 0)
    if size > longest:
        skip(number)
    elif buffered:
        yield number, b"".join(buffered)
