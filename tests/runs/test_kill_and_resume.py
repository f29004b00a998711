"""Killed at any moment and resumed, a run gives the same records, and no journaled call is made again."""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import closing, suppress
from typing import Any

import pytest
from aiohttp import web
from tests.runs.nursery import Nursery

from overton.engine import Limits
from overton.runs.run import Run, open_journal

CONNECTIONS = 8
KILLS = 24
TRIALS = 2
CALLS = 2 * 11 * 6 * TRIALS
WINDOW = 150
"""More replies than the endpoint gives in a commit window, even if the disk is slow."""


class Executioner:
    """A killer of processes: at the n-th request, just before the n-th reply, soon after the start, or soon after the
    last reply. After its last reply a process closes its journal and writes its records."""

    def __init__(self, endpoint: Any, chance: random.Random, remaining: int) -> None:
        self._endpoint = endpoint
        self._kind = chance.choices(["request", "reply", "start", "end"], [5, 4, 3, 4])[0]
        self._number = remaining if self._kind == "end" else chance.randrange(1, 45)
        self._seconds = chance.uniform(0, 0.15)
        self._target = threading.Event()
        self._pid = 0
        self._timer: threading.Timer | None = None

    def arm(self) -> None:
        """Before the process is started, so that no request escapes notice."""
        if self._kind == "request":
            self._endpoint.behave = self._on_request
        elif self._kind in ("reply", "end"):
            self._endpoint.before_reply = self._on_reply

    def aim(self, pid: int) -> None:
        self._pid = pid
        self._target.set()
        if self._kind == "start":
            self._kill_soon()

    def disarm(self) -> None:
        self._endpoint.behave = self._endpoint.before_reply = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    async def _on_request(self, asked: Any) -> None:
        self._count()

    def _on_reply(self, asked: Any) -> None:
        self._count()

    def _count(self) -> None:
        self._number -= 1
        if self._number == 0 and self._target.wait(10):
            (self._kill_soon if self._kind == "end" else self._kill)()

    def _kill_soon(self) -> None:
        self._timer = threading.Timer(self._seconds, self._kill)
        self._timer.start()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):  # it may have just ended, before its nursery noticed
            os.kill(self._pid, signal.SIGKILL)


def test_killed_at_random_moments_and_resumed(runs: Any, endpoint: Any, nursery: Nursery) -> None:
    endpoint.latency = 0.004
    assert runs.start("whole", trials=TRIALS).status == "finished"
    whole = runs.records("whole")
    assert whole.height == CALLS == len(set(endpoint.seeds()))

    chance, kills, number = random.Random(2024), 0, 0
    while kills < KILLS:
        number += 1
        out, begun = f"run-{number}", len(endpoint.asked)
        job = runs.job(out, connections=CONNECTIONS, trials=TRIALS)
        status, known = -signal.SIGKILL, []
        while status != 0:
            session, replies = len(endpoint.asked), len(endpoint.replied)
            executioner = Executioner(endpoint, chance, CALLS - len(runs.outcomes(out)))
            if kills < KILLS:
                executioner.arm()
            pid = nursery.start(job)
            if kills < KILLS:
                executioner.aim(pid)
            status = nursery.status()
            executioner.disarm()
            assert status in (0, -signal.SIGKILL), nursery.log.read_text()
            kills += status != 0
            journaled = runs.outcomes(out)
            check_lost(endpoint, session, replies, journaled)
            known.append((len(endpoint.asked), set(journaled)))
        for asked_before, journaled_then in known:
            assert journaled_then.isdisjoint(endpoint.seeds(asked_before))
        assert set(endpoint.seeds(begun)) == set(endpoint.seeds()[:CALLS])
        assert runs.records(out).equals(whole)
        manifest = runs.manifest(out)
        assert (manifest.status, manifest.missing, manifest.spent.failed) == ("finished", {runs.spec(): []}, 0)
        assert {path.name for path in (runs.folder / out).iterdir()} - {"journal.lock"} == {
            "manifest.json",
            "items.jsonl",
            "journal.db",
            "records.parquet",
            "study.toml",
        }


PRICE = (10.0, 100.0)


async def fails_now_and_then(asked: Any) -> web.Response | None:
    return web.Response(status=500) if asked.attempt == 1 and asked.chance < 0.3 else None


def billed(endpoint: Any) -> float:
    """The endpoint's bill for its replies, including unread ones."""
    return sum(
        (len(one.prompt) // 4 * PRICE[0] + (len(one.reply) // 4 + 1) * PRICE[1]) / 1e6 for one in endpoint.replied
    )


class AtReply:
    """Kills a process just before the n-th reply that the endpoint gives from now on."""

    def __init__(self, endpoint: Any, number: int) -> None:
        self._number = number
        self._target = threading.Event()
        self._pid = 0
        endpoint.before_reply = self._on_reply

    def aim(self, pid: int) -> None:
        self._pid = pid
        self._target.set()

    def _on_reply(self, asked: Any) -> None:
        self._number -= 1
        if self._number <= 0 and self._target.wait(10):
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ((150, 9.0), "calls"),
        *(pytest.param(*case, marks=pytest.mark.long) for case in [((9_000, 0.25), "cost"), ((60, 0.4), "calls")]),
    ],
)
def test_no_limit_is_passed_however_often_a_run_is_killed(
    runs: Any, endpoint: Any, nursery: Nursery, limits: tuple[int, float], reached: str
) -> None:
    most_calls, most_cost = limits
    endpoint.latency, endpoint.behave = 0.004, fails_now_and_then
    job = runs.job(connections=4, price=PRICE, max_calls=most_calls, max_cost=most_cost, args=[["max_tokens", "40"]])
    chance, kills, status = random.Random(most_calls), 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        killer = AtReply(endpoint, chance.randrange(1, 16))
        killer.aim(nursery.start(job))
        status = nursery.status()
        kills += status == -signal.SIGKILL
        assert status in (4, -signal.SIGKILL), nursery.log.read_text()
        assert len(endpoint.asked) <= most_calls
        assert billed(endpoint) <= most_cost
    assert kills > 2
    manifest = runs.manifest()
    assert (manifest.status, manifest.reached) == ("stopped", reached)
    assert len(endpoint.asked) <= manifest.spent.requests <= most_calls
    assert billed(endpoint) <= manifest.spent.cost <= most_cost * (1 + 1e-9)
    endpoint.before_reply = None
    assert runs.resume(limits=Limits(cost=99.0, calls=99_000)).status == "finished"
    runs.start("whole", models=[runs.request("m", ("max_tokens", "40"))])
    assert runs.records().equals(runs.records("whole"))


def test_a_kill_counts_at_most_the_calls_in_flight_and_one_block(runs: Any, endpoint: Any, nursery: Nursery) -> None:
    endpoint.latency = 0.004
    for number in (1, 20, 60, 100):
        out, asked = f"run-{number}", len(endpoint.asked)
        killer = AtReply(endpoint, number)
        killer.aim(nursery.start(runs.job(out, connections=4)))
        assert nursery.status() == -signal.SIGKILL
        sent, endpoint.before_reply = len(endpoint.asked) - asked, None
        with closing(open_journal(Run(runs.folder / out))) as journal:
            assert journal.left is not None
            assert sent <= journal.left.requests <= sent + 4 + max(4, WINDOW)


def check_lost(endpoint: Any, session: int, replies: int, journaled: Any) -> None:
    """Check that calls which this session paid for but did not keep were in flight, or among the last replies."""
    lost = set(endpoint.seeds(session)) - set(journaled)
    assert len(lost) <= CONNECTIONS + WINDOW
    order = [asked.seed in journaled for asked in endpoint.replied[replies:]]
    kept = len(order) - order[::-1].index(True) if True in order else 0
    assert order[:kept].count(False) <= CONNECTIONS
