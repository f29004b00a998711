"""One request under way, and how faults are defined.

Each fault is given the connection and the good reply, and does something else. A fault leaves the connection to be
closed by returning; those that return True leave it open for the next request.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

__all__ = ["ERROR", "FAULTS", "Talk", "chunked", "committing", "reply", "says"]


@dataclass
class Talk:
    """One request under way: what came, what would be answered, and the connection."""

    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader
    good: bytes
    head: bytes
    key: str

    async def say(self, data: bytes) -> None:
        """Write, unless the other side has gone."""
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """End the connection with RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Fault = Callable[[Talk], Awaitable[bool | None]]
FAULTS: dict[str, Fault] = {}
"""All of them by name."""


def reply(body: bytes, status: str = "200 OK", *headers: str, length: bool = True) -> bytes:
    """A reply as it should be, or with odd headers."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    lines += [f"Content-Length: {len(body)}"] if length else []
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body


def committing(make: Fault) -> Fault:
    """A fault under its function's name."""
    FAULTS[make.__name__] = make
    return make


def says(name: str, make: Callable[[Talk], bytes], *, stays: bool = False) -> None:
    """A fault that writes these bytes."""

    async def fault(talk: Talk) -> bool:
        await talk.say(make(talk))
        return stays

    FAULTS[name] = fault


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n", more: str = "") -> bytes:
    """A reply in chunks."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{more}\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks) + end


ERROR = json.dumps({"error": {"message": "no \x1b[31mred\u202e", "type": "x", "code": "y"}}).encode()
"""An error's body, with what a terminal would act on."""
