"""Copies of one model in parallel, each with its own thread; calls with a common head go to the same copy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Copies"]

T = TypeVar("T")


@dataclass
class _Copy:
    """A thread, how many calls it has waiting or running, and the head that it will have read last."""

    thread: ThreadPoolExecutor
    waiting: int = 0
    last: str = ""


@dataclass
class Copies:
    """One thread per copy, each of which answers one call at a time, in order of arrival.

    A call goes to the copy that will have read its head last, otherwise to the one with the fewest waiting. So with
    more calls in progress than copies none is idle, and a head that several consecutive calls share is read once.
    """

    number: int
    name: str
    _all: list[_Copy] = field(default_factory=list)

    async def run(self, head: str, work: Callable[..., T], *arguments: Any) -> T:
        """The outcome of `work(*arguments)` in the thread of the copy that fits its `head`, '' if it shares none."""
        copy = self._fitting(head)
        copy.waiting += 1
        copy.last = head
        try:
            return await asyncio.get_running_loop().run_in_executor(copy.thread, work, *arguments)
        finally:
            copy.waiting -= 1

    def shutdown(self) -> None:
        """Wait for running calls, then end the threads and free what they own."""
        for copy in self._all:
            copy.thread.shutdown()

    def _fitting(self, head: str) -> _Copy:
        if not self._all:
            threads = (ThreadPoolExecutor(1, f"overton {self.name}") for _ in range(self.number))
            self._all = [_Copy(thread) for thread in threads]
        least = min(self._all, key=lambda copy: copy.waiting)
        return next((copy for copy in self._all if head and copy.last == head), least)
