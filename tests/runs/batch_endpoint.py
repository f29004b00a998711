"""An endpoint with chat completions, messages, and both providers' batches, in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web
from fuzz.hostile.batching import CUT, DROPPED, STALLED, Provider, key_of

USAGE = (40, 6)


def answered(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The reply to a call, which follows from its body."""
    chance = int(key_of(body), 16) / 2**64
    texts = ("position <<A>>", "I choose position <<B>>.", "position <<A>>", "I would rather not say. <b>é</b>")
    text = _label(body, chance) if "judge" in body["model"] else texts[int(chance * 4)]
    if "claude" in body["model"]:
        usage = {"input_tokens": USAGE[0], "output_tokens": USAGE[1]}
        return 200, {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    usage = {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1]}
    return 200, {"choices": [{"finish_reason": "stop", "message": {"content": text}}], "usage": usage}


def _label(body: dict[str, Any], chance: float) -> str:
    """One of the labels that a grading prompt names, in brackets."""
    labels = "ABC" if "(C)" in body["messages"][-1]["content"] else "12345"
    return f"({labels[int(chance * len(labels))]})"


@dataclass
class BatchEndpoint:
    """`alone` counts the calls sent outside batches, by their bodies; `provider` has a switch for each misbehaviour.
    `reply` makes the replies to calls outside batches, if they are others."""

    provider: Provider = field(default_factory=lambda: Provider(answered))
    alone: Counter[str] = field(default_factory=Counter)
    port: int = 0
    _loop: Any = None
    _thread: Any = None
    url: str = ""
    reply: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]] | None = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()
        found = self.provider.handle(request.method, request.path_qs, request.headers.get("Content-Type", ""), body)
        if found is None:
            found = self.provider.replied("call", lambda: self._alone(body))
        status, content = found
        if status == STALLED:
            await asyncio.sleep(3600)
        if status in (DROPPED, CUT) and request.transport is not None:
            request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{" if status == CUT else b"")
            request.transport.close()
            return web.Response()
        response = web.Response(body=content, status=status, content_type="application/json")
        if status >= 400 and self.provider.retry_after is not None:
            response.headers["Retry-After"] = str(self.provider.retry_after)
        return response

    def _alone(self, body: bytes) -> tuple[int, bytes]:
        call = msgspec.json.decode(body)
        self.alone[key_of(call)] += 1
        status, reply = (self.reply or self.provider.answer)(call)
        self.provider.paid[key_of(call)] += 1
        return status, msgspec.json.encode(reply)

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()

        def serve() -> None:
            async def begin() -> web.ServerRunner:
                runner = web.ServerRunner(web.Server(self.handle), shutdown_timeout=0)
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                self.port = runner.addresses[0][1]
                self.url = f"http://127.0.0.1:{self.port}/v1"
                return runner

            runner = self._loop.run_until_complete(begin())
            self._loop.call_soon(started.set)
            self._loop.run_forever()
            for task in asyncio.all_tasks(self._loop):  # of replies that never come
                task.cancel()
            self._loop.run_until_complete(runner.cleanup())

        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        assert started.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
