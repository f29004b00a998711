"""A direct connection between a run and a replica, for calls and replies.

For each message, however small, Ray takes about a millisecond of processor time on either side. A direct connection
sends all calls that are ready at the same time in one write. The same holds for replies. Each end proves to the other
that it knows a secret, which was exchanged through Ray.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import struct
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from ipaddress import ip_address

from overton.errors import UnavailableError

Answer = Callable[[bytes], Coroutine[None, None, bytes]]

SECRET_BYTES = 32
MAX_REPLY_BYTES = 2**26
_HEADER = struct.Struct("!QQ")
"""The header of each call and reply: its number and its length in bytes. A reply has the number of its call."""
_NONCE_BYTES = _PROOF_BYTES = 32
_CONNECT_TIMEOUT_S = 10.0
"""Seconds that each side waits for the other side's proof."""
_LISTEN_S = 60.0
"""The maximum time, in seconds, for which a replica's port is open."""


class _FrameWriter:
    """A writer of numbered contents. Contents that are ready at the same time are sent in one write."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._pending: list[bytes] = []

    def send(self, number: int, content: bytes) -> None:
        """Send the content once the tasks that are ready now have run."""
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending += (_HEADER.pack(number, len(content)), content)

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        if not self._writer.is_closing():
            self._writer.write(b"".join(pending))


class CallServer:
    """A replica's end of the connection. It answers the calls of the first client that proves its knowledge of the
    secret, and closes its port to all other clients.

    If `answer` raises an error at a call, `failed` makes the reply.
    """

    def __init__(self, secret: bytes, answer: Answer, failed: Callable[[BaseException], bytes]) -> None:
        self._secret = secret
        self._answer = answer
        self._failed = failed
        self._tasks: set[asyncio.Task[bytes]] = set()
        self._close_port: Callable[[], None] = _do_nothing

    async def listen(self, host: str) -> int:
        """Open a port at an address of this machine, and return the port.

        Raises:
            OSError: no port can be opened there.
        """
        server = await asyncio.start_server(self._serve, host, 0)
        self._close_port = server.close
        asyncio.get_running_loop().call_later(_LISTEN_S, server.close)
        return int(server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError):
                await _prove_as_replica(self._secret, reader, writer)
                self._close_port()
                await self._take_calls(reader, _FrameWriter(writer))
        finally:
            writer.close()

    async def _take_calls(self, reader: asyncio.StreamReader, out: _FrameWriter) -> None:
        while True:
            number, size = _HEADER.unpack(await reader.readexactly(_HEADER.size))
            if not size:
                out.send(number, b"")
                continue
            task = asyncio.ensure_future(self._answer(await reader.readexactly(size)))
            self._tasks.add(task)
            task.add_done_callback(partial(self._reply, out, number))

    def _reply(self, out: _FrameWriter, number: int, task: asyncio.Task[bytes]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            error = task.exception()
            out.send(number, task.result() if error is None else self._failed(error))


class CallConnection:
    """A run's end of the connection, for calls to one replica. `on_lost` is called if the connection ends before
    `close`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.is_closed = False
        self.on_lost: Callable[[], None] = _do_nothing
        self._reader = reader
        self._writer = writer
        self._out = _FrameWriter(writer)
        self._number = 0
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reading = asyncio.create_task(self._take_replies())

    async def call(self, content: bytes) -> bytes:
        """Send one call, and return the replica's reply. If this is cancelled, the reply is dropped.

        Raises:
            UnavailableError: the connection has ended; the call may have been answered.
        """
        if self.is_closed:
            raise _lost_error()
        self._number += 1
        number, future = self._number, asyncio.Future[bytes]()
        self._waiting[number] = future
        self._out.send(number, content)
        try:
            return await future
        finally:
            del self._waiting[number]

    async def ping(self) -> None:
        """Wait until the replica answers an empty call. A working replica answers at once.

        Raises:
            UnavailableError: the connection has ended.
        """
        await self.call(b"")

    def close(self) -> None:
        """End the connection. Calls that wait for replies fail."""
        self._reading.cancel()
        self._end()

    async def _take_replies(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                number, size = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
                if size > MAX_REPLY_BYTES:
                    break
                content = await self._reader.readexactly(size)
                future = self._waiting.get(number)  # none if the call was cancelled
                if future is not None and not future.done():
                    future.set_result(content)
        self._end()
        self.on_lost()

    def _end(self) -> None:
        self.is_closed = True
        self._writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_lost_error())


async def connect(host: str, port: int, secret: bytes) -> CallConnection:
    """Connect to the replica that listens at this address and port.

    Raises:
        OSError: the replica cannot be reached, does not answer in time, or does not know the secret.
        ValueError: `host` is not an IP address.
    """
    ip_address(host)
    async with asyncio.timeout(_CONNECT_TIMEOUT_S):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            await _prove_as_run(secret, reader, writer)
        except BaseException:
            writer.close()
            raise
    return CallConnection(reader, writer)


async def _prove_as_run(secret: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    writer.write(nonce)
    try:
        other = await reader.readexactly(_NONCE_BYTES)
        _check(await reader.readexactly(_PROOF_BYTES), _proof(secret, b"replica", nonce + other))
    except EOFError:
        raise ConnectionResetError("it ended the connection") from None
    writer.write(_proof(secret, b"run", nonce + other))


async def _prove_as_replica(secret: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(_CONNECT_TIMEOUT_S):
        other, nonce = await reader.readexactly(_NONCE_BYTES), secrets.token_bytes(_NONCE_BYTES)
        writer.write(nonce + _proof(secret, b"replica", other + nonce))
        _check(await reader.readexactly(_PROOF_BYTES), _proof(secret, b"run", other + nonce))


def _proof(secret: bytes, side: bytes, nonces: bytes) -> bytes:
    """A digest that can only be computed with the secret. The two sides have different digests, so that neither side
    can send back the digest it has received."""
    return hmac.digest(secret, side + nonces, "sha256")


def _check(found: bytes, expected: bytes) -> None:
    if not hmac.compare_digest(found, expected):
        raise ConnectionRefusedError("the other side does not know the secret")


def _lost_error() -> UnavailableError:
    return UnavailableError("connection", "its replica is gone: the connection to it was lost", maybe_billed=True)


def _do_nothing() -> None:
    pass
