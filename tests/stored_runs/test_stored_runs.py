"""Runs that released versions made are opened, analysed and replayed without a call; their gates say what they said."""

from __future__ import annotations

import json
import socket
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unchanged.comparing import differences, told
from tests.unchanged.mapping import CLOSE, STORED, form

import overton
from overton.engine import entries
from overton.errors import Notice

from . import FIRST, GATES, LABELS, RUNS, SETS, VERSIONS, archived, record, unpack
from .record import checked

CommandLine = Callable[..., subprocess.CompletedProcess[str]]
STORED_RUNS = [(version, name) for version in VERSIONS for name in archived(version)]
STOPPED = [(version, name) for version, name in STORED_RUNS if "max_calls" in RUNS[name].options]
FINISHED = [one for one in STORED_RUNS if one not in STOPPED]
LABELLED = [(version, name) for version in VERSIONS for name in LABELS if (SETS / version / f"{name}.tar.xz").is_file()]
CHECKED = [(version, name) for version in VERSIONS for name in GATES if (SETS / version / "gates" / name).is_dir()]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection can be made, and no model, search engine or source of pages can be opened."""

    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError("a finished run reaches for a model or the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("overton.runs.preparation.open_models", refuse)


@pytest.fixture
def silent() -> Any:
    """Nothing about the records is worth a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Notice)
        yield


def test_every_archive_is_of_a_case_and_every_case_in_the_newest_set() -> None:
    cases, gates = {*RUNS, *LABELS}, {*GATES}
    for version in VERSIONS:
        assert {path.name.removesuffix(".tar.xz") for path in (SETS / version).glob("*.tar.xz")} <= cases
        assert {path.name for path in (SETS / version / "gates").iterdir()} <= gates
    newest = VERSIONS[-1]
    assert {path.name.removesuffix(".tar.xz") for path in (SETS / newest).glob("*.tar.xz")} == cases
    assert {path.name for path in (SETS / newest / "gates").iterdir()} == gates


def test_a_set_is_recorded_by_a_release_and_never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_VERSION", "0.3.0.dev0")
    with pytest.raises(SystemExit, match="is no release"):
        record.record([])
    monkeypatch.setattr(record, "_VERSION", FIRST)
    with pytest.raises(SystemExit, match=r"already in .*: pluralism-defaults"):
        record.record(["pluralism-defaults"])


@pytest.mark.parametrize(("version", "name"), STORED_RUNS)
def test_stored_runs_carry_the_version_that_made_them(version: str, name: str, tmp_path: Path) -> None:
    manifest = json.loads((unpack(name, tmp_path, version) / "manifest.json").read_bytes())
    assert manifest["overton"] == version


@pytest.mark.usefixtures("offline", "silent")
@pytest.mark.parametrize(("version", "name"), [*STORED_RUNS, *LABELLED])
def test_stored_runs_open_and_are_analysed_without_a_warning(version: str, name: str, tmp_path: Path) -> None:
    case = RUNS[LABELS[name].run if name in LABELS else name]
    opened = overton.open_run(unpack(name, tmp_path, version))
    assert len(opened.items()) == case.items
    assert opened.finished == ("max_calls" not in case.options)
    assert len(opened.rows()) == opened.records().height > 0
    assert overton.analyze(case.study, opened.path).to_json()
    read = sum(len(trial.read) for trial in overton.show(opened))
    assert read == opened.records().height if opened.finished else read >= opened.records().height


@pytest.mark.usefixtures("offline", "silent")
@pytest.mark.parametrize(("version", "name"), FINISHED)
def test_finished_runs_replay_without_a_call_to_the_same_records(version: str, name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path, version)
    records, calls = _records(run), _calls(run)
    (run / "records.parquet").unlink()
    resumed = overton.resume(run)
    assert resumed.finished
    assert _calls(run) == calls
    assert _records(run).equals(records)


@pytest.mark.usefixtures("offline", "silent")
@pytest.mark.parametrize(("version", "name"), LABELLED)
def test_labelled_runs_keep_their_labels_when_replayed(version: str, name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path, version)
    records, labels = _records(run), {path: path.read_bytes() for path in (run / "labels").rglob("*.json")}
    (run / "records.parquet").unlink()
    overton.resume(run)
    assert _records(run).equals(records)
    assert labels == {path: path.read_bytes() for path in (run / "labels").rglob("*.json")} != {}


@pytest.mark.parametrize(("version", "name"), STOPPED)
def test_stopped_runs_are_as_they_were_at_their_limit(version: str, name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path, version)
    calls, records = _calls(run), _records(run)
    assert not overton.resume(run).finished
    assert _calls(run) == calls
    assert _records(run).equals(records)


@pytest.mark.parametrize(("version", "name"), STOPPED)
def test_stopped_runs_keep_their_calls_and_resume(version: str, name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path, version)
    before, records = _calls(run), _records(run)
    resumed = overton.resume(run, max_calls=100_000)
    after = _calls(run)
    assert resumed.finished
    assert len(after) > len(before)
    assert before <= after
    assert _records(run).join(records, on=records.columns, how="inner", nulls_equal=True).height == records.height


@pytest.mark.parametrize(("version", "name"), CHECKED)
def test_gates_give_the_stored_outcome(version: str, name: str, tmp_path: Path) -> None:
    stored, found = _stored_outcome(version, name), checked(name, tmp_path, version)
    known = form(STORED + name if version == FIRST else f"{STORED}{version} {name}", "gate")
    lacking = differences(stored, found, known, close=CLOSE)
    assert not lacking, told(name, lacking)


@pytest.mark.parametrize(("version", "name"), CHECKED)
def test_gates_read_baselines_with_the_same_keys_and_verdicts(version: str, name: str, tmp_path: Path) -> None:
    """No mapping can allow other ones; only `CHANGED` can."""
    stored, found = _stored_outcome(version, name), checked(name, tmp_path, version)
    changed = CHANGED.get((version, name), {})
    assert found["outcome"] == changed.get("", stored["outcome"])
    assert found["passes"] == (found["outcome"] == "within")
    expected = {one["measure"]: changed.get(one["measure"], one["outcome"]) for one in stored["checks"]}
    assert {one["measure"]: one["outcome"] for one in found["checks"]} == expected
    assert list(expected) == [measure for measure, _, _ in GATES[name].guards]
    baseline = json.loads((SETS / version / "gates" / name / "baseline.json").read_bytes())
    kept = {measure for side in baseline["sides"].values() for measure in side}
    assert {*expected} <= kept


CHANGED = {("0.2.0", "stance-stability"): {"": "beyond", "change_rate": "beyond"}}
"""Outcomes that changed on purpose, of the gate ('') and by measure.

Differences have Student's limits since 0.3.0; those of 0.2.0 were wider, and one of them reached its margin.
"""
EXIT_CODES = {"within": 0, "beyond": 5, "undecided": 6}


@pytest.mark.parametrize(("version", "name"), CHECKED)
def test_the_command_ends_as_the_stored_outcome_says(
    version: str, name: str, tmp_path: Path, command_line: CommandLine
) -> None:
    done = _gate(version, name, GATES[name].candidate, tmp_path, command_line)
    outcome = CHANGED.get((version, name), {}).get("", _stored_outcome(version, name)["outcome"])
    assert done.returncode == EXIT_CODES[outcome], done.stderr


def test_a_candidate_with_more_trials_than_the_baseline_of_0_2_0_ends_with_code_2(
    tmp_path: Path, command_line: CommandLine
) -> None:
    candidate = "open-mindedness-repeats#swayed"
    done = _gate(FIRST, "open-mindedness", candidate, tmp_path, command_line)
    assert done.returncode == 2
    assert "1 and 3 trials" in done.stderr
    assert "Make the baseline again from its run (overton baseline)" in done.stderr


def _gate(
    version: str, name: str, candidate: str, tmp_path: Path, command_line: CommandLine
) -> subprocess.CompletedProcess[str]:
    run, _, model = candidate.partition("#")
    folder = SETS / version / "gates" / name
    whole = f"{unpack(run, tmp_path, version)}#{model}"
    words = ("gate", str(folder / "baseline.json"), whole, "--config", str(folder / "gate.toml"))
    return command_line(*words, "--although", "runs differ on purpose", folder=tmp_path)


def _stored_outcome(version: str, name: str) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads((SETS / version / "gates" / name / "gate.json").read_bytes())
    return outcome


def _records(run: Path) -> pl.DataFrame:
    return pl.read_parquet(run / "records.parquet")


def _calls(run: Path) -> set[tuple[bytes, bytes]]:
    return {(entry.identity.slot, entry.identity.content) for entry in entries(run / "journal.db")}
