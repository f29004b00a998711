"""What Ray costs: a call to a replica beside one in process, and how near stub replicas come to their ideal.

    python benchmarks/fleet_ray.py [--seconds 5] [--replicas 1 8] [--latency 20 200] [--copies 1] [--kills 10]

A local cluster is started on the loopback. Each replica answers as many calls at a time as it has copies, and is sent
twice as many, as `ray/` models are. 'Share' is calls a second beside replicas * copies / latency. With `--kills`, one
of two nodes is killed and another added at that many random moments; every reply has to be the one that this process
gives.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "plugins"))

from on_ray import add_node, nodes, variables, write_gguf
from ray_engine import reply_to, stub

from overton.calls import Request, Server, Settings, user
from overton.errors import UnavailableError
from overton.models.gguf import sha256_of
from overton.models.ray_replicas import Placement, Replicas, Up

QUESTION = Request((user("Should the town have night buses? " * 20),), Settings(temperature=0.0, max_tokens=16), seed=7)


def main() -> None:
    """Print the figures."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=5.0, help="how long each point is measured")
    asked.add_argument("--replicas", type=int, nargs="*", default=[1, 8])
    asked.add_argument("--latency", type=float, nargs="*", default=[20.0, 200.0], help="of a stub, in ms")
    asked.add_argument("--copies", type=int, default=1, help="calls that each replica answers at a time")
    asked.add_argument("--sent", type=int, default=2, help="calls that it is sent, for each that it answers")
    asked.add_argument("--kills", type=int, default=0)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = write_gguf(Path(folder) / "stub.gguf")
        with variables():
            asyncio.run(_overhead(weights, weights.read_bytes(), given.seconds))
            for replicas in given.replicas:
                for latency in given.latency:
                    asyncio.run(
                        _throughput(weights, (replicas, given.copies, given.sent), latency / 1000, given.seconds)
                    )
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
        f"a call: {1e3 * median:.2f} ms median, {1e3 * slow:.2f} ms at 95%; {1e3 * core:.2f} ms of the run's own core"
    )
    print(f"the same in process: {1e3 * here:.3f} ms", flush=True)


async def _throughput(weights: Path, shape: tuple[int, int, int], latency: float, seconds: float) -> None:
    number, copies, sent = shape
    replicas = _replicas(weights, number, copies * sent, latency, copies)
    try:
        up, answered = await _up(replicas, number), 0
        before, began = _own_seconds(), perf_counter()

        async def ask(server: Server) -> None:
            nonlocal answered
            while perf_counter() - began < seconds:
                await server.answer(QUESTION)
                answered += 1

        await asyncio.gather(*(ask(server) for server in up for _ in range(copies * sent)))
        rate, busy = answered / (perf_counter() - began), (_own_seconds() - before) / (perf_counter() - began)
    finally:
        await replicas.close()
    ideal = number * copies / latency
    print(
        f"{number} x {copies} at {1e3 * latency:.0f} ms: {rate:.0f} calls/s of {ideal:.0f}, share {rate / ideal:.0%};"
        f" the run's process had {busy:.0%} of a core",
        flush=True,
    )


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
