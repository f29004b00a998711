"""A Ray cluster of the tests' own, on this machine's loopback, and weights for which it needs no model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ray_engine import reply_to, stub

from overton.calls import Reply, Request
from overton.engine import PollIntervals, servers
from overton.models import ray_cluster, ray_worker

STORE = 80 * 2**20
NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'overton[ray]'")
_VARIABLES = ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN")


@contextmanager
def variables() -> Iterator[pytest.MonkeyPatch]:
    """Variables by which a cluster is our own: on the loopback, with a token, and small."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_ADDRESS", *_VARIABLES):
            patch.setenv(name, "")  # so that it is as it was afterwards
            patch.delenv(name)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))  # nodes have our code, too
        ray_cluster.keep_to_ourselves()
        patch.setattr(ray_cluster, "STORE", STORE)
        yield patch


@contextmanager
def nodes(count: int) -> Iterator[Any]:
    """A cluster of a head without free cores and `count` nodes with a core each, which RAY_ADDRESS names meanwhile."""
    with variables() as patch:
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "object_store_memory": STORE}
        made = Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=False)
        try:
            for _ in range(count):
                add_node(made)
            patch.setenv("RAY_ADDRESS", made.address)
            yield made
        finally:
            made.shutdown()


def add_node(made: Any, *, wait: bool = True) -> Any:
    """Add a node with a core."""
    return made.add_node(num_cpus=1, object_store_memory=STORE, wait=wait)


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """Ray on this machine, once for a module's tests."""
    with variables():
        ray_cluster.join()
        yield
        ray_cluster.leave()


def heard(weights: Path) -> list[list[str]]:
    """Of every request that a replica of these weights has answered its process and the request's hash."""
    return [line.split() for line in weights.with_suffix(".heard").read_text().splitlines()]


@pytest.fixture
def tiny_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights by which this process and replicas answer the same, without a model; see `heard`."""
    from overton.models.llama_cpp import EmbeddedModel

    async def answer(self: EmbeddedModel, request: Request) -> Reply:
        return reply_to(request, self.path.read_bytes())

    path = tmp_path / "tiny.gguf"
    monkeypatch.setattr(EmbeddedModel, "answer", answer)
    monkeypatch.setattr(ray_worker, "llama", partial(stub, latency=0.01, heard=str(path.with_suffix(".heard"))))
    monkeypatch.setattr(servers, "USUAL", PollIntervals(tick=0.1))
    return write_gguf(path)


def write_gguf(path: Path) -> Path:
    """A whole GGUF file, of an unknown kind of model."""
    gguf, numpy = pytest.importorskip("gguf"), pytest.importorskip("numpy")
    writer = gguf.GGUFWriter(path, "nonesuch")
    writer.add_array("tokenizer.ggml.tokens", ["a"])
    writer.add_tensor("first", numpy.zeros((4, 32), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
