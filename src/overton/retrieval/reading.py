"""Pages are taken apart in processes of their own: one that hangs, crashes or fills memory costs only itself."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

import msgspec

from overton.errors import UnavailableError
from overton.retrieval.extraction import Extract, Job
from overton.retrieval.limits import Unread

__all__ = ["Readers"]

_READERS = min(2, os.cpu_count() or 1)
_SECONDS = 30.0
_START_SECONDS = 120.0
_KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "LANG", "TMPDIR", "TEMP")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Extract).decode


class Readers:
    """A few processes that take the text out of pages, started when first needed."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._places = asyncio.Semaphore(_READERS)
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def read(self, job: Job) -> Extract:
        """What the page says.

        Raises:
            Unread: it could not be taken apart, not in time or at all.
            UnavailableError: no process could be started.
        """
        async with self._places:
            process = self._idle.pop() if self._idle else await self._start()
            try:
                found = await asyncio.wait_for(_exchange(process, _encode(job)), self._seconds)
            except TimeoutError:
                raise Unread("takes too long to read") from None
            except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
                raise Unread("unreadable") from None
            else:
                self._idle.append(process)
                return found
            finally:
                if process not in self._idle:
                    await self._end(process)

    async def close(self) -> None:
        """End all processes."""
        self._idle.clear()
        for process in list(self._all):
            await self._end(process)

    async def _start(self) -> asyncio.subprocess.Process:
        # What a page may take over knows no key: the environment stays behind.
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "overton.retrieval.reader",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
            )
        except OSError as error:
            raise UnavailableError("reader", f"no process to read pages could be started: {error}") from error
        self._all.add(process)
        try:
            await asyncio.wait_for(_exchange(process, _encode(Job(b"", kind="text"))), _START_SECONDS)
        except (TimeoutError, asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            await self._end(process)
            raise UnavailableError("reader", "the process that reads pages does not start") from None
        return process

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._all.discard(process)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _exchange(process: asyncio.subprocess.Process, content: bytes) -> Extract:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(len(content).to_bytes(4, "little") + content)
    await process.stdin.drain()
    size = int.from_bytes(await process.stdout.readexactly(4), "little")
    return _decode(await process.stdout.readexactly(size))
