"""Answers as a vLLM server does, as far as a run sees: `vllm serve MODEL --served-model-name NAME --port N`."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

words = sys.argv[1:]
model, name = words[1], words[words.index("--served-model-name") + 1]
port = int(words[words.index("--port") + 1])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._say({"object": "list", "data": [{"id": name, "object": "model", "root": model, "max_model_len": 8192}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["model"] == name
        print("asked", flush=True)
        message = {"role": "assistant", "content": "position <<A>>", "reasoning_content": None}
        self._say(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": name,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop", "stop_reason": None}],
                "usage": {"prompt_tokens": 600, "completion_tokens": 6, "total_tokens": 606},
            }
        )

    def _say(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: what is counted is printed."""


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
