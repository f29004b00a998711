"""An endpoint that plays every role of every study, and keeps the bodies of the requests that it receives."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fuzz.hostile.voices import answer, chance_of

__all__ = ["listening"]

_CHOICES = re.compile(r"^\(([A-Z1-9])\)", re.MULTILINE)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a run opens many connections at once, and those that find no room wait for seconds


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The endpoint's address, and the bodies of what it was asked."""
    bodies: list[dict[str, Any]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                bodies.append(body)
            sent = json.dumps(_reply(body)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *said: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _reply(body: dict[str, Any]) -> dict[str, Any]:
    """A reply that follows from the request alone, with token probabilities if the request has them."""
    text = _text(body, chance_of(json.dumps(body, sort_keys=True).encode()))
    choice: dict[str, Any] = {"finish_reason": "stop", "message": {"content": text}}
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [_token(one) for one in re.findall(r"\w+|\W", text)]}
    return {"choices": [choice], "usage": {"prompt_tokens": 40, "completion_tokens": 6}}


def _text(body: dict[str, Any], chance: float) -> str:
    prompt = body["messages"][-1]["content"]
    if "judge" in body["model"] and (labels := _CHOICES.findall(prompt)):
        return f"({labels[int(chance * len(labels))]})"
    return answer(body["model"], body["messages"], chance)


def _token(token: str) -> dict[str, Any]:
    likely, other = {"token": token, "logprob": -0.25}, {"token": "B", "logprob": -2.0}
    return {**likely, "top_logprobs": [likely, other]}
