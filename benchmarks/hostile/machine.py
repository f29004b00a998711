"""Disks that fill up at any moment, and too few open files: a run's messages, calls and costs.

    python -m benchmarks.hostile.machine

Counts are the endpoint's. Each run must end with one sentence. On a full disk it is resumed once there is space;
it must then finish, and may pay again only for calls that were in flight. Disks are mounted in memory, which takes
root; without it only open files are tried.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

__all__ = ["main"]

RUN = ("--trials", "16", "--only", "cashless-shops", "--only", "voting-age", "--only", "deep-sea-mining")
RUN += ("--template", "1", "--condition", "baseline", "--condition", "balanced")
CHILD = """
import json, resource, sys
soft, words = json.loads(sys.argv[1])
if soft:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
sys.argv = ["overton", *words]
from overton.cli import main
main()
"""


class Endpoint(ThreadingHTTPServer):
    """Counts each request by its body; `filler` is called once it has given `moment` replies."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[bytes] = Counter()
        self.lock = Lock()
        self.length, self.moment, self.disk = 0, 0, Path()

    def count(self, body: bytes) -> None:
        """Count a request, and fill the disk when its moment has come."""
        with self.lock:
            self.asked[body] += 1
            if self.moment and self.asked.total() == self.moment:
                with suppress(OSError), (self.disk / "other").open("wb", buffering=0) as file:
                    while file.write(bytes(4096)):
                        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.count(body)
        filling = "".join(random.Random(len(body)).choices("abcdefgh ", k=self.server.length))
        text = f"position <<A>> {filling}"
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        self._reply(200, {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})

    def do_GET(self) -> None:
        self._reply(404, {})

    def _reply(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: Any) -> None:
        """Say nothing."""


@contextmanager
def disk(megabytes: float) -> Iterator[Path | None]:
    """A disk of this size; None where none can be mounted."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["mount", "-t", "tmpfs", "-o", f"size={int(megabytes * 1024)}k", "tmpfs", folder]
        try:
            mounted = os.name == "posix" and not subprocess.run(words, capture_output=True, check=False).returncode
        except FileNotFoundError:
            mounted = False
        try:
            yield Path(folder) if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", "-l", folder], check=True)


def command(files: int, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that may open so many files, 0 for as many as this process."""
    child = [sys.executable, "-c", CHILD, json.dumps([files, words])]
    return subprocess.run(child, capture_output=True, text=True, check=False, timeout=300)


def run_words(server: Endpoint, out: Path, connections: int) -> list[str]:
    name = f"http://127.0.0.1:{server.server_address[1]}/v1#m"
    own = ["--model", name, "--model-arg", name, f"connections={connections}", "--model-arg", name, "seed=5"]
    return ["run", "open-mindedness", *own, *RUN, "--out", str(out)]


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Its last line."""
    return (done.stderr.splitlines() or [""])[-1]


def main() -> int:
    """Run all cases; returns 1 if one is wrong."""
    server, wrong = Endpoint(), 0
    Thread(target=server.serve_forever, daemon=True).start()
    print(f"{'disk MB':>8}{'full at':>9}{'lanes':>7}{'reply kB':>9}{'code':>6}{'asked':>7}{'again':>7}  says")
    for megabytes in (0.33, 5):
        for moment in (1, 40, 120):
            for connections, length in ((8, 20), (64, 20), (64, 8000)):
                with disk(megabytes) as folder:
                    if folder is None:
                        print("no disk can be mounted here")
                        break
                    server.asked.clear()
                    server.length, server.moment, server.disk = length, moment, folder
                    done = command(0, *run_words(server, folder / "run", connections))
                    asked, server.moment = server.asked.total(), 0
                    with suppress(FileNotFoundError):
                        (folder / "other").unlink()
                    resumed = True
                    if asked:
                        resumed = command(0, "resume", str(folder / "run")).returncode == 0
                    again = server.asked.total() - len(server.asked)
                    full = "the disk is full" in said(done) or "No space left" in said(done)
                    bad = "Traceback" in done.stderr or again > connections or not (done.returncode == 0 or full)
                    bad = bad or (length < 1000 and not resumed)
                    wrong += bad
                    line = f"{megabytes:>8}{moment:>9}{connections:>7}{length / 1000:>9}{done.returncode:>6}{asked:>7}"
                    print(f"{line}{again:>7}  {'WRONG ' if bad else ''}{said(done)[-90:]}", flush=True)
    print(f"\n{'files':>8}{'lanes':>7}{'code':>6}{'asked':>7}  says")
    with tempfile.TemporaryDirectory() as folder_:
        server.length = 20
        for files in (24, 48, 64, 128):
            for connections in (1, 64):
                server.asked.clear()
                done = command(files, *run_words(server, Path(folder_) / f"{files}-{connections}", connections))
                asked = server.asked.total()
                bad = "Traceback" in done.stderr or (done.returncode != 0 and asked > 0)
                wrong += bad
                line = f"{files:>8}{connections:>7}{done.returncode:>6}{asked:>7}"
                print(f"{line}  {'WRONG ' if bad else ''}{said(done)[:90]}", flush=True)
    server.shutdown()
    print(f"\n{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
