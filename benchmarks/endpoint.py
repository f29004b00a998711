"""A chat-completions endpoint that costs next to nothing, in a process of its own, against which engines are timed.

    python benchmarks/endpoint.py [--latency MS]      # prints its port, serves until its standard input closes

It answers `position <<A>>` or `position <<B>>` by a checksum of the request's body, after a fixed latency. Written on
asyncio's protocols, since a web framework would be slower than the measured engines.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from subprocess import PIPE, Popen
from threading import Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING
from zlib import crc32

import uvloop

if TYPE_CHECKING:
    from collections.abc import Iterator

_BODY = (
    b'{"id":"x","object":"chat.completion","created":0,"model":"bench","choices":[{"index":0,"message":{"role":'
    b'"assistant","content":"position <<%b>>"},"finish_reason":"stop"}],"usage":{"prompt_tokens":600,'
    b'"completion_tokens":6,"total_tokens":606}}'
)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_REPLIES = tuple(_HEAD % len(_BODY % letter) + _BODY % letter for letter in (b"A", b"B"))


class Later(Thread):
    """Writes each reply when it is due, to within a tenth of a millisecond.

    An event loop's timers go by whole milliseconds, so replies would come in bunches of all that a millisecond holds. A
    client that answers each bunch within a millisecond would get the same bunches back for ever. No real endpoint does
    that.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self._seconds = seconds
        self._waiting: SimpleQueue[tuple[float, int, bytes]] = SimpleQueue()

    def write(self, file: int, reply: bytes) -> None:
        """Write a reply that fits the socket's buffer when its time has come."""
        self._waiting.put((perf_counter() + self._seconds, file, reply))

    def run(self) -> None:
        """All wait equally long, so the first to arrive is the first due."""
        while True:
            due, file, reply = self._waiting.get()
            if (left := due - perf_counter()) > 0:
                sleep(left)
            with suppress(OSError):  # whoever asked has gone
                os.write(file, reply)


class Endpoint(asyncio.Protocol):
    """One connection: whole requests in, canned replies out."""

    def __init__(self, later: Later | None) -> None:
        self._later = later
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = transport
        self._file = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        """Answer every complete request."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            reply = _REPLIES[crc32(body) & 1]
            if self._later:
                self._later.write(self._file, reply)
            else:
                self._transport.write(reply)


async def serve(latency: float) -> None:
    """Serve on loopback until standard input closes."""
    loop = asyncio.get_running_loop()
    later = Later(latency) if latency else None
    if later:
        later.start()
    server = await loop.create_server(lambda: Endpoint(later), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def endpoint(latency_ms: float = 0.0) -> Iterator[str]:
    """A running endpoint's base URL."""
    command = [sys.executable, __file__, "--latency", str(latency_ms)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.stdin.close()
            process.wait(10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds before each reply")
    uvloop.run(serve(parser.parse_args().latency / 1000))
