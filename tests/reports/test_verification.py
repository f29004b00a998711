"""A run is conducted again from its journal, and its files are compared with the results."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.runs.test_digests import change_stance
from tests.stored_runs import unpack

import overton
from overton.errors import RunError


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verification") / "run"
    overton.run("open-mindedness", models=["simulated/open-minded"], trials=1, only=["voting-age"], out=folder)
    overton.report([folder])
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def said(run: Path) -> dict[str, tuple[bool, str]]:
    return {part.part: (part.same, part.said) for part in overton.verify(run).parts}


def test_a_run_as_it_finished_is_the_same_and_is_not_written(run: Path) -> None:
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.iterdir()}
    found = overton.verify(run)
    assert found.same
    assert [part.part for part in found.parts] == ["calls", "records", "estimates", "report"]
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.iterdir()} == before
    assert found.to_json()["same"] is True


def test_one_changed_stance_is_named_with_the_estimates_that_it_moves(run: Path) -> None:
    change_stance(run)
    found = said(run)
    assert [part for part, (same, _) in found.items() if not same] == ["records", "estimates"]
    assert "stance is " in found["records"][1]
    assert "open_mindedness" in found["estimates"][1]
    overton.report([run])
    assert not said(run)["report"][0]


def test_lost_rows_and_values_that_no_study_reads_are_differences(run: Path) -> None:
    table = pl.read_parquet(run / "records.parquet")
    table.head(table.height - 1).write_parquet(run / "records.parquet")
    assert said(run)["records"] == (
        False,
        f"there are {table.height - 1:,} rows of {table.width} columns; the journal gives {table.height:,} rows of"
        f" {table.width} columns",
    )
    table.with_columns(stance=pl.lit("nonsense")).write_parquet(run / "records.parquet")
    found = said(run)
    assert not found["records"][0]
    assert found["estimates"][1].startswith("none can be computed from the records on disk")


def test_a_journal_that_was_cut_or_items_that_changed_end_the_comparison(run: Path) -> None:
    items = run / "items.jsonl"
    text = items.read_text("utf-8")
    items.write_text(text.replace("voting", "election"), "utf-8")
    assert list(said(run)) == ["calls"]
    assert "items were changed" in said(run)["calls"][1]
    items.write_text(text, "utf-8")
    (run / "journal.db").write_bytes((run / "journal.db").read_bytes()[:-5000])
    found = said(run)
    assert list(found) == ["calls"]
    assert not found["calls"][0]


def test_a_run_without_a_report_has_none_to_compare(run: Path) -> None:
    (run / "report.html").unlink()
    assert said(run)["report"] == (True, "the run has no report")


def test_a_killed_run_is_to_be_resumed_first(run: Path) -> None:
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"status": "finished"', '"status": "running"'))
    with pytest.raises(RunError, match="overton resume"):
        overton.verify(run)


@pytest.mark.parametrize("name", ["stance-stability-stopped", "open-mindedness-precision"])
def test_runs_of_an_earlier_version_are_verified(name: str, tmp_path: Path) -> None:
    found = overton.verify(unpack(name, tmp_path))
    assert [part.part for part in found.parts if not part.same] == []
