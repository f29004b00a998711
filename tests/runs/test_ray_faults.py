"""Runs over a Ray cluster whose replicas raise, and whose driver is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from on_ray import NEEDS_RAY, heard, nodes
from ray_engine import stub
from tests.runs.conftest import SEED, Runs

from overton.models import ray_worker
from overton.runs.answerers import ModelRequest

pytestmark = [NEEDS_RAY, pytest.mark.hostile, pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(600)]

DRIVER = """
import sys
from functools import partial
from pathlib import Path

import msgspec
from ray_engine import stub

from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.preparation import prepare
from overton.runs.start import start
from overton.models import ray_worker as worker
from overton.studies.open_mindedness import STUDY, Issue, Options

out, weights, issues = map(Path, sys.argv[1:4])
worker.llama = partial(stub, latency=0.05, heard=str(weights.with_suffix(".heard")))
model = ModelRequest(f"ray/gguf:{weights}", tuple(tuple(pair.split("=")) for pair in sys.argv[4:]))
items = msgspec.json.decode(issues.read_bytes(), type=list[Issue])
start(prepare(Experiment(STUDY, items, Options(trials=4)), {"subject": [model]}), out)
"""


def arguments(**args: Any) -> tuple[tuple[str, str], ...]:
    given = {"replicas": 2, "cpus": 0.5, "connections": 4, "seed": SEED} | args
    return tuple((key, str(value)) for key, value in given.items())


def alone(runs: Runs, weights: Path) -> Any:
    """The records of a run in this process."""
    runs.start("alone", models=[ModelRequest(f"gguf:{weights}", (("seed", str(SEED)),))], trials=4)
    return runs.records("alone")


def test_calls_at_which_a_replica_raises_are_asked_again(
    ray_here: None, runs: Runs, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = alone(runs, tiny_weights)
    monkeypatch.setattr(ray_worker, "llama", partial(stub, heard=str(tiny_weights.with_suffix(".heard")), raises=1))
    manifest = runs.start("placed", models=[ModelRequest(f"ray/gguf:{tiny_weights}", arguments())], trials=4)
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records("placed").equals(records)


def test_replicas_that_always_raise_stop_the_run_with_one_line(
    ray_here: None, runs: Runs, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_worker, "llama", partial(stub, raises=-1))
    manifest = runs.start("placed", models=[ModelRequest(f"ray/gguf:{tiny_weights}", arguments(patience=5))], trials=4)
    assert manifest.status == "stopped"
    assert "a bug in the replica" in manifest.stopped
    assert manifest.stopped.isprintable()
    assert len(manifest.stopped) < 1_000


def test_a_killed_driver_costs_only_the_calls_in_flight(runs: Runs, tiny_weights: Path, tmp_path: Path) -> None:
    import msgspec

    records = alone(runs, tiny_weights)
    calls = len(runs.outcomes("alone"))
    issues = tmp_path / "issues.json"
    issues.write_bytes(msgspec.json.encode(runs.issues))
    out, log = runs.folder / "placed", tiny_weights.with_suffix(".heard")
    with nodes(2):
        words = [f"{key}={value}" for key, value in arguments()]
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(out), str(tiny_weights), str(issues), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 120
        while time.monotonic() < until and driver.poll() is None:
            if log.exists() and log.read_bytes().count(b"\n") > 40:
                break
            time.sleep(0.05)
        os.kill(driver.pid, signal.SIGKILL)
        assert driver.wait(30) == -signal.SIGKILL
        manifest = runs.resume("placed")
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records("placed").equals(records)
    answered = Counter(asked for _, asked in heard(tiny_weights))
    processes = len({process for process, _ in heard(tiny_weights)})
    assert sum(answered.values()) - 4 * processes <= calls + 2 * 2 * 4  # of each replica the calls in flight
