"""One case tried on one target, with checks of its time and memory and of whether its exceptions are documented."""

from __future__ import annotations

import hashlib
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from overton.errors import OvertonError, Unreadable

__all__ = ["MEMORY", "SECONDS", "Crash", "Mutation", "Target", "tried"]

SECONDS = 2.0
"""Of processor time, for one case."""
MEMORY = 256 * 2**20
"""Bytes by which one case may make the process grow, at its peak."""

Mutation = Callable[[Random, bytes], bytes]


@dataclass(frozen=True)
class Target:
    """A reader of bytes.

    `read` takes them and may raise the `documented` errors. `seeds` gives valid documents. `mutations` know this
    format (they are used in addition to those for all bytes), `tokens` are words of it. An `Unreadable` must have been
    turned into an error that names the input, unless it is documented here.
    """

    name: str
    read: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    documented: tuple[type[Exception], ...] = (OvertonError,)
    mutations: tuple[Mutation, ...] = ()
    tokens: tuple[bytes, ...] = ()
    seconds: float = SECONDS


@dataclass(frozen=True)
class Crash:
    """A crash: `kind` names the error, `place` where in Overton it came from, `told` is the whole traceback."""

    kind: str
    place: str
    told: str

    @property
    def signature(self) -> str:
        """The same for crashes that are probably the same."""
        return hashlib.sha256(f"{self.kind} {self.place}".encode()).hexdigest()[:10]


class TookTooLong(BaseException):
    """Raised by the clock; no `except Exception` of the code under test may swallow it."""


def tried(target: Target, data: bytes) -> Crash | None:
    """Give `data` to the target: None if all is well."""
    before = _rss("VmRSS")
    _forget_peak()
    try:
        with _clock(target.seconds):
            target.read(data)
    except Unreadable as error:
        if Unreadable not in target.documented:
            return _crash(error)
    except target.documented:
        pass
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - this is here to find them; a panic in Rust is not an Exception
        return _crash(error)
    grown = _rss("VmHWM") - before
    if grown > MEMORY:
        return Crash("memory", target.name, f"the process grew by {grown / 2**20:.0f} MiB")
    return None


@contextmanager
def _clock(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _crash(error: BaseException) -> Crash:
    told = "".join(traceback.format_exception(error))
    return Crash(type(error).__name__, _place(error), told if len(told) < 20_000 else told[:5_000] + told[-5_000:])


def _place(error: BaseException) -> str:
    """The innermost function of Overton's that the error came through."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if "/overton/" in frame.f_code.co_filename] or frames
    code = ours[-1].f_code
    return f"{code.co_filename.rpartition('/overton/')[2]}:{code.co_name}"


_STATUS = Path("/proc/self/status")
_PEAK = Path("/proc/self/clear_refs")


def _forget_peak() -> None:
    if _STATUS.exists():
        _PEAK.write_text("5")


def _rss(name: str) -> int:
    """Bytes of memory now (VmRSS) or at the peak (VmHWM); 0 if the system does not say, as on all but Linux."""
    if not _STATUS.exists():
        return 0
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
