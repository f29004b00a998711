"""An event loop whose clock jumps to its next timer: hours of waiting take milliseconds on any machine."""

from __future__ import annotations

import asyncio
import selectors
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["per_minute", "run_simulated"]

T = TypeVar("T")

_GRACE = 0.002
"""Real seconds in which another thread, such as a journal's, may wake the loop before its clock jumps."""


class _JumpingSelector(selectors.SelectSelector):
    """Waits for no timer; `now` is the simulated time in seconds."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        found = super().select(min(timeout, _GRACE))
        if not found:
            self.now += timeout
        return found


class _SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run_simulated(work: Coroutine[Any, Any, T]) -> T:
    """The result of work whose waits are simulated."""
    with asyncio.Runner(loop_factory=_SimulatedLoop) as runner:
        return runner.run(work)


def per_minute(times: list[float]) -> list[int]:
    """How many of these times (seconds) fall into each minute from the first."""
    counts = Counter(int((time - times[0]) // 60) for time in times)
    return [counts[minute] for minute in range(max(counts) + 1)]
