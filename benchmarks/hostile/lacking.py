"""Endpoints that lack something that a run needs, or bill too much, with the requests received and amounts billed.

Each case is one run over an endpoint in this process. `most_requests` and `most_billed` are computed, not measured: one
request of the kind, or the calls in flight times what one of them bills too much.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from fuzz.hostile.batching import Provider

__all__ = ["lacking_cases", "show_lacking"]

CONNECTIONS = (1, 8, 64)
_ALLOWED, _USUAL, _BILLED = 40, 10, 3000
_PRICE = 100.0
_EXCESS = (_BILLED - _ALLOWED) * _PRICE / 1e6
_FIT = 20
_CALLS = 132
_GIVEN_UP_AFTER = 24
"""Calls in a row that were rejected for no known reason, after which a run ends."""

_LACKS: dict[str, tuple[str, str | None]] = {
    "token probabilities, 200": ("logprobs", None),
    "token probabilities, 400": ("logprobs", "logprobs is not supported with this model"),
    "seeds": ("seed", "Unsupported parameter: 'seed' is not supported with this model."),
    "grammars": ("response_format", "response_format is not supported"),
}
"""The field of a body that an endpoint refuses with a message, or leaves unanswered (None)."""


@dataclass
class Outcome:
    """One run, as its endpoint saw it."""

    name: str
    connections: int
    requests: int
    most_requests: int
    billed: float = 0.0
    limit: float = 0.0
    most_billed: float = 0.0
    said: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether there were more requests, or more was billed, than there may be."""
        return self.requests > self.most_requests or self.billed > self.most_billed + 1e-9


@dataclass
class Endpoint:
    """Chat completions, and OpenAI's batches. It holds its replies that bill too much until `held` of them are
    requested, so that they are in flight at once. Each of the first `usual` replies bills no more than it may."""

    field_: str = ""
    message: str | None = None
    statuses: dict[str, int] = field(default_factory=dict)
    usual: int = 10**9
    held: int = 0
    requests: int = 0
    answered: int = 0
    billed: float = 0.0
    let_go: bool = False
    provider: Provider = field(init=False)

    def __post_init__(self) -> None:
        self.provider = Provider(self._in_batch, looks=0)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        content = request.headers.get("Content-Type", "")
        if (found := self.provider.handle(request.method, request.path_qs, content, body)) is not None:
            return web.Response(status=found[0], body=found[1], content_type="application/json")
        asked = json.loads(body)
        counted = not self.statuses or asked["model"] in self.statuses
        self.requests += counted
        if (status := self.statuses.get(asked["model"])) is not None:
            return web.json_response({"error": {"message": "No."}}, status=status)
        if self.field_ in asked and self.message is not None:
            return web.json_response({"error": {"message": self.message}}, status=400)
        place = self.answered
        self.answered += 1
        if place >= self.usual:
            self.let_go = self.let_go or self.answered - self.usual >= self.held
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    while not self.let_go:  # noqa: ASYNC110 - until enough have come
                        await asyncio.sleep(0.005)
        return web.json_response(self._reply(place))

    def _in_batch(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests += 1
        self.answered += 1
        return 200, self._reply(self.answered - 1)

    def _reply(self, place: int) -> dict[str, Any]:
        tokens = _USUAL if place < self.usual else _BILLED
        self.billed += tokens * _PRICE / 1e6
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": "position <<A>>"}}
        return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": tokens}}


@contextmanager
def _serving(endpoint: Endpoint) -> Iterator[str]:
    """Its address, while it is there."""
    loop, ports, started = asyncio.new_event_loop(), list[int](), threading.Event()

    async def begin() -> web.ServerRunner:
        runner = web.ServerRunner(web.Server(endpoint.handle), shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        return runner

    def serve() -> None:
        runner = loop.run_until_complete(begin())
        loop.call_soon(started.set)
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield f"http://127.0.0.1:{ports[0]}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _asked(url: str, out: Path, connections: int, *names: str, **more: Any) -> str:
    """A run; returns its last output."""
    import overton
    from overton.engine import RetryPolicy
    from overton.errors import OvertonError

    arguments = {"connections": str(connections), "max_tokens": str(_ALLOWED), **more.pop("arguments", {})}
    roles = {role: f"{name}={url}#{name}" for role, name in more.pop("roles", {}).items()}
    try:
        run = overton.run(
            more.pop("study", "open-mindedness"),
            models=[f"{name}={url}#{name}" for name in names],
            out=out,
            only=[item.id for item in overton.items.read(more.pop("items", "open-mindedness"))[:2]],
            model_args=dict.fromkeys((*names, "judge") if roles else names, arguments),
            prices=dict.fromkeys((*names, "judge") if roles else names, (0.0, _PRICE)),
            patience=RetryPolicy(2, 0.002, 0.02),
            trials=1,
            **roles,
            **more,
        )
    except OvertonError as error:
        return str(error)
    return str(run.manifest.stopped or run.manifest.status)


def lacking_cases(folder: Path) -> Iterator[Outcome]:
    """All cases, each run once."""
    number = 0
    for connections in CONNECTIONS:
        for what, (name, message) in _LACKS.items():
            options: dict[str, Any] = {"shares": "probabilities", "calibrate": 0} if name == "logprobs" else {}
            arguments = {"seed": {"seed": "3"}, "response_format": {"hold": "true"}}.get(name, {})
            endpoint, number = Endpoint(name, message), number + 1
            with _serving(endpoint) as url:
                out = folder / f"lacking-{number}"
                said = _asked(url, out, connections, "m", arguments=arguments, **options)
            yield Outcome(f"lacks {what}", connections, endpoint.requests, 1, said=said)
        for status in (404, 401, 400):
            endpoint, number = Endpoint(statuses={"judge": status}), number + 1
            with _serving(endpoint) as url:
                out, judged = folder / f"lacking-{number}", {"judge": "judge"}
                arguments = {"temperature": "0"}
                said = _asked(url, out, connections, "m", roles=judged, arguments=arguments, answers="free")
            most = _GIVEN_UP_AFTER if status == 400 else 1
            yield Outcome(f"a judge that answers {status}", connections, endpoint.requests, most, said=said)
        for names in (("m",), ("m", "n")):
            for batch in (False, True):
                number += 1
                yield _billing(folder / f"lacking-{number}", connections, names, batch=batch)
    endpoint = Endpoint("logprobs")
    with _serving(endpoint) as url:
        said = _asked(url, folder / "lacking-batch", 64, "m", shares="probabilities", calibrate=0, batch=True)
    yield Outcome("lacks token probabilities, --batch", 64, endpoint.requests, 1, said=said)


def _billing(out: Path, connections: int, names: tuple[str, ...], *, batch: bool) -> Outcome:
    """Models that bill too much, all calls in flight at once, under a limit that those would just have fitted in."""
    in_flight = _FIT if batch else min(len(names) * connections, _CALLS)
    usual = 0 if batch else len(names)
    endpoint = Endpoint(usual=usual, held=in_flight)
    limit = (usual * _USUAL + in_flight * _ALLOWED) * _PRICE / 1e6 + 1e-9
    with _serving(endpoint) as url:
        said = _asked(url, out, connections, *names, max_cost=limit, batch=batch, arguments={"seed": "3"})
    name = f"bills too much, {len(names)} model{'s'[: len(names) - 1]}{', --batch' if batch else ''}"
    most = limit + in_flight * _EXCESS
    return Outcome(name, connections, endpoint.requests, usual + in_flight, endpoint.billed, limit, most, said)


def show_lacking(outcomes: list[Outcome]) -> int:
    """Print a table; gives how many are wrong."""
    columns = f"{'connections':>12}{'requests':>10}{'at most':>9}{'limit':>10}{'billed':>10}{'at most':>10}"
    print(f"\n{'endpoint':<40}{columns}")
    for one in outcomes:
        money = f"{one.limit:>10.4f}{one.billed:>10.4f}{one.most_billed:>10.4f}" if one.limit else ""
        wrong = f"  WRONG: {one.said[:200]}" if one.is_wrong else ""
        print(f"{one.name:<40}{one.connections:>12}{one.requests:>10}{one.most_requests:>9}{money}{wrong}")
    return sum(one.is_wrong for one in outcomes)
