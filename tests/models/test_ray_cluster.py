"""Where replicas would run, before anything runs there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overton.calls import Reach
from overton.errors import MissingExtra
from overton.models import open_model, ray_cluster
from overton.models.reach import reach_of


def test_error_without_ray_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'overton\[ray\]'"):
        open_model("ray/gguf:/models/m.gguf")


def test_the_cluster_that_would_be_used_is_named_next_to_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://somebody:secret@head:10001")
    told = [str(reach) for reach in reach_of(f"ray/gguf:{tmp_path}/m.gguf", [("replicas", "9")])]
    assert told == [f"open {tmp_path}/m.gguf", "run its replicas on the Ray cluster at ray://...@head:10001"]
    monkeypatch.delenv("RAY_ADDRESS")
    assert reach_of("ray/embedded/smollm2-135m") == [Reach("this machine, started by Ray", runs=True)]
    assert reach_of("embedded/smollm2-135m") == []


def test_local_cluster_keeps_to_itself_and_respects_user_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/mine")
    ray_cluster.keep_to_ourselves()
    assert "RAY_AUTH_TOKEN" not in os.environ
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH")
    ray_cluster.keep_to_ourselves()
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64
    assert os.environ["RAY_AUTH_MODE"] == "token"
