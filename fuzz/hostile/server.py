"""The endpoint: OpenAI's and Anthropic's formats, plain, over TLS and through a proxy, in a process of its own.

`python -m fuzz.hostile.server` prints its ports as JSON, then takes commands on standard input, one line of JSON each.

- `{"faults": [...], "share": 0.3, "attempts": 1, "seed": 1}` sets the faults from now on (none if the list is empty).
- `{"provider": {...}}` sets the switches of a new provider of batches (see `Provider`), or of the same one if "forget"
  is false.
- `{"report": true}` prints the requests since the last such command.
- `{"kill": PID, "at": N, "replied": true}` kills a process at its N-th request from now, before or after the reply.

It ends when its input closes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme

from fuzz.hostile.batching import CUT, DROPPED, STALLED, Provider
from fuzz.hostile.faults import FAULTS
from fuzz.hostile.talking import Talk, reply
from fuzz.hostile.voices import answer, chance_of

__all__ = ["DOORS", "KEY", "Hostile", "hostile"]

KEY = "sk-hostile-0123456789-do-not-tell"
INPUT, OUTPUT = 100, 10
"""Tokens of every reply's usage, so that costs can be counted here."""

_SILENCE = b"nothing"
_BATCHED = ("/v1/files", "/v1/batches", "/v1/messages/batches")

DOORS = (
    "plain", "tls", "tls_wrong_name", "tls_expired", "tls_unknown", "tls_stalls", "tls_none", "tls_cut", "proxy",
    "proxy_407",
    "proxy_502", "proxy_closes", "proxy_closes_the_tunnel", "proxy_stalls", "proxy_garbled", "refused",
)  # fmt: skip
"""Ways in. Those after 'plain' and 'tls' commit a fault of their own, except 'proxy', which is a good one."""


@dataclass
class Endpoint:
    """The state of the endpoint: requests, faults and replies."""

    faults: list[str] = field(default_factory=list)
    share: float = 1.0
    attempts: int = 1
    seed: int = 0
    latency: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    committed: Counter[str] = field(default_factory=Counter)

    provider: Provider = field(init=False)
    victim: int = 0
    left: int = 0
    replied: bool = False

    def __post_init__(self) -> None:
        self.provider = Provider(self._in_batch, looks=0)

    def command(self, given: dict[str, Any]) -> dict[str, Any] | None:
        """Carry it out; returns the text to print."""
        if "kill" in given:
            self.victim, self.left, self.replied = given["kill"], given["at"], given["replied"]
            return {}
        if "provider" in given:
            if given.get("forget", True):
                self.provider = Provider(self._in_batch, looks=0)
            for name, value in given["provider"].items():
                setattr(self.provider, name, value)
            return {}
        if "report" in given:
            self.provider.finish_all()
            return {
                "log": dict(Counter(self.provider.log)),
                "batches": [batch.status for batch in self.provider.batches.values()],
                "uploads": sum(one in self.provider.files for one in self.provider.uploads),
                "requests": self.asked.total(),
                "calls": len(self.asked),
                "answered": self.answered.total(),
                "answered_twice": sum(count > 1 for count in self.answered.values()),
                "again": sum(count - 1 for count in self.answered.values()),
                "committed": dict(self.committed),
                "bodies": sorted(self.asked),
            }
        self.faults, self.share = given.get("faults", []), given.get("share", 1.0)
        self.attempts, self.seed, self.latency = (
            given.get("attempts", 1),
            given.get("seed", 0),
            given.get("latency", 0.0),
        )
        if given.get("forget", True):
            for counted in (self.asked, self.answered, self.committed):
                counted.clear()
        return {}

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request after request."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError, RuntimeError):
            while await self._one(reader, writer):
                pass
        with suppress(OSError, ssl.SSLError, RuntimeError):
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        body = await reader.readexactly(length)
        if (batched := self._batched(head, body)) is not None:
            if batched == _SILENCE:
                await asyncio.sleep(3600)
            writer.write(batched)
            await writer.drain()
            return bool(batched) and not batched.endswith(b"\r\n\r\n{")  # else the connection ends here
        identity = hashlib.sha256(body).hexdigest()[:16]
        self.asked[identity] += 1
        if "call" in self.provider.always:
            writer.write(_http(*self.provider.replied("call", lambda: (200, b""))))
            await writer.drain()
            return True
        if self.latency:
            await asyncio.sleep(self.latency * (0.2 + 1.6 * chance_of(body)))
        self.left -= 1
        doomed = self.victim if self.left == 0 else 0
        if doomed and not self.replied:
            self._kill(doomed)
        good = _answer(head, body)
        fault = self._fault(identity)
        if fault is None:
            self.answered[identity] += 1
            writer.write(reply(good))
            await writer.drain()
            if doomed:
                self._kill(doomed)
            return True
        self.committed[fault] += 1
        return bool(await FAULTS[fault](Talk(writer, reader, good, head, KEY)))

    def _batched(self, head: bytes, body: bytes) -> bytes | None:
        """The reply to a request about batches, None if it is not about them; a doomed process is killed at it, before
        anything is done or before it is answered."""
        line, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = line.split(" ", 2)
        content = next((one[13:] for one in lines if one.lower().startswith("content-type:")), "")
        if not target.startswith(_BATCHED):
            return None
        self.left -= 1
        doomed = self.victim if self.left <= 0 else 0
        if doomed and not self.replied:
            self._kill(doomed)
        found = self.provider.handle(method, target, content, body)
        if doomed:
            self._kill(doomed)
        status, answered = found or (404, b"{}")
        if status == STALLED:
            return _SILENCE
        if status == DROPPED:
            return b""
        if status == CUT:
            return b"HTTP/1.1 200 So\r\nContent-Length: 99\r\n\r\n{"
        return _http(status, answered)

    def _in_batch(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The reply to a call in a batch: the one that its body alone would get."""
        body = json.dumps(asked, separators=(",", ":"), ensure_ascii=False).encode()
        identity = hashlib.sha256(body).hexdigest()[:16]
        self.asked[identity] += 1
        self.answered[identity] += 1
        kind = b"POST /v1/messages " if "claude" in asked["model"] else b"POST /v1/chat/completions "
        return 200, json.loads(_answer(kind, body))

    def _kill(self, victim: int) -> None:
        if victim == self.victim:  # it may have ended, and its number may be reused by now; 0 would be everybody
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            self.victim = 0

    def _fault(self, identity: str) -> str | None:
        """The fault of this attempt, which follows from the call, the attempt and the seed."""
        if not self.faults or self.asked[identity] > self.attempts:
            return None
        digest = hashlib.sha256(f"{self.seed}/{identity}/{self.asked[identity]}".encode()).digest()
        if digest[0] / 256 >= self.share:
            return None
        return self.faults[int.from_bytes(digest[1:4]) % len(self.faults)]


def _http(status: int, body: bytes) -> bytes:
    head = b"HTTP/1.1 %d So\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


def _answer(head: bytes, body: bytes) -> bytes:
    asked = json.loads(body)
    anthropic = b"/messages " in head.split(b"\r\n", 1)[0]
    messages = asked["messages"]
    if anthropic and asked.get("system"):
        messages = [{"role": "system", "content": asked["system"]}, *messages]
    text, model = answer(asked["model"], messages, chance_of(body)), f"{asked['model']}-2026"
    if anthropic:
        usage = {"input_tokens": INPUT, "output_tokens": OUTPUT}
        shown = {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]}
        return json.dumps({**shown, "stop_reason": "end_turn", "model": model, "usage": usage}).encode()
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    head_of = {"id": "x", "object": "chat.completion", "created": 1, "model": model}
    return json.dumps({**head_of, "choices": [choice], "usage": usage}).encode()


# Doors


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _stalling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        await reader.read(-1)
    writer.close()


def _proxy(status: bytes, *, closes: bool = False) -> Handler:
    """A proxy that answers every request like this; with status 200 it makes a tunnel, or closes it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b" ", 2)
            if status != b"200":
                writer.write(
                    status if b"\r\n" in status else b"HTTP/1.1 " + status + b" So\r\nContent-Length: 0\r\n\r\n"
                )
                await writer.drain()
            elif method == b"CONNECT":
                await _tunnel(target.decode(), reader, writer, closes)
            else:
                await _forward(target, head, reader, writer)
        writer.close()

    return handle


async def _tunnel(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, closes: bool) -> None:
    port = int(target.rpartition(":")[2])
    there, out = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await writer.drain()
    if not closes:
        await asyncio.gather(_pipe(reader, out), _pipe(there, writer))
    out.close()


async def _forward(target: bytes, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A plain request, passed on with everything that follows on the connection."""
    host = target.split(b"/", 3)[2]
    there, out = await asyncio.open_connection("127.0.0.1", int(host.rpartition(b":")[2]))
    out.write(head)
    await asyncio.gather(_pipe(reader, out), _pipe(there, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


def _contexts(folder: Path) -> tuple[dict[str, ssl.SSLContext], Path]:
    """A context for each door of TLS, and the file of the authority that is to be trusted."""
    known, unknown = trustme.CA(), trustme.CA()
    known.cert_pem.write_to_path(str(folder / "ca.pem"))
    past = datetime.now(UTC) - timedelta(days=2)
    certificates = {
        "tls": known.issue_cert("localhost", "127.0.0.1"),
        "tls_wrong_name": known.issue_cert("elsewhere.example"),
        "tls_expired": known.issue_cert("localhost", "127.0.0.1", not_before=past - timedelta(days=9), not_after=past),
        "tls_unknown": unknown.issue_cert("localhost", "127.0.0.1"),
        "tls_cut": known.issue_cert("localhost", "127.0.0.1"),
    }
    made = {}
    for name, certificate in certificates.items():
        made[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(made[name])
    return made, folder / "ca.pem"


async def _cut_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """TLS without an end: half a reply, and the socket is gone."""
    with suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b'{"choices": [{"message": {"content": "position <<A>>"}}')
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.transport.abort()


async def _serve() -> None:
    endpoint = Endpoint()
    with tempfile.TemporaryDirectory() as folder:
        contexts, authority = _contexts(Path(folder))
        handlers: dict[str, Handler] = {
            "plain": endpoint.handle,
            **dict.fromkeys(("tls", "tls_wrong_name", "tls_expired", "tls_unknown"), endpoint.handle),
            "tls_cut": _cut_short,
            "tls_stalls": _stalling,
            "tls_none": endpoint.handle,
            "proxy": _proxy(b"200"),
            "proxy_407": _proxy(b"407"),
            "proxy_502": _proxy(b"502"),
            "proxy_closes": _closing,
            "proxy_closes_the_tunnel": _proxy(b"200", closes=True),
            "proxy_stalls": _stalling,
            "proxy_garbled": _proxy(b"\xff\xfe\r\n\r\n"),
        }
        ports: dict[str, int] = {}
        for name, handler in handlers.items():
            server = await asyncio.start_server(
                handler, "127.0.0.1", 0, ssl=contexts.get(name), limit=1 << 24, backlog=512
            )
            ports[name] = server.sockets[0].getsockname()[1]
        ports["refused"] = 1
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)  # clients that go away
        print(json.dumps({"ports": ports, "authority": str(authority)}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(endpoint.command(json.loads(line))), flush=True)


# The other side


@dataclass
class Hostile:
    """The endpoint in its process, as a test or a benchmark sees it."""

    process: subprocess.Popen[str]
    ports: dict[str, int]
    authority: Path

    def url(self, door: str = "plain") -> str:
        """Its base URL; over TLS by name, as certificates have it."""
        return (
            f"https://localhost:{self.ports[door]}/v1"
            if door.startswith("tls")
            else f"http://127.0.0.1:{self.ports[door]}/v1"
        )

    def tell(self, **command: Any) -> dict[str, Any]:
        """One command; returns its output."""
        assert self.process.stdin and self.process.stdout  # noqa: PT018
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def misbehave(self, *faults: str, share: float = 1.0, attempts: int = 1, seed: int = 0) -> None:
        """Set the faults from now on; earlier counts are forgotten."""
        self.tell(faults=list(faults), share=share, attempts=attempts, seed=seed)

    def behave(self, *, forget: bool = True, latency: float = 0.0) -> None:
        """Answer well from now on."""
        self.tell(faults=[], forget=forget, latency=latency)

    def provide(self, *, forget: bool = True, **switches: Any) -> None:
        """Have batches behave so from now on; without `forget` the provider keeps those that it has."""
        self.tell(provider=switches, forget=forget)

    def report(self) -> dict[str, Any]:
        """The requests, and the good replies, since the last command."""
        return self.tell(report=True)


@contextmanager
def hostile() -> Iterator[Hostile]:
    """The endpoint, while it is needed."""
    command = [sys.executable, "-m", "fuzz.hostile.server"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdin and process.stdout  # noqa: PT018
        try:
            told = json.loads(process.stdout.readline())
            yield Hostile(process, told["ports"], Path(told["authority"]))
        finally:
            process.stdin.close()
            process.wait(20)


if __name__ == "__main__":
    asyncio.run(_serve())
