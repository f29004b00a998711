"""Work runs to its end from a script and next to a loop that is already running."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from overton.runs.event_loop import few_collections, run_to_end


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


def test_objects_made_before_a_run_are_frozen_for_the_garbage_collector() -> None:
    thresholds = gc.get_threshold()
    gc.unfreeze()
    try:
        with few_collections():
            assert gc.get_freeze_count() > 0
            assert gc.get_threshold() > thresholds
        assert gc.get_freeze_count() == 0
        assert gc.get_threshold() == thresholds
    finally:
        gc.freeze()


def test_only_objects_that_a_caller_froze_stay_frozen() -> None:
    gc.freeze()
    kept = gc.get_freeze_count()
    more = [[] for _ in range(10_000)]
    with few_collections():
        assert gc.get_freeze_count() <= kept
    assert 0 < gc.get_freeze_count() <= kept
    assert len(more) == 10_000


STOPPED = 4
CONNECTIONS = 8


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture
def gate(endpoint: Any) -> Iterator[threading.Event]:
    """Until it is set, the endpoint receives requests and answers only the first, which goes alone as it has a seed."""
    opened, answered = threading.Event(), []

    async def behave(asked: Any) -> None:
        answered.append(asked)
        if len(answered) == 1:
            return
        while not opened.is_set():  # noqa: ASYNC110 (another thread sets it)
            await asyncio.sleep(0.002)

    endpoint.behave = behave
    yield opened
    opened.set()


def interrupted_once(child: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> None:
    child.send_signal(number)
    assert child.stdout
    assert child.stdout.readline() == "stopping\n", child.communicate()


@pytest.mark.parametrize(
    ("number", "notebook", "word"),
    [
        pytest.param(signal.SIGINT, False, "interrupted", marks=pytest.mark.long),
        (signal.SIGINT, True, "interrupted"),
        (signal.SIGTERM, False, "terminated"),
    ],
)
def test_a_signal_waits_for_calls_in_flight_and_says_so(  # noqa: PLR0917
    runs: Any, endpoint: Any, gate: threading.Event, number: signal.Signals, notebook: bool, word: str
) -> None:
    child = runs.child(announce=True, notebook=notebook, connections=CONNECTIONS)
    until(lambda: endpoint.under_way == CONNECTIONS)
    interrupted_once(child, number)
    assert child.poll() is None
    gate.set()
    _, said = child.communicate(timeout=30)
    assert child.returncode == STOPPED, said
    assert f"stopped: {word}" in said
    assert len(endpoint.asked) == 1 + CONNECTIONS
    assert set(runs.outcomes()) == set(endpoint.seeds())
    manifest = runs.manifest()
    assert (manifest.status, manifest.stopped) == ("stopped", word)
    assert manifest.missing == {runs.spec(): ["night-buses", "trams"]}
    assert manifest.spent.requests == 1 + CONNECTIONS
    assert runs.records().height == 0
    check_resumed(runs, endpoint, kept=1 + CONNECTIONS)


@pytest.mark.parametrize(
    ("first", "second", "notebook", "words"),
    [
        (signal.SIGINT, signal.SIGINT, False, "interrupted twice"),
        pytest.param(signal.SIGINT, signal.SIGINT, True, "interrupted twice", marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, signal.SIGTERM, False, "terminated twice", marks=pytest.mark.long),
        (signal.SIGINT, signal.SIGTERM, False, "interrupted and terminated"),
    ],
)
def test_a_second_signal_cuts_off_calls_in_flight(  # noqa: PLR0917
    runs: Any,
    endpoint: Any,
    gate: threading.Event,
    first: signal.Signals,
    second: signal.Signals,
    notebook: bool,
    words: str,
) -> None:
    child = runs.child(announce=True, notebook=notebook, connections=CONNECTIONS)
    until(lambda: endpoint.under_way == CONNECTIONS)
    interrupted_once(child, first)
    child.send_signal(second)
    _, said = child.communicate(timeout=30)  # though the endpoint never answers
    assert child.returncode == STOPPED, said
    assert words in said
    assert set(runs.outcomes()) == {endpoint.asked[0].seed}
    assert runs.manifest().status == "stopped"
    gate.set()
    check_resumed(runs, endpoint, kept=1)


def test_an_applications_own_way_with_sigterm_stays(runs: Any) -> None:
    def own(*_: Any) -> None: ...

    before = signal.signal(signal.SIGTERM, own)
    held: list[Any] = []
    try:
        runs.start(watch=lambda progress: held.append(signal.getsignal(signal.SIGTERM)))
        held.append(signal.getsignal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert set(held) == {own}


def check_resumed(runs: Any, endpoint: Any, kept: int) -> None:
    before = len(endpoint.asked)
    assert runs.resume().status == "finished"
    assert len(endpoint.asked) - before == 2 * 66 - kept
    runs.start("whole")
    assert runs.records().equals(runs.records("whole"))
