"""Ctrl-C: the first one lets what is in flight end, the second one cuts it off."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress

from overton.engine import Desk
from overton.errors import Stopped

__all__ = ["until_interrupted"]


async def until_interrupted(work: Coroutine[None, None, None], desk: Desk) -> None:
    """Do the work. Ctrl-C, or a cancellation of this task, stops the desk; another one cancels the work too.

    Raises:
        Stopped: it was interrupted.
    """
    task = asyncio.ensure_future(work)
    interrupts = 0

    def interrupt() -> None:
        nonlocal interrupts
        interrupts += 1
        desk.stop(Stopped("interrupted"))
        if interrupts > 1:
            task.cancel()

    with _on_ctrl_c(interrupt):
        while True:
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                if task.cancelled():
                    raise Stopped("interrupted twice: calls in flight were cut off and will be paid again") from None
                _forget_cancellation()
                interrupt()


def _forget_cancellation() -> None:
    """This task goes on: what it awaits next must not take it for cancelled."""
    if (current := asyncio.current_task()) is not None:
        current.uncancel()


@contextmanager
def _on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    # Only the main thread is told of signals, and not every platform's loop can be.
    impossible = (NotImplementedError, ValueError, RuntimeError)
    loop = asyncio.get_running_loop()
    with suppress(*impossible):
        loop.add_signal_handler(signal.SIGINT, act)
    try:
        yield
    finally:
        with suppress(*impossible):
            loop.remove_signal_handler(signal.SIGINT)
