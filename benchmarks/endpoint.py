"""A chat-completions endpoint that costs next to nothing, in a process of its own: what engines are timed against.

    python benchmarks/endpoint.py [--latency MS]      # prints its port, serves until its standard input closes

It answers `position <<A>>` or `position <<B>>` by a checksum of the request's body, after a fixed latency. Written on
asyncio's protocols, since a web framework would be slower than what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import contextmanager
from subprocess import PIPE, Popen
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


class Endpoint(asyncio.Protocol):
    """One connection: whole requests in, canned replies out."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._buffer = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
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
            if self._latency:
                self._loop.call_later(self._latency, self._transport.write, reply)
            else:
                self._transport.write(reply)


async def serve(latency: float) -> None:
    """Serve on loopback until standard input closes."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Endpoint(latency), "127.0.0.1", 0, backlog=1024)
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
