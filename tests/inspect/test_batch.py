"""Inspect's batch mode: a provider's batches of files, against a server that has them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import pytest
from aiohttp import web

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")

KEY = "sk-batches"


@dataclass
class Batches:
    """OpenAI's files and batches: a batch is done once it has been polled twice."""

    files: dict[str, bytes] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    looked: dict[str, int] = field(default_factory=dict)
    asked_singly: int = 0

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read()
        about = {"id": name, "object": "file", "bytes": 1, "created_at": 1, "filename": "f", "purpose": "batch"}
        return web.json_response(about | {"status": "processed"})

    async def create(self, request: web.Request) -> web.Response:
        asked = [json.loads(line) for line in self.files[(await request.json())["input_file_id"]].splitlines()]
        name = f"batch_{len(self.sizes)}"
        self.sizes.append(len(asked))
        self.looked[name] = 0
        self.files[f"out-{name}"] = "\n".join(json.dumps(self._answered(one)) for one in asked).encode()
        return web.json_response(self._about(name, "in_progress"))

    async def look(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.looked[name] += 1
        return web.json_response(self._about(name, "completed" if self.looked[name] > 1 else "in_progress"))

    async def content(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["name"]])

    async def single(self, request: web.Request) -> web.Response:
        self.asked_singly += 1
        return web.json_response({"error": {"message": "batches only"}}, status=400)

    def _about(self, name: str, status: str) -> dict[str, Any]:
        size = self.sizes[int(name.removeprefix("batch_"))]
        done = status == "completed"
        return {
            "id": name,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": "file-0",
            "completion_window": "24h",
            "created_at": 1,
            "status": status,
            "output_file_id": f"out-{name}" if done else None,
            "request_counts": {"total": size, "completed": size if done else 0, "failed": 0},
        }

    def _answered(self, one: dict[str, Any]) -> dict[str, Any]:
        letter = "AB"[crc32(one["body"]["messages"][-1]["content"].encode()) & 1]
        message = {"role": "assistant", "content": f"position <<{letter}>>"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m-2026", "choices": [choice]}
        response = {"status_code": 200, "request_id": "r", "body": head | {"usage": usage}}
        return {"id": "i", "custom_id": one["custom_id"], "response": response, "error": None}


@pytest.fixture
def batches() -> Iterator[tuple[Batches, str]]:
    """The server, in a thread, and its address."""
    served, ready = Batches(), threading.Event()
    loop, where = asyncio.new_event_loop(), []

    async def start() -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/files", served.upload)
        app.router.add_get("/v1/files/{name}/content", served.content)
        app.router.add_post("/v1/batches", served.create)
        app.router.add_get("/v1/batches/{name}", served.look)
        app.router.add_post("/v1/chat/completions", served.single)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        where.append(runner.addresses[0][1])
        ready.set()

    def serve() -> None:
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield served, f"http://127.0.0.1:{where[0]}/v1"
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_a_task_runs_in_batches(batches: tuple[Batches, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import BatchConfig

    served, url = batches
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (log,) = inspect_eval(
        "overton/open_mindedness",
        model="openai/gpt-4o",
        model_base_url=url,
        task_args={"trials": 1, "only": "cashless-shops"},
        batch=BatchConfig(size=22, send_delay=0.2, tick=0.05),
        display="none",
    )
    assert log.status == "success", log.error
    assert served.asked_singly == 0
    assert sum(served.sizes) == 66
    assert max(served.sizes) >= 22
    records = [one for sample in log.samples for one in sample.scores["open_mindedness"].metadata["records"]]
    assert len(records) == 66
    assert not [one for one in records if one["failure"]]
    assert KEY not in log.model_dump_json()
