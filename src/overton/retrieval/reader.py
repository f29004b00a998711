"""A process that takes pages apart, one after the other, until its input ends: see `overton.retrieval.reading`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import BinaryIO

import msgspec

from overton.retrieval.extraction import Extract, Job, extract

__all__ = ["main"]

_MEMORY = 2 * 2**30

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Job).decode


def main() -> None:
    """Answer each job on standard input, framed by its length in 4 bytes, on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the run still reads what it has
    _limit_memory()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no frame
    import trafilatura  # noqa: F401 (so that the first answer means: ready)

    while size := source.read(4):
        _write(sink, _answer(source.read(int.from_bytes(size, "little"))))


def _answer(content: bytes) -> bytes:
    try:
        return _encode(extract(_decode(content)))
    except RecursionError:  # a page of brackets within brackets
        return _encode(Extract())


def _write(sink: BinaryIO, content: bytes) -> None:
    sink.write(len(content).to_bytes(4, "little") + content)
    sink.flush()


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    import resource

    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    main()
