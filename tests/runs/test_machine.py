"""Too few files and too little disk are found before any call, and a disk that fills up costs no reply."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from overton.engine import Limits
from overton.engine import budget as reserves
from overton.engine import journal as journals
from overton.engine.budget import Reserve
from overton.errors import DiskError, RunError
from overton.runs import machine

Usage = namedtuple("Usage", "total used free")

COMMAND = """
import json, resource, sys
soft, hard, words = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
sys.argv = ["overton", *words]
from overton.cli import main
main()
"""


def command(runs: Any, soft: int, hard: int, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process that may open that many files."""
    given = json.dumps([soft, hard, [str(one) for one in words]])
    return subprocess.run(
        [sys.executable, "-c", COMMAND, given], capture_output=True, text=True, check=False, timeout=120
    )


def run_words(runs: Any, out: str = "run", connections: int = 64) -> list[str]:
    job = runs.job(out)
    own = ["--trials", "1", "--template", "1", "--condition", "baseline"]
    asked = ["--model", runs.spec(), "--model-arg", runs.spec(), f"connections={connections}", "--issues", job["items"]]
    return ["run", "open-mindedness", *asked, *own, "--out", job["out"]]


def test_too_few_files_are_reported_in_a_sentence_before_anything_is_asked(runs: Any, endpoint: Any) -> None:
    done = command(runs, 64, 64, *run_words(runs))
    assert done.returncode == 1
    design, refusal = done.stderr.splitlines()
    assert design.startswith("overton: This design cannot measure Open-mindedness")
    assert refusal == (
        "overton: this run may open 112 files (64 connections and 48 of its own), but the system allows 64: raise the"
        " limit (ulimit -n 112) or use fewer connections (--model-arg NAME connections=N). No request was sent."
    )
    assert endpoint.asked == []
    assert not (runs.folder / "run").exists()
    fewer = command(runs, 64, 64, *run_words(runs, connections=16))
    assert fewer.returncode == 0, fewer.stderr


def test_a_process_raises_its_own_limit_as_far_as_it_may(runs: Any, endpoint: Any) -> None:
    endpoint.latency = 0.01
    done = command(runs, 40, 200, *run_words(runs))
    assert done.returncode == 0, done.stderr
    assert endpoint.asked


def test_a_finished_run_is_not_replayed_with_too_few_files(runs: Any, endpoint: Any) -> None:
    runs.start(issues=runs.issues[:1])
    (runs.folder / "run" / "records.parquet").unlink()  # otherwise nothing is left to do
    done = command(runs, 40, 40, "resume", str(runs.folder / "run"))
    assert done.returncode == 1
    assert "this run may open 48 files (0 connections and 48 of its own), but the system allows 40" in done.stderr


def test_a_disk_that_is_too_small_is_reported_before_anything_is_asked(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: Usage(10**6, 9 * 10**5, 10**5))
    with pytest.raises(
        RunError, match=r"run: the disk is full: this run needs at least \d+\.\d MB, and 0\.1 MB are free"
    ):
        runs.start()
    assert endpoint.asked == []
    assert not (runs.folder / "run").exists()


def test_a_run_that_is_resumed_on_a_full_disk_asks_nothing(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.start(limits=Limits(calls=20))
    asked = len(endpoint.asked)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: Usage(10**6, 9 * 10**5, 10**5))
    with pytest.raises(RunError, match="the disk is full"):
        runs.resume(limits=Limits(calls=1000))
    assert len(endpoint.asked) == asked


def test_space_that_cannot_be_set_aside_is_reported_before_anything_is_asked(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(reserves, "os", SimpleNamespace(fsync=full))
    monkeypatch.setattr(machine, "_check_space", lambda *given: None)
    with pytest.raises(DiskError, match=r"run: the disk is full: .* MB cannot be reserved on it"):
        runs.start()
    assert endpoint.asked == []


@contextmanager
def full_after(pages: int, monkeypatch: pytest.MonkeyPatch, *, twice: bool = False) -> Iterator[None]:
    """SQLite finds the disk full once the journal has so many pages, until the space set aside is freed."""
    opened: list[sqlite3.Connection] = []
    connect, free = journals.connect, Reserve.free

    def limited(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute(f"PRAGMA max_page_count={pages}")
        opened.append(connection)
        return connection

    def freed(self: Reserve) -> bool:
        was_there = free(self)
        if was_there and opened and not twice:
            opened[-1].execute("PRAGMA max_page_count=1000000")  # the writer's, which calls this
        return was_there

    with monkeypatch.context() as patch:
        patch.setattr(journals, "connect", limited)
        patch.setattr(Reserve, "free", freed)
        yield


def test_a_disk_that_fills_up_ends_the_run_and_every_reply_is_kept(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.latency = 0.03
    with full_after(6, monkeypatch), pytest.raises(DiskError, match=r"run: the disk is full\. Free some space"):
        runs.start()
    asked = len(endpoint.asked)
    assert 16 < asked < 132
    assert runs.manifest().status == "stopped"
    assert runs.manifest().stopped.endswith("every reply in journal.db is kept.")
    assert not (runs.folder / "run" / "journal.reserve").exists()
    assert len(runs.outcomes()) == asked
    manifest = runs.resume()
    assert (manifest.status, manifest.spent.requests) == ("finished", 132)
    assert len(endpoint.asked) == 132 == len(set(endpoint.seeds()))


def test_a_disk_that_stays_full_ends_the_run_and_loses_only_calls_in_flight(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.latency = 0.03
    with full_after(6, monkeypatch, twice=True), pytest.raises(DiskError, match="the disk is full"):
        runs.start()
    asked, kept = len(endpoint.asked), len(runs.outcomes())
    assert kept < asked <= 132
    manifest = runs.resume()
    assert manifest.status == "finished"
    assert len(endpoint.asked) == 132 + asked - kept


def test_the_command_says_so_and_ends_with_1(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch, command_line: Any
) -> None:
    endpoint.latency = 0.03
    with full_after(6, monkeypatch):
        done = command_line(*run_words(runs, connections=4)[:-6], "--out", "full", folder=runs.folder)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("overton: full: the disk is full. Free some space")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, where a process may mount one."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = shutil.which("mount")
    words = [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(mounted)]
    if mount is None or os.geteuid() or subprocess.run(words, capture_output=True, check=False).returncode:  # type: ignore[arg-type]
        pytest.skip("no file system can be mounted here")
    yield mounted
    subprocess.run(["umount", "-l", str(mounted)], check=True)


def test_a_real_disk_that_fills_up_costs_no_reply(runs: Any, endpoint: Any, small_disk: Path) -> None:
    runs.folder = small_disk
    endpoint.latency = 0.03

    def fill(asked: Any) -> None:
        if len(endpoint.replied) == 60:
            with (small_disk / "other").open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4096)):
                    pass

    endpoint.before_reply = fill
    with pytest.raises(DiskError, match="the disk is full"):
        runs.start(trials=4)
    endpoint.before_reply = None
    (small_disk / "other").unlink()
    asked = len(endpoint.asked)
    assert asked < 528
    assert runs.resume().status == "finished"
    assert len(endpoint.asked) == 528 == len(set(endpoint.seeds()))
