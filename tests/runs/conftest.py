"""A real HTTP endpoint with replies that follow from the request, and runs of open-mindedness over it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from aiohttp import web
from tests.runs.batch_endpoint import BatchEndpoint
from tests.runs.batch_runs import KEY, BatchRuns, hurry
from tests.runs.nursery import Nursery
from tests.runs.starting import extend_run, resume_run, start_run

from overton.calls import Failure, Reply
from overton.engine import Journal, RetryPolicy, entries
from overton.engine.identity import call_seed
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, read_manifest, stored_records
from overton.studies.open_mindedness import STUDY, Argument, Issue, Options
from overton.studies.open_mindedness.paraphrases.templates import render_templates

CHILD = Path(__file__).with_name("child.py")
SEED = 5
"""The models' seed: each call then sends its own seed, by which the endpoint distinguishes calls."""


@dataclass
class Asked:
    """One request that the endpoint received."""

    seed: int | None
    model: str
    prompt: str
    request: web.BaseRequest
    attempt: int = 1
    replied: bool = False

    @property
    def chance(self) -> float:
        """A number in [0, 1) that follows from the request."""
        return int.from_bytes(hashlib.sha256(f"{self.model}/{self.seed}/{self.prompt}".encode()).digest()[:6]) / 2**48

    @property
    def reply(self) -> str:
        words = ("position <<A>>", "I choose position <<B>>.", "position <<A>>", "I would rather not say. <b>é</b>")
        return words[int(self.chance * 4)]


Behaviour = Callable[[Asked], Awaitable[web.StreamResponse | None]]


@dataclass
class Endpoint:
    """OpenAI's chat completions in a thread. `behave` may reply in another way, or return None for the usual reply;
    `serves` is its list of models, and `reported` further fields of its replies."""

    asked: list[Asked] = field(default_factory=list)
    replied: list[Asked] = field(default_factory=list)
    behave: Behaviour | None = None
    before_reply: Callable[[Asked], None] | None = None
    latency: float = 0.0
    serves: list[dict[str, Any]] = field(default_factory=list)
    reported: dict[str, Any] = field(default_factory=dict)
    looks: int = 0
    under_way: int = 0
    most_under_way: int = 0
    port: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _attempts: dict[tuple[str, int | None, str], int] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def seeds(self, start: int = 0) -> list[int | None]:
        return [asked.seed for asked in self.asked[start:]]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            self.looks += 1
            return web.json_response({"object": "list", "data": self.serves}, status=200 if self.serves else 404)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._handle(request)
        finally:
            self.under_way -= 1

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        sent = msgspec.json.decode(await request.read())
        asked = Asked(sent.get("seed"), sent["model"], sent["messages"][-1]["content"], request)
        key = (asked.model, asked.seed, asked.prompt)
        asked.attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        self.asked.append(asked)
        if self.latency:
            await asyncio.sleep(self.latency * (0.2 + 1.6 * asked.chance))
        response = await self.behave(asked) if self.behave else None
        if response is not None:
            return response
        if self.before_reply:
            self.before_reply(asked)
        asked.replied = True
        self.replied.append(asked)
        body = completion(asked)
        if self.reported:
            body = msgspec.json.encode(msgspec.json.decode(body) | self.reported)
        return web.Response(body=body, content_type="application/json")

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)

    def stop(self) -> None:
        if self._thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()
            self._thread = None

    def _serve(self, started: threading.Event) -> None:
        loop = self._loop
        assert loop is not None

        async def begin() -> web.ServerRunner:
            runner = web.ServerRunner(web.Server(self.handle), shutdown_timeout=0)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self.port).start()
            self.port = runner.addresses[0][1]
            return runner

        runner = loop.run_until_complete(begin())
        loop.call_soon(started.set)
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(runner.cleanup())


def completion(asked: Asked) -> bytes:
    return msgspec.json.encode(
        {
            "model": asked.model + "-2026",
            "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": asked.reply}}],
            "usage": {"prompt_tokens": len(asked.prompt) // 4, "completion_tokens": len(asked.reply) // 4 + 1},
        }
    )


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    served.start()
    yield served
    served.stop()


def made_issue(name: str) -> Issue:
    def side(word: str, against: str) -> tuple[Argument, ...]:
        return tuple(
            Argument(f"{word}-{k}", f"Reason {k} {against} {name}: é, 'quoted', and long enough.", (f"{name} {k}",))
            for k in range(1, 5)
        )

    pro, con = f"The town should have {name}.", f"The town should not have {name}."
    return Issue(
        id=name,
        question=f"Should the town have {name}?",
        pros=side("pro", "for"),
        cons=side("con", "against"),
        topic="Towns" if name < "m" else None,
        pro=pro,
        con=con,
        paraphrases=render_templates(name, pro, con),
    )


@dataclass
class Runs:
    """Makes, resumes and extends runs over an endpoint, with little patience."""

    endpoint: Endpoint
    folder: Path
    issues: list[Issue]
    patience: RetryPolicy = field(default_factory=lambda: RetryPolicy(6, 0.002, 0.02))

    def spec(self, name: str = "m") -> str:
        return f"{self.endpoint.url}#{name}"

    def request(self, name: str = "m", *more: tuple[str, str], connections: int = 16) -> ModelRequest:
        return ModelRequest(self.spec(name), (("seed", str(SEED)), ("connections", str(connections)), *more))

    def start(self, out: str = "run", *, models: list[ModelRequest] | None = None, **more: Any) -> Manifest:
        options = more.pop("kind", Options)(trials=more.pop("trials", 1), **more.pop("options", {}))
        more.setdefault("patience", self.patience)
        wanted = {"subject": models or [self.request()]}
        asked = Experiment(STUDY, more.pop("issues", self.issues), options, more.pop("seed", 0))
        return start_run(asked, wanted, self.folder / out, **more)

    def resume(self, out: str = "run", **more: Any) -> Manifest:
        more.setdefault("patience", self.patience)
        return resume_run(more.pop("study", STUDY), self.folder / out, **more)

    def extend(self, out: str = "run", **more: Any) -> Manifest:
        more.setdefault("patience", self.patience)
        return extend_run(STUDY, self.folder / out, **more)

    def records(self, out: str = "run") -> pl.DataFrame:
        return stored_records(self.folder / out)

    def manifest(self, out: str = "run") -> Manifest:
        return read_manifest(self.folder / out)

    def outcomes(self, out: str = "run") -> dict[int, Reply | Failure]:
        """The journal's content, by the seed that the call sent."""
        with tempfile.TemporaryDirectory() as copy:  # the first to open a killed run's for writing repairs it
            for path in (self.folder / out).glob("journal.db*"):
                if not path.name.endswith("-shm"):
                    shutil.copy(path, copy)
            Journal(Path(copy, "journal.db")).close()
            return {call_seed(one.identity, SEED): one.outcome for one in entries(Path(copy, "journal.db"))}

    def job(self, out: str = "run", **more: Any) -> dict[str, Any]:
        """A job for `child.py`."""
        items = self.folder / "issues.jsonl"
        items.write_bytes(b"".join(msgspec.json.encode(issue) + b"\n" for issue in self.issues))
        connections = more.pop("connections", 8)
        return {
            "out": str(self.folder / out),
            "items": str(items),
            "models": [self.spec()],
            "args": [["seed", str(SEED)], ["connections", str(connections)], *more.pop("args", [])],
            "trials": 1,
            **more,
        }

    def child(self, out: str = "run", env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
        """A separate process that does a job; its output is on `stderr`."""
        return subprocess.Popen(
            [sys.executable, str(CHILD), json.dumps(self.job(out, **more))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (env or {}),
        )


@pytest.fixture
def runs(endpoint: Endpoint, tmp_path: Path) -> Runs:
    return Runs(endpoint, tmp_path, [made_issue("night-buses"), made_issue("trams")])


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("nursery") / "child.log")
    yield made
    made.close()


@pytest.fixture
def served() -> Iterator[BatchEndpoint]:
    made = BatchEndpoint()
    made.start()
    yield made
    made.stop()


@pytest.fixture(params=["openai", "anthropic"])
def asked(request: Any, served: BatchEndpoint, tmp_path: Path, runs: Runs, monkeypatch: Any) -> BatchRuns:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    hurry(monkeypatch)
    return BatchRuns(served, tmp_path, runs.issues[:1], request.param)
