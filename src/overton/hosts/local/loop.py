"""From ordinary code into an event loop and back, in scripts and notebooks alike."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_to_end"]

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a fast event loop (uvloop where it exists); beside a loop that runs already (a notebook's) in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _loop_run(work)
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(_loop_run(work))
        except BaseException as error:  # noqa: BLE001 (handed to the caller's thread, whatever it is)
            errors.append(error)

    thread = threading.Thread(target=target, name="overton")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _loop_run(work: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
