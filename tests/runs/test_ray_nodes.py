"""Runs over a Ray cluster of several nodes, which come and go."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from on_ray import NEEDS_RAY, add_node, heard, nodes
from ray_engine import stub
from tests.runs.conftest import SEED, Runs

from overton.errors import AccessError
from overton.models import ray_replicas, ray_worker
from overton.runs.answerers import ModelRequest
from overton.runs.folder import read_manifest
from overton.runs.progress import Progress

pytestmark = [NEEDS_RAY, pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(900)]


def request(weights: Path, **args: Any) -> ModelRequest:
    given = {"replicas": 4, "cpus": 0.5, "connections": 4, "seed": SEED} | args
    return ModelRequest(f"ray/gguf:{weights}", tuple((key, str(value)) for key, value in given.items()))


def test_nodes_die_and_come_while_a_run_goes_on(
    runs: Runs, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before, the weights are on none of the nodes."""
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ray_replicas, "on_nodes", lambda path: "/nowhere/tiny.gguf")
    runs.start("alone", models=[ModelRequest(f"gguf:{tiny_weights}", (("seed", str(SEED)),))], trials=12)
    with nodes(2) as made:
        first, second = list(made.worker_nodes)

        def change() -> None:
            add_node(made, wait=False)
            made.remove_node(second, allow_graceful=False)

        moments: list[tuple[int, Callable[[], Any]]] = [
            (40, lambda: made.remove_node(first, allow_graceful=False)),
            (150, change),
        ]

        def watch(seen: Progress) -> None:
            if moments and seen.answered >= moments[0][0]:
                moments.pop(0)[1]()

        capfd.readouterr()
        manifest = runs.start("placed", models=[request(tiny_weights)], trials=12, watch=watch)
        assert "raylet" not in capfd.readouterr().out
    assert not moments
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records("placed").equals(runs.records("alone"))
    assert len({process for process, _ in heard(tiny_weights)}) >= 3  # one on each of at least three nodes
    assert [path.suffix for path in sorted((tmp_path / "cache/weights/brought").iterdir())] == [".gguf", ".json"]


def test_ten_nodes_die_and_ten_come_at_random_moments(
    runs: Runs, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_worker, "llama", partial(stub, latency=0.2, heard=str(tiny_weights.with_suffix(".heard"))))
    runs.start("alone", models=[ModelRequest(f"gguf:{tiny_weights}", (("seed", str(SEED)),))], trials=12)
    rng = random.Random(SEED)
    moments = sorted(rng.sample(range(20, read_manifest(runs.folder / "alone").spent.requests - 100), 10))
    with nodes(2) as made:

        def watch(seen: Progress) -> None:
            if moments and seen.answered >= moments[0]:
                moments.pop(0)
                made.remove_node(rng.choice(list(made.worker_nodes)), allow_graceful=False)
                add_node(made, wait=False)

        manifest = runs.start("placed", models=[request(tiny_weights)], trials=12, watch=watch)
    assert not moments
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records("placed").equals(runs.records("alone"))


def test_a_cluster_that_is_not_there_stops_a_run_before_its_first_call(
    runs: Runs, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(AccessError, match=f"the Ray cluster at {address} cannot be joined: .*refused"):
            runs.start("placed", models=[request(tiny_weights)])
    assert not runs.outcomes("placed")
