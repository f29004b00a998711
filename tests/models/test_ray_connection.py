"""Calls and replies over a connection: each reply goes to its call, and each lost call is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from overton.errors import UnavailableError
from overton.models import ray_connection
from overton.models.ray_connection import CallConnection, CallServer, connect

SECRET = bytes(range(32))
HOST = "127.0.0.1"


class Replica:
    """Answers each call when it is released, and records the calls."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.called = asyncio.Event()
        self._released: dict[bytes, asyncio.Event] = {}

    def release(self, content: bytes) -> None:
        self._event(content).set()

    async def answer(self, content: bytes) -> bytes:
        self.asked.append(content)
        self.called.set()
        await self._event(content).wait()
        if content.startswith(b"raise"):
            raise RuntimeError(content.decode())
        return b"reply to " + content

    def _event(self, content: bytes) -> asyncio.Event:
        return self._released.setdefault(content, asyncio.Event())


def failed(error: BaseException) -> bytes:
    return f"failed: {error}".encode()


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Replica, CallConnection]]:
    replica = Replica()
    connection = await connect(HOST, await CallServer(SECRET, replica.answer, failed).listen(HOST), SECRET)
    try:
        yield replica, connection
    finally:
        connection.close()


async def until(count: int, replica: Replica) -> None:
    async with asyncio.timeout(10):
        while len(replica.asked) < count:
            replica.called.clear()
            await replica.called.wait()


class FakeReplica:
    """Knows the secret, and then sends whatever it is told to."""

    def __init__(self) -> None:
        self.accepted = asyncio.get_running_loop().create_future()

    async def connect(self) -> CallConnection:
        server = await asyncio.start_server(self._serve, HOST, 0)
        connection = await connect(HOST, server.sockets[0].getsockname()[1], SECRET)
        self._reader, self._writer = await self.accepted
        server.close()
        return connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ray_connection._prove_as_replica(SECRET, reader, writer)
        self.accepted.set_result((reader, writer))

    async def number(self) -> int:
        """The number of the next call."""
        number, size = ray_connection._HEADER.unpack(await self._reader.readexactly(16))
        await self._reader.readexactly(size)
        return int(number)

    def send(self, number: int, content: bytes, size: int | None = None) -> None:
        self._writer.write(ray_connection._HEADER.pack(number, len(content) if size is None else size) + content)

    def hang_up(self) -> None:
        self._writer.close()


async def test_each_reply_goes_to_its_call_in_any_order() -> None:
    async with connected() as (replica, connection):
        contents = [f"call {number}".encode() for number in range(20)]
        calls = [asyncio.create_task(connection.call(content)) for content in contents]
        await until(20, replica)
        assert replica.asked == contents
        for content in reversed(contents):
            replica.release(content)
        assert await asyncio.gather(*calls) == [b"reply to " + content for content in contents]


async def test_a_quick_call_does_not_wait_for_a_slow_one_sent_with_it() -> None:
    async with connected() as (replica, connection):
        slow, quick = (asyncio.create_task(connection.call(content)) for content in (b"slow", b"quick"))
        replica.release(b"quick")
        assert await quick == b"reply to quick"
        assert not slow.done()
        replica.release(b"slow")
        assert await slow == b"reply to slow"


async def test_calls_of_one_moment_are_sent_in_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    async with connected() as (replica, connection):
        monkeypatch.setattr(connection._writer, "write", written.append)
        calls = [asyncio.create_task(connection.call(content)) for content in (b"a", b"b", b"c")]
        await asyncio.sleep(0.01)
        assert [data[16::17] for data in written] == [b"abc"]
        assert not replica.asked
    assert [type(result) for result in await asyncio.gather(*calls, return_exceptions=True)] == [UnavailableError] * 3


async def test_a_call_that_raises_fails_alone() -> None:
    async with connected() as (replica, connection):
        calls = [asyncio.create_task(connection.call(content)) for content in (b"a", b"raise b", b"c")]
        for content in (b"c", b"raise b", b"a"):
            replica.release(content)
        assert await asyncio.gather(*calls) == [b"reply to a", b"failed: raise b", b"reply to c"]


async def test_a_cancelled_calls_reply_is_dropped() -> None:
    async with connected() as (replica, connection):
        first, second = (asyncio.create_task(connection.call(content)) for content in (b"first", b"second"))
        await until(2, replica)
        first.cancel()
        replica.release(b"first")
        replica.release(b"second")
        assert await second == b"reply to second"
        assert first.cancelled()
        replica.release(b"third")
        assert await connection.call(b"third") == b"reply to third"
        assert not connection._waiting


async def test_a_doubled_or_unasked_reply_is_given_to_no_other_call() -> None:
    replica = FakeReplica()
    connection = await replica.connect()
    first = asyncio.create_task(connection.call(b"first"))
    number = await replica.number()
    for content in (b"right", b"doubled"):
        replica.send(number, content)
    replica.send(number + 1, b"unasked")
    assert await first == b"right"
    await asyncio.sleep(0.01)
    second = asyncio.create_task(connection.call(b"second"))
    replica.send(await replica.number(), b"second")
    assert await second == b"second"
    connection.close()


@pytest.mark.parametrize("whole", [True, False], ids=["after a reply", "within a reply"])
async def test_calls_under_way_fail_when_the_connection_ends_and_answered_ones_do_not(whole: bool) -> None:
    lost: list[bool] = []
    replica = FakeReplica()
    connection = await replica.connect()
    connection.on_lost = lambda: lost.append(connection.is_closed)
    calls = [asyncio.create_task(connection.call(content)) for content in (b"a", b"b", b"c")]
    numbers = [await replica.number() for _ in calls]
    replica.send(numbers[1], b"answered")
    if not whole:
        replica.send(numbers[2], b"half", size=8)
    replica.hang_up()
    first, second, third = await asyncio.gather(*calls, return_exceptions=True)
    assert second == b"answered"
    for error in (first, third):
        assert isinstance(error, UnavailableError)
        assert (error.kind, error.maybe_billed, error.elsewhere) == ("connection", True, False)
    assert first is not third  # the pool notes in each whether another server is available
    assert lost == [True]
    with pytest.raises(UnavailableError, match="was lost"):
        await connection.call(b"later")


async def test_a_reply_that_is_too_large_ends_the_connection() -> None:
    replica = FakeReplica()
    connection = await replica.connect()
    call = asyncio.create_task(connection.call(b"a"))
    replica.send(await replica.number(), b"", size=2**26 + 1)
    with pytest.raises(UnavailableError, match="was lost"):
        await call


async def test_a_ping_is_answered_during_calls_without_asking_the_replica() -> None:
    async with connected() as (replica, connection):
        call = asyncio.create_task(connection.call(b"a"))
        await until(1, replica)
        await connection.ping()
        assert replica.asked == [b"a"]
        assert not call.done()
        replica.release(b"a")
        await call


async def test_closing_fails_calls_under_way_without_a_report_of_loss() -> None:
    lost: list[None] = []
    async with connected() as (replica, connection):
        connection.on_lost = lambda: lost.append(None)
        call = asyncio.create_task(connection.call(b"a"))
        await until(1, replica)
        connection.close()
        with pytest.raises(UnavailableError, match="was lost"):
            await call
        await asyncio.sleep(0.01)
    assert not lost


async def test_the_port_is_closed_after_the_first_connection() -> None:
    replica = Replica()
    port = await CallServer(SECRET, replica.answer, failed).listen(HOST)
    connection = await connect(HOST, port, SECRET)
    replica.release(b"a")
    assert await connection.call(b"a") == b"reply to a"
    with pytest.raises(ConnectionRefusedError, match="Connect call failed"):
        await connect(HOST, port, SECRET)
    replica.release(b"b")
    assert await connection.call(b"b") == b"reply to b"
    connection.close()


async def test_a_replica_refuses_a_connection_without_the_secret() -> None:
    replica = Replica()
    port = await CallServer(SECRET, replica.answer, failed).listen(HOST)
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(bytes(64) + ray_connection._HEADER.pack(1, 1) + b"a")
    assert len(await reader.read()) == 64  # its nonce and proof, and then the end
    writer.close()
    assert not replica.asked
    connection = await connect(HOST, port, SECRET)  # it still waits for the run
    connection.close()


@pytest.mark.parametrize("said", [b"", bytes(64), bytes(10_000)])
async def test_a_run_refuses_a_replica_without_the_secret(said: bytes) -> None:
    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(32)
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(pretend, HOST, 0)
    with pytest.raises(ConnectionError, match=r"does not know the secret|ended the connection"):
        await connect(HOST, server.sockets[0].getsockname()[1], SECRET)
    server.close()


async def test_a_run_accepts_no_proof_of_its_own_side() -> None:
    async def mirror(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonce = await reader.readexactly(32)
        writer.write(nonce + ray_connection._proof(SECRET, b"run", nonce + nonce))
        writer.close()

    server = await asyncio.start_server(mirror, HOST, 0)
    with pytest.raises(ConnectionRefusedError, match="does not know the secret"):
        await connect(HOST, server.sockets[0].getsockname()[1], SECRET)
    server.close()


async def test_a_name_in_place_of_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="localhost"):
        await connect("localhost", 1, SECRET)
