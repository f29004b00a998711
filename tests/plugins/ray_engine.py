"""An engine for replicas that needs no weights: its replies follow from the request, after a while.

It is imported by the processes of Ray's nodes, by this name.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from overton.calls import Reply, Request, Usage

WORDS = ("position <<A>>", "I choose position <<B>>.", "position <<A>>", "I would rather not say. <b>é</b>")


def reply_to(request: Request, weights: bytes) -> Reply:
    asked = msgspec.json.encode(request)
    number = hashlib.sha256(weights + asked).digest()[0]
    usage = Usage(len(asked) // 4, number % 7 + 1)
    return Reply(WORDS[number % 4], usage=usage, fingerprint="stub 1", served_by="stub")


@dataclass
class Stub:
    """Answers after `latency` seconds, `copies` requests at a time (0: all); writes into the file `heard` which process
    ended which request. If `raises`, each tenth request ends in an error that is a bug, and all
    do if it is negative."""

    weights: Path
    latency: float
    heard: str
    name: str
    identity: str
    holds_form: bool
    copies: int = 0
    raises: int = 0

    def __post_init__(self) -> None:
        self._asked = 0
        self._free = asyncio.Semaphore(self.copies) if self.copies else nullcontext()

    async def answer(self, request: Request) -> Reply:
        async with self._free:
            await asyncio.sleep(self.latency)
        self._asked += 1
        if self.raises and (self.raises < 0 or self._asked % 10 == 0):
            raise RuntimeError("a bug in the replica\x1b[31m\n" * 1000)
        if self.heard:
            note(Path(self.heard), f"{os.getpid()} {hashlib.sha256(msgspec.json.encode(request)).hexdigest()}\n")
        return reply_to(request, self.weights.read_bytes())

    async def close(self) -> None:
        pass


def note(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


def stub(
    path: Path,
    *,
    latency: float = 0.0,
    heard: str = "",
    copies: int = 0,
    raises: int = 0,
    name: str,
    identity: str,
    hold: bool,
    **_: Any,
) -> Stub:
    return Stub(path, latency, heard, name, identity, hold, copies, raises)
