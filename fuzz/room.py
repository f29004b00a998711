"""The workplace of targets: a folder of their own, in memory if there is such a file system, and one event loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import selectors
import shutil
import socket
import tempfile
from collections.abc import Coroutine
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["WITHIN", "ended", "file_of", "fresh", "in_memory", "room"]

T = TypeVar("T")

WITHIN = "OVERTON_FUZZ_ROOM"
"""The variable that names a folder for this process alone. The process that set it removes the folder, even if this
process dies."""
_HURRY = 100
_numbers = count(1)


def in_memory() -> Path | None:
    """A file system in memory, None if there is none."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() else None


@cache
def room() -> Path:
    """This process's folder."""
    made = tempfile.mkdtemp(prefix="overton-fuzz-", dir=os.environ.get(WITHIN) or in_memory())
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(made, ignore_errors=True) if os.getpid() == owner else None)
    return Path(made)


def fresh() -> Path:
    """A name for a folder that does not exist yet; the previous one is removed."""
    number = next(_numbers)
    shutil.rmtree(room() / f"case-{number - 1}", ignore_errors=True)
    return room() / f"case-{number}"


def file_of(data: bytes, suffix: str) -> Path:
    """A file containing `data`, overwritten by the next."""
    path = room() / f"case{suffix}"
    path.write_bytes(data)
    return path


class _Hurried(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[Any]:
        return list(super().select(None if timeout is None else timeout / _HURRY))


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose clock runs a hundred times as fast, so that waits are short; it knows no host but this machine."""

    def __init__(self) -> None:
        super().__init__(_Hurried())
        self.raised: list[BaseException] = []
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return super().time() * _HURRY

    async def getaddrinfo(self, host: Any, port: Any, **how: Any) -> Any:
        how["flags"] = int(how.get("flags", 0)) | socket.AI_NUMERICHOST
        return socket.getaddrinfo(host, port, **how)

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        if address[0] != "127.0.0.1":
            raise ConnectionRefusedError("targets reach this machine only")
        await super().sock_connect(sock, address)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception in a callback would be a traceback on a user's terminal."""
        error = context.get("exception")
        self.raised.append(error if isinstance(error, BaseException) else RuntimeError(context["message"]))


@cache
def _loop() -> _Loop:
    return _Loop()


def ended(what: Coroutine[Any, Any, T]) -> T:
    """Run it to its end on this process's loop; exceptions from its callbacks are raised here."""
    loop = _loop()
    loop.raised.clear()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(what)
    finally:
        if loop.raised:
            raise loop.raised[0]
