"""One worker: tries cases on one target for a while, and prints a line of JSON per second and for each new crash.

The case being tried is in a file, so that it is known even if it ends the process.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from time import monotonic

from fuzz.mutating import mutated
from fuzz.targets import named
from fuzz.trying import Crash, Target, tried

__all__ = ["FATAL", "minimised", "warm", "work"]

_ADDRESSES = 2 * 2**30
"""Bytes of address space beyond what the process has when it starts: asking for more gives a MemoryError."""
FATAL = {"TookTooLong", "MemoryError", "memory"}
"""After these a process is no longer as it was: a new one continues."""
_SHRINKING = 4.0


def warm(target: Target, seeds: Sequence[bytes]) -> None:
    """Try some seeds, so that what is imported for the first case costs the first case no memory and no time."""
    for data in seeds[:3]:
        tried(target, data)


def work(name: str, seed: int, seconds: float, case: Path) -> None:
    """Try cases for the given time. Prints {"cases": N}, {"crash": KIND, "place": ..., "told": ..., "data": HEX}."""
    target = named(name)
    say = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not one of our lines
    seeds = list(target.seeds())
    warm(target, seeds)
    _bound()
    number, began, told = 0, monotonic(), monotonic()
    seen: set[str] = set()
    with case.open("wb", buffering=0) as file:
        for data in _cases(target, seeds, seed):
            os.pwrite(file.fileno(), data, 0)
            os.ftruncate(file.fileno(), len(data))
            crash = tried(target, data)
            number += 1
            if crash is not None:
                fresh = crash.signature not in seen
                seen.add(crash.signature)
                small = minimised(target, data, crash) if fresh and crash.kind not in FATAL else data
                _say(say, _line(crash, small if fresh else b""))
                if crash.kind in FATAL:
                    break
            if monotonic() - told > 1:
                told = monotonic()
                _say(say, {"cases": number})
            if monotonic() - began > seconds:
                break
    _say(say, {"cases": number, "ended": True})
    say.flush()
    os._exit(0)  # threads of libraries may hang at an orderly exit


def _cases(target: Target, seeds: list[bytes], seed: int) -> Iterator[bytes]:
    """The seeds themselves, then endless cases; the same ones for one seed."""
    yield from seeds
    chance = Random(f"{target.name}/{seed}")
    while True:
        yield mutated(chance, target, seeds)


def minimised(target: Target, data: bytes, crash: Crash) -> bytes:
    """A shorter case that crashes in the same way, as far as a few seconds allow."""
    until, size = monotonic() + _SHRINKING, len(data) // 2
    while size and monotonic() < until:
        at = 0
        while at < len(data) and monotonic() < until:
            shorter = data[:at] + data[at + size :]
            found = tried(target, shorter)
            if found is not None and found.signature == crash.signature:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def _bound() -> None:
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + _ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _line(crash: Crash, data: bytes) -> dict[str, str]:
    return {
        "crash": crash.kind,
        "place": crash.place,
        "signature": crash.signature,
        "told": crash.told,
        "data": data.hex(),
    }


def _say(say: object, line: object) -> None:
    print(json.dumps(line), file=say, flush=True)  # type: ignore[call-overload]
