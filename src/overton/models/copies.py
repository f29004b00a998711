"""Copies of one model side by side, each asked by a thread of its own; what shares a beginning goes to the same one."""

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
    """A thread, how many calls wait for it or are under way, and the beginning that it will have read last."""

    thread: ThreadPoolExecutor
    waiting: int = 0
    last: str = ""


@dataclass
class Copies:
    """As many threads as there are copies, each of which answers one call at a time, in the order in which they came.

    A call goes to the copy that will then have read its beginning last, else to the one for which the fewest wait. So
    with more calls under way than copies none is idle, and a beginning that several calls share is read once where
    they come one after another.
    """

    number: int
    name: str
    _all: list[_Copy] = field(default_factory=list)

    async def run(self, head: str, work: Callable[..., T], *arguments: Any) -> T:
        """The outcome of `work(*arguments)` in the thread of the copy that fits its `head`, '' where it shares none."""
        copy = self._fitting(head)
        copy.waiting += 1
        copy.last = head
        try:
            return await asyncio.get_running_loop().run_in_executor(copy.thread, work, *arguments)
        finally:
            copy.waiting -= 1

    def shutdown(self) -> None:
        """Wait for what is under way, and end the threads with all that is theirs."""
        for copy in self._all:
            copy.thread.shutdown()

    def _fitting(self, head: str) -> _Copy:
        if not self._all:
            threads = (ThreadPoolExecutor(1, f"overton {self.name}") for _ in range(self.number))
            self._all = [_Copy(thread) for thread in threads]
        least = min(self._all, key=lambda copy: copy.waiting)
        return next((copy for copy in self._all if head and copy.last == head), least)
