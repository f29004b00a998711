"""The fixture `processes`: separate processes for tests, which are killed at a step or can write only small files.

They are forks: their work starts no threads, and waits for none of ours. A test that uses them runs in a fresh process:
in one where other tests have started the threads of native libraries, a fork may crash.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

STEPS = ("open", "os.", "fcntl.")
"""How Python names (see its table of audit events) what touches files."""


def in_a_process(work: Callable[[], object]) -> int:
    """The exit status of a process that does `work`: 0, the number that it gives, or below 0 the signal."""
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            done = work()
            status = done if isinstance(done, int) else 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Whether a process that does `work` was killed when it touched a file for the time after so many."""
    left = step

    def count(event: str, _: object) -> None:
        nonlocal left
        if event.startswith(STEPS) and event != "os.kill":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def counted() -> None:
        sys.addaudithook(count)
        work()

    status = in_a_process(counted)
    assert status in (0, -signal.SIGKILL)
    return status != 0


def with_room_for(size: int, work: Callable[[], object]) -> int:
    """The same as `in_a_process`, where no file may be larger than so many bytes, as on a full disk."""

    def limited() -> object:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return work()

    return in_a_process(limited)


_FRESH = "OVERTON_TESTS_IN_A_FRESH_PROCESS"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that forks in a process that has done nothing else."""
    if "processes" not in pyfuncitem.fixturenames or _FRESH in os.environ:
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", pyfuncitem.nodeid]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {_FRESH: "1"}
    done = subprocess.run(
        command, cwd=pyfuncitem.config.rootpath, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return True


@pytest.fixture
def processes() -> SimpleNamespace:
    """Functions that do work in a separate process."""
    return SimpleNamespace(run=in_a_process, killed_at=killed_at, with_room_for=with_room_for)
