"""A replica's messages pass as bytes: replies and every kind of error come out as they went in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from overton.calls import Alternative, Form, Reply, Request, Settings, Spot, Usage, user
from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError
from overton.models import ray_cluster
from overton.models.ray_replicas import Placement, Replicas
from overton.models.ray_weights import Sought
from overton.models.ray_worker import Worker

QUESTION = Request((user("für Élodie 🦙"),), Settings(temperature=0.1, extra={"k": [1, 2.5]}), Form(("a", "b")), seed=3)
REPLY = Reply("<b>\n🦙", spots=(Spot(1, "A", (Alternative("A", 0.1 + 0.2, 1 / 3),)),), usage=Usage(1, None))


class Engine:
    """Answers with what it is given, and records its requests."""

    name = identity = "engine"
    holds_form = False

    def __init__(self, result: Reply | AnswerError) -> None:
        self.result: Reply | AnswerError = REPLY
        self.later = result
        self.asked: list[Request] = []

    async def answer(self, request: Request) -> Reply:
        self.asked.append(request)
        result, self.result = self.result, self.later
        if isinstance(result, AnswerError):
            raise result
        return result

    async def close(self) -> None:
        pass


class NoRay:
    """As much of Ray as receiving messages needs."""

    class exceptions:
        class RayError(Exception):
            pass


async def said(result: Reply | AnswerError, tmp_path: Path) -> tuple[bytes, Engine]:
    engine, weights = Engine(result), tmp_path / "w.gguf"
    weights.write_bytes(b"w")
    worker = Worker(
        Sought("50e721e49c013f00c62cf59f2163542a9d8df02464efeb615d31051b0fddc326", 1, str(weights)), lambda _: engine
    )
    await worker.load(1)
    return await worker.answer(msgspec.json.encode(QUESTION)), engine


def listening(tmp_path: Path) -> Replicas:
    weights = tmp_path / "listens.gguf"
    weights.write_bytes(b"w")
    replicas = Replicas(weights, "0" * 64, lambda _: Engine(REPLY), Placement())
    replicas._ray = NoRay
    return replicas


async def heard(content: object, tmp_path: Path) -> Reply | None:
    async def waiting() -> object:
        if isinstance(content, Exception):
            raise content
        return content

    return (await listening(tmp_path).heard(waiting())).reply


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "cache"))


async def test_a_reply_passes_whole(tmp_path: Path) -> None:
    content, engine = await said(REPLY, tmp_path)
    assert await heard(content, tmp_path) == REPLY
    assert engine.asked[-1] == QUESTION


@pytest.mark.parametrize(
    "error",
    [
        RejectedError("too long", "the prompt has too many tokens"),
        AccessError("unusable model", "cannot be loaded"),
        UnavailableError("server error", "once more", maybe_billed=True),
    ],
)
async def test_error_keeps_its_type_and_fields_between_processes(error: AnswerError, tmp_path: Path) -> None:
    content, _ = await said(error, tmp_path)
    with pytest.raises(type(error)) as raised:
        await heard(content, tmp_path)
    found = raised.value
    assert (str(found), found.kind, found.maybe_billed) == (str(error), error.kind, error.maybe_billed)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "a text",
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"reply": {"text": 3}}',
        b'{"reply": {"text": "x", "usage": {"input_tokens": -1}}}',
        b'{"fault": {"kind": "x", "message": "y", "sort": "fatal"}}',
        b" " * (2**26 + 1),
        NoRay.exceptions.RayError("trace\nthe node has died"),
    ],
    ids=lambda one: repr(one)[:30],
)
async def test_nonsense_is_worth_asking_again_and_nothing_worse(content: object, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as raised:
        await heard(content, tmp_path)
    assert raised.value.maybe_billed
    assert len(str(raised.value)) < 400


async def test_error_message_of_a_replica_is_one_short_line(tmp_path: Path) -> None:
    fault = {"kind": "x" * 99, "message": "\x1b[31mred\n" * 999, "sort": "unavailable"}
    with pytest.raises(UnavailableError) as raised:
        await heard(msgspec.json.encode({"fault": fault}), tmp_path)
    assert len(raised.value.kind) == 40
    assert len(str(raised.value)) <= 300
    assert str(raised.value).isprintable()


async def test_replicas_start_once_however_many_wait_for_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    class Actor:
        def __getattr__(self, name: str) -> Any:
            return SimpleNamespace(remote=lambda *_: asyncio.get_running_loop().create_future())

    class Ray(NoRay):
        @staticmethod
        def remote(kind: type) -> Any:
            def start(*_: object) -> Actor:
                started.append(kind)
                return Actor()

            return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=start))

        @staticmethod
        def kill(actor: Actor) -> None:
            started.pop()

    monkeypatch.setattr(ray_cluster, "join", lambda: Ray)
    monkeypatch.setattr(ray_cluster, "leave", lambda: None)
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"w")
    replicas = Replicas(weights, "0" * 64, lambda _: Engine(REPLY), Placement(replicas=2))
    first, *others = await asyncio.gather(*(replicas.listed() for _ in range(5)))
    await asyncio.sleep(0)
    assert len(started) == len(first) == 2
    assert all(other == first for other in others)
    await replicas.close()
    assert not started
