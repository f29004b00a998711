"""Functions that run asynchronous code from scripts and notebooks, and handle signals in the meantime."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from overton.engine import Dispatcher
from overton.errors import Stopped

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work to its end on a fast event loop (uvloop if available).

    If a loop is already running, as in a notebook, the work runs in a separate thread. If the caller is interrupted,
    the work's task is cancelled, and the caller still waits until the work has ended.
    """
    if not _is_loop_running():
        return _run_on_fast_loop(work)
    result: T = _ThreadedWork(work).result()
    return result


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _ThreadedWork:
    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._results: list[Any] = []
        self._errors: list[BaseException] = []
        self._started = threading.Event()
        self._ended = threading.Event()
        self._task: asyncio.Task[Any] | None = None

    def result(self) -> Any:
        threading.Thread(target=self._run, name="overton").start()
        while not self._ended.is_set():
            try:
                self._ended.wait()  # an interrupted join would take the thread for ended
            except KeyboardInterrupt:
                self._interrupt()
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(_run_on_fast_loop(self._await_work()))
        except BaseException as error:  # noqa: BLE001 (passed to the caller's thread, whatever it is)
            self._errors.append(error)
        finally:
            self._started.set()
            self._ended.set()

    async def _await_work(self) -> Any:
        self._task = asyncio.current_task()
        self._started.set()
        return await self._work

    def _interrupt(self) -> None:
        self._started.wait()
        if self._task is not None:
            with suppress(RuntimeError):  # its loop has ended in the meantime
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)


def _run_on_fast_loop(work: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    result: T = uvloop.run(work)
    return result


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect garbage cycles rarely while the block runs.

    Each full garbage collection walks through all imported objects, which takes a fifth of a fast run's time. So these
    objects are excluded from collection (`gc.freeze`), unless the caller has already excluded some objects. A run's own
    objects are freed without full collections.
    """
    thresholds, theirs = gc.get_threshold(), gc.get_freeze_count()
    if not theirs:
        gc.collect()
        gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not theirs:
            gc.unfreeze()


_INTERRUPTED, _TERMINATED = "interrupted", "terminated"


async def until_interrupted(work: Coroutine[None, None, None], dispatcher: Dispatcher) -> None:
    """Wait for the work. The first Ctrl-C, SIGTERM or cancellation of this task stops the dispatcher, and the second
    cancels the work.

    Raises:
        Stopped: it was interrupted, or terminated.
    """
    task = asyncio.ensure_future(work)
    signals: list[str] = []

    def interrupt(word: str = _INTERRUPTED) -> None:
        signals.append(word)
        dispatcher.stop(Stopped(word))
        if len(signals) > 1:
            task.cancel()

    with _handle_signals(interrupt):
        while True:
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                if task.cancelled():
                    twice = " and ".join(dict.fromkeys(signals)) if len(set(signals)) > 1 else f"{signals[-1]} twice"
                    raise Stopped(f"{twice}: calls in flight were cancelled and will be paid for again") from None
                _forget_cancellation()
                interrupt()


def _forget_cancellation() -> None:
    """Clear this task's cancellation, because the task continues and its next await must not raise."""
    if (current := asyncio.current_task()) is not None:
        current.uncancel()


@contextmanager
def _handle_signals(act: Callable[[str], None]) -> Iterator[None]:
    """Call `act` for signals in place of their default actions. An application's own SIGTERM handler stays."""
    # Only the main thread receives signals, and on some platforms its loop cannot handle them.
    impossible = (NotImplementedError, ValueError, RuntimeError)
    loop = asyncio.get_running_loop()
    words = {signal.SIGINT: _INTERRUPTED}
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        words[signal.SIGTERM] = _TERMINATED
    with suppress(*impossible):
        for number, word in words.items():
            loop.add_signal_handler(number, act, word)
    try:
        yield
    finally:
        with suppress(*impossible):
            for number in words:
                loop.remove_signal_handler(number)
