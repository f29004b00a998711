"""Replicas in this process, with as much of Ray as they need: how their calls travel, and what a lost one costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from overton.calls import Reply, Request, Server, Settings, user
from overton.errors import RejectedError, UnavailableError
from overton.models import ray_cluster, ray_connection, ray_replicas, ray_worker
from overton.models.gguf import sha256_of
from overton.models.ray_replicas import Placement, Replicas, Up

QUESTION = Request((user("a"),), Settings(max_tokens=5), seed=3)


class Engine:
    """Answers a request with its seed, once the seed is released."""

    name = identity = "engine"
    holds_form = False

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.called = asyncio.Event()
        self._released: dict[int, asyncio.Event] = {}
        self.release(1)  # the seed with which replicas warm up

    def release(self, *seeds: int) -> None:
        for seed in seeds:
            self._event(seed).set()

    def _event(self, seed: int) -> asyncio.Event:
        return self._released.setdefault(seed, asyncio.Event())

    async def answer(self, request: Request) -> Reply:
        assert request.seed is not None
        self.asked.append(request.seed)
        self.called.set()
        await self._event(request.seed).wait()
        if request.seed % 10 == 9:
            raise RuntimeError("a bug\x1b[31m\n" * 1000)
        if request.seed % 10 == 8:
            raise RejectedError("too long", "the prompt has too many tokens")
        return Reply(f"reply {request.seed}", model="m")

    async def close(self) -> None:
        pass


class CuttableServer(ray_connection.CallServer):
    """A server whose connection a test can cut."""

    writers: dict[ray_worker.Worker, asyncio.StreamWriter]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers[self._answer.__self__] = writer
        await super()._serve(reader, writer)


class Actor:
    """A worker in this process. Its messages are recorded by name; once it is killed, they fail."""

    def __init__(self, worker: ray_worker.Worker, messages: list[str]) -> None:
        self.worker = worker
        self._messages = messages
        self._waiting: set[asyncio.Future[Any]] = set()
        self.killed = False

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *values: self._send(name, getattr(self.worker, name)(*values)))

    def _send(self, name: str, doing: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
        self._messages.append(name)
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        task = asyncio.create_task(doing)
        task.add_done_callback(lambda _: future.done() or future.set_result(task.result()))
        future.add_done_callback(lambda _: task.cancel())
        return future

    def kill(self) -> None:
        self.killed = True
        for future in self._waiting:
            if not future.done():
                future.set_exception(FakeRay.exceptions.RayError("trace\nThe actor is dead"))


class FakeRay:
    """As much of Ray as replicas need."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self) -> None:
        self.actors: list[Actor] = []
        self.messages: list[str] = []

    def remote(self, kind: type[ray_worker.Worker]) -> Any:
        def start(*values: Any) -> Actor:
            self.actors.append(Actor(kind(*values), self.messages))
            return self.actors[-1]

        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=start))

    @staticmethod
    def kill(actor: Actor) -> None:
        actor.kill()


class Cluster:
    """A cluster for one test."""

    def __init__(self, weights: Path) -> None:
        self.weights = weights
        self.ray = FakeRay()
        self.writers: dict[ray_worker.Worker, asyncio.StreamWriter] = {}

    def engine(self, replica: int) -> Engine:
        """The engine of the replica that was started after so many others."""
        return self.ray.actors[replica].worker._answerer

    def cut(self, replica: int) -> None:
        self.writers[self.ray.actors[replica].worker].close()

    @asynccontextmanager
    async def replicas(self, count: int = 1) -> AsyncIterator[tuple[Replicas, Sequence[Server]]]:
        """So many, all of them up."""
        placement = Placement(count, at_once=20, patience=10)
        replicas = Replicas(self.weights, sha256_of(self.weights), lambda _: Engine(), placement)
        try:
            yield replicas, await up(replicas, lambda listed: len(listed) == count)
        finally:
            await replicas.close()


async def up(replicas: Replicas, condition: Callable[[Sequence[Server]], bool]) -> Sequence[Server]:
    async with asyncio.timeout(20):
        while True:
            if condition(listed := await Up(replicas).listed()):
                return listed
            await asyncio.sleep(0.01)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"w")
    made = Cluster(weights)
    CuttableServer.writers = made.writers
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    monkeypatch.setattr(ray_cluster, "join", lambda: made.ray)
    monkeypatch.setattr(ray_cluster, "leave", lambda: None)
    monkeypatch.setattr(ray_worker, "_node_id", lambda: "node")
    monkeypatch.setattr(ray_worker, "_node_address", lambda: "127.0.0.1")
    monkeypatch.setattr(ray_worker, "CallServer", CuttableServer)
    monkeypatch.setattr(ray_replicas, "_MIN_RESTART_S", 0.01)
    monkeypatch.setattr(ray_replicas, "_MAX_WAIT_FOR_REASON_S", 0.05)
    return made


def ask(server: Server, seeds: Sequence[int]) -> list[asyncio.Task[Reply]]:
    return [asyncio.create_task(server.answer(replace(QUESTION, seed=seed))) for seed in seeds]


async def asked(engine: Engine, count: int) -> None:
    """Wait until an engine has so many requests, besides those with which it warms up."""
    async with asyncio.timeout(10):
        while sum(seed != 1 for seed in engine.asked) < count:
            engine.called.clear()
            await engine.called.wait()


async def test_calls_go_over_the_connection_and_not_by_rays_messages(cluster: Cluster) -> None:
    async with cluster.replicas() as (_, (server,)):
        cluster.engine(0).release(2, 3, 4)
        replies = await asyncio.gather(*ask(server, [4, 2, 3]))
    assert [reply.text for reply in replies] == ["reply 4", "reply 2", "reply 3"]
    assert "answer" not in cluster.ray.messages


@pytest.mark.parametrize("why", ["no port", "unreachable", "encrypted"])
async def test_calls_go_by_rays_messages_where_there_can_be_no_connection(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    async def refuse(*_: object) -> None:
        raise OSError("no")

    if why == "encrypted":
        monkeypatch.setenv("RAY_USE_TLS", "1")
    monkeypatch.setattr(*{"no port": (CuttableServer, "listen", refuse)}.get(why, (ray_replicas, "connect", refuse)))
    async with cluster.replicas() as (_, (server,)):
        cluster.engine(0).release(2, 3)
        replies = await asyncio.gather(*ask(server, [3, 2]))
        assert await server.look() == {}
    assert [reply.text for reply in replies] == ["reply 3", "reply 2"]
    assert cluster.ray.messages.count("answer") == 2
    assert ("listen" in cluster.ray.messages) == (why != "encrypted")


async def test_one_call_of_several_may_fail_and_each_error_is_its_own(cluster: Cluster) -> None:
    async with cluster.replicas() as (_, (server,)):
        cluster.engine(0).release(7, 8, 9, 10)
        right, refused, bug, last = await asyncio.gather(*ask(server, [7, 8, 9, 10]), return_exceptions=True)
        assert await server.look() == {}
    assert isinstance(right, Reply)
    assert isinstance(last, Reply)
    assert (right.text, last.text) == ("reply 7", "reply 10")
    assert isinstance(refused, RejectedError)
    assert (refused.kind, str(refused)) == ("too long", "the prompt has too many tokens")
    assert isinstance(bug, UnavailableError)
    assert (bug.kind, bug.maybe_billed) == ("connection", True)
    assert str(bug).startswith("replica 1 on ")
    assert "RuntimeError: a bug" in str(bug)
    assert str(bug).isprintable()
    assert len(str(bug)) < 500


@pytest.mark.parametrize("end", ["killed", "cut"])
async def test_a_replica_lost_among_its_calls_fails_those_under_way_and_is_replaced(cluster: Cluster, end: str) -> None:
    async with cluster.replicas(2) as (replicas, (first, second)):
        calls = ask(first, range(10, 17))
        await asked(cluster.engine(0), 7)
        cluster.engine(0).release(12, 14)
        assert [(await calls[number]).text for number in (2, 4)] == ["reply 12", "reply 14"]
        cluster.cut(0)
        if end == "killed":
            cluster.ray.actors[0].kill()
        results = await asyncio.gather(*calls, return_exceptions=True)
        lost = [seed for seed, result in zip(range(10, 17), results, strict=True) if isinstance(result, BaseException)]
        assert lost == [10, 11, 13, 15, 16]
        for result in results:
            assert isinstance(result, Reply | UnavailableError)
            assert not isinstance(result, UnavailableError) or (result.kind, result.maybe_billed) == (
                "connection",
                True,
            )
        with pytest.raises(UnavailableError, match="connection to it was lost"):
            await first.look()
        cluster.engine(1).release(*lost)
        assert [reply.text for reply in await asyncio.gather(*ask(second, lost))] == [f"reply {seed}" for seed in lost]
        assert (await Up(replicas).listed())[0] is not first  # it is not called until Ray reports its end, either
        third = (await up(replicas, lambda listed: len(listed) == 2 and listed[0] is not first))[0]
        assert cluster.ray.actors[0].killed
        cluster.engine(2).release(20)
        assert (await ask(third, [20])[0]).text == "reply 20"
    assert [cluster.engine(replica).asked.count(12) for replica in range(3)] == [1, 0, 0]
    assert all(actor.killed for actor in cluster.ray.actors)


async def test_a_replica_taken_to_be_dead_fails_its_calls_at_once(cluster: Cluster) -> None:
    async with cluster.replicas() as (_, (server,)):
        calls = ask(server, [2, 3])
        await asked(cluster.engine(0), 2)
        server.abandon()
        for result in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(result, UnavailableError)
            assert result.maybe_billed
    assert cluster.ray.actors[0].killed


async def test_a_replica_whose_connection_is_silent_does_not_count_as_up(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ping(_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ray_replicas, "_SILENCE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(ray_connection.CallConnection, "ping", ping)
    async with cluster.replicas() as (_, (server,)):
        with pytest.raises(UnavailableError, match="has been silent") as raised:
            await server.look()
    assert raised.value.kind == "timeout"


async def test_a_cancelled_call_leaves_the_others_as_they_are(cluster: Cluster) -> None:
    async with cluster.replicas() as (_, (server,)):
        cancelled, kept = ask(server, [2, 3])
        await asked(cluster.engine(0), 2)
        cancelled.cancel()
        cluster.engine(0).release(2, 3, 4)
        assert (await kept).text == "reply 3"
        assert (await ask(server, [4])[0]).text == "reply 4"
        assert cancelled.cancelled()
