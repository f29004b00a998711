"""Extraction of pages in separate processes. If a page makes its process hang, crash or use too much memory, only that
page is lost.

`ExtractionProcesses` starts the processes, each of which runs `main`. Jobs and results pass through standard input and
output.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from overton.errors import UnavailableError, Unreadable
from overton.retrieval.limits import PageSkipped
from overton.retrieval.page_text import PageBody, PageText, extract
from overton.untrusted import decode_json

_MAX_PROCESSES = min(2, os.cpu_count() or 1)
_TIMEOUT_S = 30.0
_START_TIMEOUT_S = 120.0
_MEMORY_BYTES = 2 * 2**30  # per process
_MAX_ANSWER_BYTES = 2**28
_KEPT_VARIABLES = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "LANG", "TMPDIR", "TEMP")

_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[Any], PageText] = msgspec.msgpack.Decoder(PageText).decode
_decode_job = msgspec.msgpack.Decoder(PageBody).decode


class ExtractionProcesses:
    """A few processes that extract the text of pages, started when first needed."""

    def __init__(self, seconds: float = _TIMEOUT_S) -> None:
        self._seconds = seconds
        self._places = asyncio.Semaphore(_MAX_PROCESSES)
        self._idle: list[asyncio.subprocess.Process] = []
        self._processes: set[asyncio.subprocess.Process] = set()

    async def read(self, job: PageBody) -> PageText:
        """The page's content.

        Raises:
            PageSkipped: the page could not be parsed, or parsing took too long.
            UnavailableError: no process could be started.
        """
        async with self._places:
            process = self._idle.pop() if self._idle else await self._start()
            try:
                found = await asyncio.wait_for(_exchange(process, _encode(job)), self._seconds)
            except TimeoutError:
                raise PageSkipped("takes too long to read") from None
            except (asyncio.IncompleteReadError, OSError, Unreadable):
                raise PageSkipped("unreadable") from None
            else:
                self._idle.append(process)
                return found
            finally:
                if process not in self._idle:
                    await self._end(process)

    async def close(self) -> None:
        """Stop all processes."""
        self._idle.clear()
        for process in list(self._processes):
            await self._end(process)

    async def _start(self) -> asyncio.subprocess.Process:
        # A malicious page might take over the process. So the process does not get the environment, which contains
        # keys.
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # do not import code from the folder in which a run is started
                "-m",
                "overton.retrieval.page_process",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
            )
        except OSError as error:
            raise UnavailableError("reader", f"no process to read pages could be started: {error}") from error
        self._processes.add(process)
        try:
            await asyncio.wait_for(_exchange(process, _encode(PageBody(b"", kind="text"))), _START_TIMEOUT_S)
        except (TimeoutError, asyncio.IncompleteReadError, OSError, Unreadable):
            await self._end(process)
            raise UnavailableError("reader", "the process that reads pages does not start") from None
        return process

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._processes.discard(process)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _exchange(process: asyncio.subprocess.Process, content: bytes) -> PageText:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(len(content).to_bytes(4, "little") + content)
    await process.stdin.drain()
    size = int.from_bytes(await process.stdout.readexactly(4), "little")
    if size > _MAX_ANSWER_BYTES:
        raise Unreadable("is larger than any page", too_large=True)
    return decode_json(await process.stdout.readexactly(size), _decode)


def main() -> None:
    """Read jobs from standard input and write results to standard output, each preceded by its length in 4 bytes."""
    # Ctrl-C reaches the whole process group, but the run still needs the text of pages whose extraction has started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that texts printed by a library do not mix with results
    import trafilatura  # noqa: F401 (so that the first answer means ready)

    while size := source.read(4):
        _write_frame(sink, _answer(source.read(int.from_bytes(size, "little"))))


def _answer(content: bytes) -> bytes:
    try:
        return _encode(extract(_decode_job(content)))
    except RecursionError:  # deeply nested tags, for example
        return _encode(PageText())


def _write_frame(sink: BinaryIO, content: bytes) -> None:
    sink.write(len(content).to_bytes(4, "little") + content)
    sink.flush()


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    import resource

    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    main()
