"""Runs, their records and their datasets state their formats; an unknown one is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import overton
from overton.errors import InputError, RunError
from overton.runs.folder import DATASET_FORMAT
from overton.studies.tables import RECORDS_FORMAT, RECORDS_KEY


@pytest.fixture
def run(tmp_path: Path) -> overton.Run:
    asked = {"trials": 1, "conditions": ["baseline"], "only": ["museum-returns"]}
    return overton.run("open-mindedness", models=["simulated/open-minded"], out=tmp_path / "run", **asked)


def test_records_carry_their_format(run: overton.Run) -> None:
    assert pl.read_parquet_metadata(run.path / "records.parquet")[RECORDS_KEY] == str(RECORDS_FORMAT)


def test_records_of_another_format_are_refused_in_a_run_and_as_a_table(run: overton.Run, tmp_path: Path) -> None:
    pl.read_parquet(run.path / "records.parquet").write_parquet(tmp_path / "newer.parquet", metadata={RECORDS_KEY: "7"})
    with pytest.raises(InputError, match="has records of format 7; this version of Overton reads 1"):
        overton.analyze("open-mindedness", tmp_path / "newer.parquet")
    (tmp_path / "newer.parquet").replace(run.path / "records.parquet")
    with pytest.raises(RunError, match="has records of format 7; this version of Overton reads 1"):
        overton.report([run.path])


def test_a_dataset_of_another_format_is_refused(run: overton.Run) -> None:
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["dataset"] == 0
    (run.path / "manifest.json").write_text(json.dumps(manifest | {"dataset": DATASET_FORMAT + 1}))
    (run.path / "issues.jsonl").write_text("{}")
    with pytest.raises(RunError, match=f"its dataset has format {DATASET_FORMAT + 1}, of another version of Overton"):
        overton.items.read("open-mindedness", run.path)
