"""Work runs to its end from a script and beside a loop that runs already."""

from __future__ import annotations

import asyncio
import threading

import pytest

from overton.hosts.local import run_to_end


async def where(value: int) -> tuple[int, str]:
    await asyncio.sleep(0)
    return value, threading.current_thread().name


async def fails() -> None:
    raise LookupError("from within")


def test_a_script_runs_it_in_its_own_thread() -> None:
    assert run_to_end(where(3)) == (3, threading.main_thread().name)


async def test_beside_a_running_loop_it_has_a_thread_of_its_own() -> None:
    assert run_to_end(where(3)) == (3, "overton")
    assert await where(4) == (4, threading.main_thread().name)


def test_an_error_reaches_a_script() -> None:
    with pytest.raises(LookupError, match="from within"):
        run_to_end(fails())


async def test_an_error_reaches_a_notebook() -> None:
    with pytest.raises(LookupError, match="from within"):
        run_to_end(fails())
