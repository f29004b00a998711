"""A server on the loopback that keeps the bytes of each request, and replies as models, batches and searches do."""

from __future__ import annotations

import json
import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fuzz.hostile.batching import Provider
from fuzz.hostile.voices import answer, chance_of

__all__ = ["Listener", "Received", "listening"]

_LENGTH = re.compile(rb"(?i)^content-length: *(\d+)", re.MULTILINE)
_TYPE = re.compile(rb"(?i)^content-type: *([^\r\n]*)", re.MULTILINE)
_CHOICES = re.compile(r"^\(([A-Z1-9])\)", re.MULTILINE)


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    head: bytes
    body: bytes

    @property
    def method(self) -> str:
        """Its method."""
        return self.head.split(b" ", 1)[0].decode()

    @property
    def target(self) -> str:
        """Its path and query."""
        return self.head.split(b" ", 2)[1].decode()


@dataclass
class Listener:
    """The server's address and what it received; with `status` it replies to every call with that status.

    A call whose prompt contains `refused` is rejected with status 400.
    """

    url: str = ""
    status: int = 200
    refused: str = ""
    received: list[Received] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.provider = Provider(self.reply)

    def respond(self, request: Received) -> tuple[int, bytes]:
        """Keep a request and make the reply to it."""
        with self.lock:
            self.received.append(request)
            if self.status != 200:
                return self.status, b'{"error": {"type": "some_error", "code": "some_code", "message": "It failed."}}'
            found = self._searched(request) or self._in_batches(request)
            if found is not None:
                return found
            if not request.body:
                return 404, b"{}"
            status, value = self.reply(json.loads(request.body))
            return status, json.dumps(value).encode()

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The reply to a call, in the format in which it was asked, as its body says."""
        last = body["messages"][-1]["content"]
        if self.refused and self.refused in json.dumps(last):
            return 400, {"error": {"message": "This cannot be asked.", "code": "rejected"}}
        messages = [{"role": "system", "content": body["system"]}] if body.get("system") else []
        text = _text(body, messages + body["messages"], chance_of(json.dumps(body, sort_keys=True).encode()))
        if body["model"].startswith("claude"):
            usage = {"input_tokens": 40, "output_tokens": 6}
            return 200, {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
        choice: dict[str, Any] = {"finish_reason": "stop", "message": {"content": text}}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [_token(one) for one in re.findall(r"\w+|\W", text)]}
        usage = {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46}
        return 200, {"model": body["model"], "choices": [choice], "usage": usage}

    def _in_batches(self, request: Received) -> tuple[int, bytes] | None:
        content = _TYPE.search(request.head)
        return self.provider.handle(
            request.method, request.target, content[1].decode() if content else "", request.body
        )

    @staticmethod
    def _searched(request: Received) -> tuple[int, bytes] | None:
        if "/find" not in request.target:
            return None
        hits = [
            {"link": url, "url": url, "title": f"Page {number}", "snippet": "It says so.", "content": "It says so."}
            for number in (1, 2)
            if (url := f"http://127.0.0.1:9/{number}")
        ]
        return 200, json.dumps({"organic": hits, "web": {"results": hits}, "results": hits, "query": {}}).encode()


def _text(body: dict[str, Any], messages: list[dict[str, Any]], chance: float) -> str:
    prompt = messages[-1]["content"]
    if "judge" in body["model"] and isinstance(prompt, str) and (labels := _CHOICES.findall(prompt)):
        return f"({labels[int(chance * len(labels))]})"
    return answer(body["model"], messages, chance)


def _token(token: str) -> dict[str, Any]:
    one = {"token": token, "logprob": -0.25, "bytes": list(token.encode())}
    return one | {"top_logprobs": [one, {"token": "B", "logprob": -2.0, "bytes": [66]}]}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128


@contextmanager
def listening() -> Iterator[Listener]:
    """The server, while it listens."""
    listener = Listener()

    class Handler(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            while head := self._head():
                length = _LENGTH.search(head)
                body = self.rfile.read(int(length[1])) if length else b""
                status, reply = listener.respond(Received(head, body))
                more = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                self.wfile.write(more % (status, len(reply)) + reply)
                if b"connection: close" in head.lower():
                    return

        def _head(self) -> bytes:
            """The lines up to the empty one; nothing if the connection ends before it."""
            head = b""
            while line := self.rfile.readline():
                if line == b"\r\n":
                    return head
                head += line
            return b""

    server = _Server(("127.0.0.1", 0), Handler)
    listener.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
