"""The cost of Ray: a call to a replica compared with one in process, and how near stub replicas come to their ideal.

    python benchmarks/fleet_ray.py [--seconds 5] [--replicas 1 8] [--latency 20 200] [--copies 1] [--sent 2]
                                   [--groups 1 5 20] [--places 256] [--kills 10]

A local cluster is started on the loopback. Each replica answers as many calls at a time as it has copies, and is sent
`--sent` times as many; `ray/` models are sent twice as many. 'Share' is calls a second over replicas * copies /
latency. CPU time is that of the run's process, of the replicas and of Ray's own processes, while calls are made, over
the number of calls; on Linux only. 'Idle' is the use of all processes before the first call.

With `--groups`, Overton is not measured. Actors that return their argument get Ray's own messages, two at a time, each
with as many calls of 700 bytes. With `--places`, Ray is not measured. Four processes have the replicas' ends of so many
connections, to show the load that the run's end bears. With `--kills`, one of two nodes is killed and another added at
that many random moments; every reply has to be the one that this process gives.

The table of the page on fleets has medians of three runs by messages and three by connections, in turn, on two cores
with a load average of 17 to 41. Without other programs, connections reached 94% of the ideal on 8 replicas with one
call sent to each and 97% with two, and on 64 replicas 2,840 and 2,810 calls a second. A call that takes no time had its
reply after 0.24 ms (0.40 ms for one in twenty), by messages after 1.7 ms (6.5 ms). 64 idle Ray workers keep half a core
busy.

Groups in Ray's messages gain little. A message takes 0.8 to 1.0 ms of the run's CPU and 1.0 to 3.0 ms of the
replica's, whether it carries one call or twenty. So 64 actors that do nothing get 450 to 600 messages a second on two
cores. A replica that is sent one or two calls cannot be sent groups, because the second call has to be there when the
first is answered. Groups of five would need ten calls sent to each, and end at 3,000 calls a second. A connection
needs no such reserve. All calls of a moment go in one write, and so do all replies. With 64 copies in one replica a
call takes 0.02 ms of the run's CPU that way, and 0.08 ms if each has a write of its own.

A fleet of 256 has not been run on Ray, since its idle workers alone would keep two cores busy. On these, `--places
256` gave 3,800 to 5,600 calls a second at 20 ms, 29 to 44% of the ideal, and 90 to 96% at 200 ms. A call took 0.05 to
0.07 ms of the run's CPU; in a process that has joined Ray it is 0.13 ms. One core then ends at 7,700 calls a second,
or at about 4,000 with the engine's own 0.12 ms: 256 places are kept busy by answers of 64 ms or longer.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugins"))

import msgspec
from on_ray import add_node, nodes, variables, write_gguf
from ray_engine import reply_to, stub

from overton.calls import Request, Server, Settings, user
from overton.errors import UnavailableError
from overton.models import ray_cluster
from overton.models.gguf import sha256_of
from overton.models.http_client import encoded
from overton.models.ray_connection import CallConnection, CallServer, connect
from overton.models.ray_replicas import Placement, Replicas, Up
from overton.models.ray_worker import ReplicaMessage

QUESTION = Request((user("Should the town have night buses? " * 20),), Settings(temperature=0.0, max_tokens=16), seed=7)


def main() -> None:
    """Print the figures."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=5.0, help="how long each point is measured")
    asked.add_argument("--replicas", type=int, nargs="*", default=[1, 8])
    asked.add_argument("--latency", type=float, nargs="*", default=[20.0, 200.0], help="of a stub, in ms")
    asked.add_argument("--copies", type=int, default=1, help="calls that each replica answers at a time")
    asked.add_argument(
        "--sent", type=int, nargs="*", default=[2], help="calls that it is sent, for each that it answers"
    )
    asked.add_argument("--groups", type=int, nargs="*", default=[], help="calls in each of Ray's messages")
    asked.add_argument("--places", type=int, nargs="*", default=[], help="connections without Ray")
    asked.add_argument("--kills", type=int, default=0)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = write_gguf(Path(folder) / "stub.gguf")
        with variables():
            if given.replicas:
                asyncio.run(_overhead(weights, weights.read_bytes(), given.seconds))
            for replicas, latency, sent in product(given.replicas, given.latency, given.sent):
                shape = replicas, given.copies, sent
                asyncio.run(_throughput(weights, shape, latency / 1000, given.seconds))
            for replicas, group in product(given.replicas, given.groups):
                asyncio.run(_messages(replicas, group, given.seconds))
        for places, latency, sent in product(given.places, given.latency, given.sent):
            asyncio.run(_connections(places, sent, latency / 1000, given.seconds))
        if given.kills:
            _kills(weights, given.kills)


def _replicas(weights: Path, number: int, at_once: int, latency: float, copies: int = 0) -> Replicas:
    engine = partial(stub, latency=latency, copies=copies, name="stub", identity="stub", hold=False)
    return Replicas(weights, sha256_of(weights), engine, Placement(number, cpus=0.01, at_once=at_once))


async def _up(replicas: Replicas, number: int) -> Sequence[Server]:
    while True:
        up = await Up(replicas).listed()
        if len(up) >= number:
            return up
        await asyncio.sleep(0.2)


async def _overhead(weights: Path, content: bytes, seconds: float) -> None:
    """One call at a time, whose answer takes no time: through Ray, and in this process."""
    replicas = _replicas(weights, 1, 1, 0.0)
    try:
        (server,) = await _up(replicas, 1)
        taken, before = [], _own_seconds()
        end = perf_counter() + seconds
        while perf_counter() < end:
            began = perf_counter()
            await server.answer(QUESTION)
            taken.append(perf_counter() - began)
        core = (_own_seconds() - before) / len(taken)
        began = perf_counter()
        for _ in range(1000):
            reply_to(QUESTION, content)
        here = (perf_counter() - began) / 1000
    finally:
        await replicas.close()
    taken.sort()
    median, slow = taken[len(taken) // 2], taken[len(taken) * 95 // 100]
    print(
        f"a call: {1e3 * median:.2f} ms median, {1e3 * slow:.2f} ms at 95%, {1e3 * core:.2f} ms of the run's own core"
    )
    print(f"the same in process: {1e3 * here:.3f} ms", flush=True)


async def _throughput(weights: Path, shape: tuple[int, int, int], latency: float, seconds: float) -> None:
    number, copies, sent = shape
    replicas = _replicas(weights, number, copies * sent, latency, copies)
    try:
        up = await _up(replicas, number)
        idle = _Use()
        await asyncio.sleep(seconds / 2)
        resting = idle.cores()
        calling = _Use()
        answered = await _answered_within(
            seconds, [partial(_ask, server) for server in up for _ in range(copies * sent)]
        )
        rate, used = answered / calling.elapsed(), calling.per_call(answered)
    finally:
        await replicas.close()
    ideal = number * copies / latency
    print(
        f"{number} x {copies} at {1e3 * latency:.0f} ms, {sent} sent: {rate:.0f} calls/s of {ideal:.0f}, share"
        f" {rate / ideal:.0%}, {used}, {resting:.2f} cores when idle",
        flush=True,
    )


async def _ask(server: Server) -> None:
    await server.answer(QUESTION)


async def _answered_within(seconds: float, ways: Sequence[Callable[[], Awaitable[None]]]) -> int:
    """How many calls are answered if each way to call is used again and again."""
    answered, end = 0, perf_counter() + seconds

    async def repeat(ask: Callable[[], Awaitable[None]]) -> None:
        nonlocal answered
        while perf_counter() < end:
            await ask()
            answered += 1

    await asyncio.gather(*map(repeat, ways))
    return answered


async def _messages(number: int, group: int, seconds: float) -> None:
    """Ray's own messages to actors that do nothing."""
    ray = await asyncio.to_thread(ray_cluster.join)
    try:
        kind = ray.remote(_Echo).options(num_cpus=0.01, max_concurrency=10)
        actors, content = [kind.remote() for _ in range(number)], bytes(700 * group)
        await asyncio.gather(*(actor.echo.remote(content) for actor in actors))
        calling = _Use()

        async def send(actor: Any) -> None:
            await actor.echo.remote(content)

        sent = await _answered_within(seconds, [partial(send, actor) for actor in actors for _ in range(2)])
        rate, used = group * sent / calling.elapsed(), calling.per_call(group * sent)
    finally:
        await asyncio.to_thread(ray_cluster.leave)
    print(f"Ray alone, {number} actors, {group} calls in a message: {rate:.0f} calls/s, {used}", flush=True)


class _Echo:
    """An actor that does nothing."""

    async def echo(self, content: bytes) -> bytes:
        """Return the argument."""
        return content


_HOSTS = 4
_SECRET = b"of this benchmark"


async def _connections(number: int, sent: int, latency: float, seconds: float) -> None:
    """Connections to places that answer one call at a time, several in a process."""
    context, results = get_context("spawn"), get_context("spawn").SimpleQueue()
    hosts = [
        context.Process(target=_host, args=(number // _HOSTS, latency, results), daemon=True) for _ in range(_HOSTS)
    ]
    for host in hosts:
        host.start()
    try:
        ports = [port for _ in hosts for port in await asyncio.to_thread(results.get)]
        connections = [await connect("127.0.0.1", port, _SECRET) for port in ports]
        decode = msgspec.json.Decoder(ReplicaMessage).decode

        async def ask(connection: CallConnection) -> None:
            decode(await connection.call(encoded(QUESTION)))

        calling = _Use()
        ways = [partial(ask, connection) for connection in connections for _ in range(sent)]
        answered = await _answered_within(seconds, ways)
        rate, used = answered / calling.elapsed(), calling.per_call(answered)
        for connection in connections:
            connection.close()
    finally:
        for host in hosts:
            host.terminate()
    ideal = len(ports) / latency
    print(
        f"without Ray, {len(ports)} places at {1e3 * latency:.0f} ms, {sent} sent: {rate:.0f} calls/s of {ideal:.0f},"
        f" share {rate / ideal:.0%}, {used}",
        flush=True,
    )


def _host(number: int, latency: float, results: Any) -> None:
    """Have so many places in this process, until it is ended."""

    async def run() -> None:
        results.put([await _place(latency) for _ in range(number)])
        await asyncio.Event().wait()

    asyncio.run(run())


async def _place(latency: float) -> int:
    free, reply = asyncio.Semaphore(1), msgspec.json.encode(ReplicaMessage(reply=reply_to(QUESTION, b"")))

    async def answer(_: bytes) -> bytes:
        async with free:
            await asyncio.sleep(latency)
        return reply

    return await CallServer(_SECRET, answer, lambda error: repr(error).encode()).listen("127.0.0.1")


class _Use:
    """Time since it was made, on the clock and of processors."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._before = _seconds_used()

    def elapsed(self) -> float:
        """Seconds on the clock."""
        return perf_counter() - self._began

    def cores(self) -> float:
        """Processors that all processes together kept busy."""
        return sum(self._used().values()) / self.elapsed()

    def per_call(self, calls: int) -> str:
        """Processor time, in words."""
        used = ", ".join(f"{who} {1e3 * seconds / calls:.2f}" for who, seconds in self._used().items())
        return f"CPU per call in ms: {used}"

    def _used(self) -> dict[str, float]:
        now = _seconds_used()
        return {who: now[who] - self._before[who] for who in now}


def _seconds_used() -> dict[str, float]:
    """CPU time so far of this process, the replicas, and other processes that it started, as Ray's own."""
    used = {"run": _own_seconds(), "replicas": 0.0, "others": 0.0}
    for process in _descendants():
        used["replicas" if process.is_actor else "others"] += process.seconds
    return used


class _Process(NamedTuple):
    parent: int
    seconds: float
    title: str

    @property
    def is_actor(self) -> bool:
        """Whether it runs an actor; Ray names its own agents in the same way."""
        return self.title.startswith("ray::") and "Agent" not in self.title


def _descendants() -> list[_Process]:
    known = {int(path.name): found for path in Path("/proc").glob("[0-9]*") if (found := _process(path)) is not None}
    children, found = {os.getpid()}, list[_Process]()
    while children:
        children = {number for number, process in known.items() if process.parent in children}
        found += [known[number] for number in children]
    return found


def _process(path: Path) -> _Process | None:
    """A process by its entry in /proc, None if it has ended."""
    try:
        fields = (path / "stat").read_text().rpartition(")")[2].split()
        title = (path / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return None
    return _Process(int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), title)


def _own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _kills(weights: Path, number: int) -> None:
    """Nodes killed and added at random moments, while sixteen ask: each call is answered in the end, and rightly."""
    expected = reply_to(QUESTION, weights.read_bytes())

    async def run() -> None:
        with nodes(2) as made:
            replicas, chosen = _replicas(weights, 4, 4, 0.02), random.Random(1)
            answered = again = 0
            over = asyncio.Event()

            async def ask() -> None:
                nonlocal answered, again
                while not over.is_set():
                    up = await Up(replicas).listed()
                    try:
                        assert await chosen.choice(up).answer(QUESTION) == expected
                        answered += 1
                    except UnavailableError:
                        again += 1
                        await asyncio.sleep(0.05)

            asking = [asyncio.create_task(ask()) for _ in range(16)]
            try:
                await _up(replicas, 1)
                for _ in range(number):
                    await asyncio.sleep(chosen.uniform(0.2, 3))
                    await asyncio.to_thread(add_node, made)
                    lost = chosen.choice(sorted(made.worker_nodes, key=id))
                    await asyncio.to_thread(made.remove_node, lost, allow_graceful=False)
                await _up(replicas, 1)
                over.set()
                await asyncio.gather(*asking)
            finally:
                await replicas.close()
            print(f"{number} nodes killed and added: {answered} calls answered, {again} asked again, none other")

    asyncio.run(run())


if __name__ == "__main__":
    main()
