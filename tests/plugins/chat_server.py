"""A local chat endpoint whose answers follow from the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["chat_server", "said"]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128


def said(content: str, *, finish: str = "stop", usage: tuple[int, int] = (1, 1)) -> tuple[int, object]:
    """A status and a body with this answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}


@contextmanager
def chat_server(answer: Callable[[dict[str, Any]], tuple[int, object]]) -> Iterator[str]:
    """Its base URL, while it is needed; `answer` makes a status and a body of a request's body."""

    class Chat(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: two would each wait for the other side's word
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            status, body = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            data = json.dumps(body, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with _Server(("127.0.0.1", 0), Chat) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join(10)
