"""Runs that version 0.2.0 made are opened, replayed without a call, and checked by its gates as they were then."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.unchanged.comparing import differences, told
from tests.unchanged.mapping import CLOSE, STORED, form

import overton
from overton.engine import entries

from . import ARCHIVES, GATES, LABELS, RUNS, unpack
from .record import checked

VERSION = "0.2.0"
STOPPED = [name for name, run in RUNS.items() if "max_calls" in run.options]
FINISHED = [name for name in RUNS if name not in STOPPED]


def test_every_case_has_an_archive_and_every_archive_a_case() -> None:
    stored = {path.name.removesuffix(".tar.xz") for path in ARCHIVES.glob("*.tar.xz")}
    assert stored == {*RUNS, *LABELS}
    assert {path.name for path in (ARCHIVES / "gates").iterdir()} == set(GATES)


@pytest.mark.parametrize("name", RUNS)
def test_stored_runs_carry_the_version_that_made_them(name: str, tmp_path: Path) -> None:
    manifest = json.loads((unpack(name, tmp_path) / "manifest.json").read_bytes())
    assert manifest["overton"] == VERSION


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs_replay_without_a_call_to_the_same_records(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    records, calls = _records(run), _calls(run)
    (run / "records.parquet").unlink()
    overton.resume(run)
    assert _calls(run) == calls
    assert _records(run).equals(records)


@pytest.mark.parametrize("name", STOPPED)
def test_stopped_runs_keep_what_they_have_and_go_on(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    before = _calls(run)
    overton.resume(run, max_calls=100_000)
    after = _calls(run)
    assert len(after) > len(before)
    assert before <= after


@pytest.mark.parametrize("name", GATES)
def test_gates_give_the_stored_outcome(name: str, tmp_path: Path) -> None:
    stored = json.loads((ARCHIVES / "gates" / name / "gate.json").read_bytes())
    found = differences(stored, checked(name, tmp_path), form(STORED + name, "gate"), close=CLOSE)
    assert not found, told(name, found)


def _records(run: Path) -> pl.DataFrame:
    return pl.read_parquet(run / "records.parquet")


def _calls(run: Path) -> set[tuple[bytes, bytes]]:
    return {(entry.identity.slot, entry.identity.content) for entry in entries(run / "journal.db")}
