"""A local HTTP server that misbehaves on request, and the tests' requests to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from aiohttp import web

from overton.calls import Request, Settings, user

KEY = "sk-test-0123456789abcdefghij"

Behaviour = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def chat(text: str | None = "fine", **message: Any) -> dict[str, Any]:
    return {
        "model": "m-2026",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


@dataclass
class Seen:
    """One request that the server received."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return msgspec.json.decode(self.raw, type=dict[str, Any])


@dataclass
class Misbehaving:
    """A server that plays a script, one behaviour per request; after its end it answers `chat()`."""

    url: str = ""
    script: list[Behaviour] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    otherwise: Any = field(default_factory=chat)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(Seen(request.path, dict(request.headers), await request.content.read()))
        behaviour = self.script.pop(0) if self.script else self.replies(self.otherwise)
        return await behaviour(request)

    # Behaviours

    @staticmethod
    def replies(content: Any, status: int = 200, **headers: str) -> Behaviour:
        """Any JSON, or bytes as they are. Header names are written with underscores."""
        body = content if isinstance(content, bytes) else msgspec.json.encode(content)
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        async def behave(request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(body=body, status=status, headers={"Content-Type": "application/json"} | named)

        return behave

    @staticmethod
    async def echoes_credentials(request: web.BaseRequest) -> web.StreamResponse:
        shown = {
            name: value for name, value in request.headers.items() if name.lower() in ("authorization", "x-api-key")
        }
        message = f"bad headers {shown}, key begins {KEY[:12]}"
        return web.Response(body=msgspec.json.encode({"error": {"message": message}}), status=401)

    @staticmethod
    async def hangs(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    @staticmethod
    async def drops_before_replying(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    @staticmethod
    async def drops_within_the_body(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = 1000
        await response.prepare(request)
        await response.write(b'{"choices": [')
        assert request.transport is not None
        request.transport.close()
        return response

    @staticmethod
    async def replies_endlessly(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(40):
            await response.write(b" " * 2**20)
        return response

    @staticmethod
    async def replies_with_a_bomb(request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(body=b" " * (40 * 2**20), headers={"Content-Type": "application/json"})
        response.enable_compression(web.ContentCoding.gzip)
        return response


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[], Awaitable[Misbehaving]]]:
    """Starts servers on ports of their own."""
    runners: list[web.ServerRunner] = []

    async def start() -> Misbehaving:
        server = Misbehaving()
        runner = web.ServerRunner(web.Server(server.handle), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        runners.append(runner)
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return server

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def server(serve: Callable[[], Awaitable[Misbehaving]]) -> Misbehaving:
    return await serve()


@pytest.fixture
async def listen() -> AsyncIterator[Callable[..., Awaitable[int]]]:
    """Starts servers whose connections a coroutine handles; returns each one's port."""
    servers: list[asyncio.Server] = []

    async def start(handler: Callable[..., Awaitable[None]], **more: Any) -> int:
        server = await asyncio.start_server(handler, "127.0.0.1", 0, **more)
        servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    yield start
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the tests' own, and none of the machine's addresses and proxies."""
    for name in ("OPENAI", "ANTHROPIC", "OVERTON", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def question() -> Callable[..., Request]:
    def make(text: str = "A or B?", settings: Settings | None = None, **more: Any) -> Request:
        return Request((user(text),), settings or Settings(), **more)

    return make
