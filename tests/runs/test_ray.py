"""Runs over replicas on this machine, which equal those in one process after any faults."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from on_ray import NEEDS_RAY, heard, write_gguf
from tests.runs.conftest import SEED, Runs

from overton.engine import Limits
from overton.errors import OvertonError, RunMismatch
from overton.models.weights import ensure
from overton.runs.answerers import ModelRequest
from overton.runs.progress import Progress

pytestmark = [NEEDS_RAY, pytest.mark.ray, pytest.mark.timeout(600)]
ENDLESS = Limits(calls=10**6)


def request(weights: Path | str, ray: str = "ray/", **args: Any) -> ModelRequest:
    placed = {"replicas": "2", "cpus": "0.5", "connections": "4"} if ray else {}
    pairs = tuple((key, str(value)) for key, value in (placed | {"seed": SEED} | args).items())
    return ModelRequest(f"{ray}gguf:{weights}" if isinstance(weights, Path) else f"{ray}{weights}", pairs)


def whole(runs: Runs, weights: Path, **more: Any) -> Any:
    """The records of a run in this process."""
    runs.start("alone", models=[request(weights, "")], **more)
    return runs.records("alone")


def test_a_killed_replica_costs_only_its_calls_and_records_are_those_of_one_process(
    ray_here: None, runs: Runs, tiny_weights: Path
) -> None:
    records, told, killed = whole(runs, tiny_weights, trials=4), set[str](), list[int]()

    def watch(seen: Progress) -> None:
        told.add(seen.fleets["gguf:tiny.gguf"])
        if seen.answered >= 30 and not killed:
            killed.append(int(heard(tiny_weights)[-1][0]))
            os.kill(killed[0], signal.SIGKILL)

    manifest = runs.start("placed", models=[request(tiny_weights)], trials=4, watch=watch)
    assert killed
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records("placed").equals(records)
    assert runs.outcomes("placed") == runs.outcomes("alone")
    (entry,), (alone,) = manifest.models["subject"], runs.manifest("alone").models["subject"]
    assert (entry.name, entry.identity) == ("gguf:tiny.gguf", alone.identity)
    calls, answered = len(runs.outcomes("alone")), heard(tiny_weights)
    warming = 4 * len({process for process, _ in answered})
    assert len(answered) - warming <= calls + 4
    assert {count for asked, count in Counter(asked for _, asked in answered).items()} <= {1, 2, warming}
    assert "2 of 2 replicas up" in told


@pytest.mark.long
def test_a_run_started_in_one_process_continues_on_a_cluster_and_back(
    ray_here: None, runs: Runs, tiny_weights: Path
) -> None:
    records = whole(runs, tiny_weights)
    runs.start("moved", models=[request(tiny_weights, "")], limits=Limits(calls=7))
    moved = runs.resume("moved", elsewhere=[request(tiny_weights)], limits=Limits(calls=20))
    assert (moved.status, moved.spent.requests) == ("stopped", 20)
    assert moved.models["subject"][0].spec.startswith("ray/gguf:")
    assert runs.resume("moved", elsewhere=[ModelRequest(f"gguf:{tiny_weights}")], limits=ENDLESS).status == "finished"
    assert runs.records("moved").equals(records)


def test_other_weights_of_the_same_name_are_refused(runs: Runs, tiny_weights: Path) -> None:
    runs.start("moved", models=[request(tiny_weights, "")], limits=Limits(calls=7))
    (tiny_weights.parent / "other").mkdir()
    other = write_gguf(tiny_weights.parent / "other" / "tiny.gguf")
    other.write_bytes(other.read_bytes()[:-1] + b"x")
    with pytest.raises(RunMismatch, match="its identity"):
        runs.resume("moved", elsewhere=[request(other)], limits=ENDLESS)


@pytest.mark.long
def test_replicas_that_do_not_fit_are_reported_and_the_run_can_be_resumed(
    ray_here: None, runs: Runs, tiny_weights: Path
) -> None:
    manifest = runs.start("placed", models=[request(tiny_weights, cpus=1024, patience=1)])
    assert (manifest.status, manifest.spent.requests) == ("stopped", 0)
    assert "0 of 2 replicas up; left out: replica 1 (waiting for room on the cluster)" in manifest.stopped
    assert runs.resume("placed", elsewhere=[request(tiny_weights, patience=200)]).status == "finished"


@pytest.mark.long
@pytest.mark.embedded
def test_one_request_at_a_time_has_the_replies_of_this_process(ray_here: None, runs: Runs) -> None:
    """The model itself, both ways; the fields about the machine's package are compared too."""
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install 'overton[embedded]'")
    try:
        ensure("smollm2-135m")
    except OvertonError as error:
        pytest.skip(f"the embedded model's weights cannot be had: {error}")
    one = {"threads": 1, "temperature": 0, "max_tokens": 8}
    for out, ray, more in (("alone", "", {}), ("placed", "ray/", {"replicas": 1, "cpus": 1, "connections": 1})):
        model = request("embedded/smollm2-135m", ray, **one, **more)
        runs.start(out, models=[model], limits=Limits(calls=6))
    found = runs.outcomes("placed")
    assert len(found) == 6
    assert found == runs.outcomes("alone")
