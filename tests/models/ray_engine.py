"""What answers in replicas where no weights are needed: replies that follow from the request, after a while.

It is imported by the processes of Ray's nodes, by this name.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from overton.calls import Reply, Request, Usage

WORDS = ("position <<A>>", "I choose position <<B>>.", "position <<A>>", "I would rather not say. <b>é</b>")


@dataclass
class Stub:
    """Answers after `latency` seconds, one line in the file `heard` for each request that it began and ended."""

    weights: Path
    latency: float = 0.0
    heard: str = ""
    name: str = "gguf:stub.gguf"
    identity: str = "sha256:stub"
    holds_form: bool = False

    async def answer(self, request: Request) -> Reply:
        asked = msgspec.json.encode(request)
        number = hashlib.sha256(self.weights.read_bytes() + asked).digest()[0]
        self._note("began", asked)
        await asyncio.sleep(self.latency)
        self._note("ended", asked)
        return Reply(WORDS[number % 4], usage=Usage(len(asked) // 4, 5), fingerprint="stub 1", served_by="stub")

    async def close(self) -> None:
        pass

    def _note(self, what: str, asked: bytes) -> None:
        if self.heard:
            line = f"{what} {os.getpid()} {time.time()} {hashlib.sha256(asked).hexdigest()}\n"
            with open(self.heard, "a") as file:
                file.write(line)


def stub(path: Path, *, latency: float = 0.0, heard: str = "") -> Stub:
    return Stub(path, latency, heard)
