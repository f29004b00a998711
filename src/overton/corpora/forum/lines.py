"""Blocks of bytes cut at line breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

__all__ = ["whole_lines"]


def whole_lines(blocks: Iterable[bytes], longest: int, skip: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """The same lines, in blocks that end where a line ends, each with the number of its first line (from 1).

    A line of more than `longest` bytes (give or take a block) is left out and never held; `skip` is told its number.
    Only the last block may end without a line break.
    """
    number, held, size = 1, list[bytes](), 0
    for block in blocks:
        first = block.find(b"\n") + 1
        if not first:
            size += len(block)
            held = [*held, block] if size <= longest else []
            continue
        if size > longest:
            skip(number)
            number, block = number + 1, block[first:]  # noqa: PLW2901
        last = block.rfind(b"\n") + 1
        if last:
            whole = b"".join([*held, block[:last]])
            yield number, whole
            number += whole.count(b"\n")
        held, size = ([block[last:]], len(block) - last) if last < len(block) else ([], 0)
    if size > longest:
        skip(number)
    elif held:
        yield number, b"".join(held)
