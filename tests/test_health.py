"""Reports on the installation, which show keys by the names of their variables and never by their values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import overton
from overton import health as doctors
from overton.health import Extra

SECRET = "sk-live-0123456789"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without keys, with a cache of its own."""
    for key in doctors.doctor().keys:
        monkeypatch.delenv(key.variable, raising=False)
    monkeypatch.setenv("OVERTON_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_installed_packages_have_a_version_and_extras_their_packages(alone: Path) -> None:
    found = overton.doctor()
    assert found.overton == overton.__version__
    assert found.packages["msgspec"]
    assert {"embedded", "retrieval", "inspect", "clustering"} <= {extra.name for extra in found.extras}
    assert not {"dev", "bench"} & {extra.name for extra in found.extras}
    assert "open-mindedness" in found.studies
    assert found.cache == str(alone / "cache")


def test_keys_are_shown_by_name_and_never_by_value(
    alone: Path, monkeypatch: pytest.MonkeyPatch, command_line: Any
) -> None:
    assert not any(key.set for key in overton.doctor().keys)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    found = overton.doctor()
    assert [key.variable for key in found.keys if key.set] == ["OPENAI_API_KEY"]
    assert "openai: its key is set" in found.can
    for words in (["doctor"], ["doctor", "--json"]):
        done = command_line(*words, folder=alone)
        assert "OPENAI_API_KEY" in done.stdout
        assert SECRET not in done.stdout + done.stderr


def test_weights_are_cached_once_their_file_is_there(alone: Path) -> None:
    assert not any(one.cached for one in overton.doctor().weights)
    name = overton.doctor().weights[0].name
    (alone / "cache" / "weights").mkdir(parents=True)
    (alone / "cache" / "weights" / f"{name}.q8_0.gguf").touch()
    assert overton.doctor().weights[0].cached


def test_a_partly_installed_part_is_a_problem_and_a_missing_one_is_not(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [Extra("embedded", {"xllamacpp": "1", "gguf": None}), Extra("retrieval", {"tantivy": None})]
    monkeypatch.setattr(doctors, "_installed_packages", lambda: ({"rich": None}, parts))
    found = overton.doctor()
    assert found.problems == [
        "the package rich is missing: pip install overton",
        "the part embedded lacks gguf: pip install 'overton[embedded]'",
    ]
    assert any("pip install 'overton[retrieval]'" in one for one in found.could)


def test_the_command_ends_as_things_are(alone: Path, command_line: Any) -> None:
    done = command_line("doctor", "--json", folder=alone)
    told = json.loads(done.stdout)
    assert done.returncode == (1 if told["problems"] else 0)
    assert told["cache"] == str(alone / "cache")


def test_a_cache_that_cannot_be_written_is_a_problem(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctors.os, "access", lambda *_: False)
    assert overton.doctor().problems == [
        f"the cache {alone / 'cache'} is not writable: set OVERTON_CACHE to a folder that is"
    ]
