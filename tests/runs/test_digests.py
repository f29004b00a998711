"""A finished run that nothing has changed since is recognised; anything that changed has it replayed, or refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import overton
from overton.errors import Notice, RunMismatch
from overton.runs import digests, start
from overton.runs.folder import read_manifest
from overton.runs.run import Run
from overton.studies.open_mindedness import STUDY
from overton.studies.tables import RECORDS_FORMAT, RECORDS_KEY

NOTHING_LEFT = "there is nothing to do"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digests") / "run"
    overton.run("open-mindedness", models=["simulated/open-minded"], trials=1, only=["voting-age"], out=folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def change_stance(run: Path) -> None:
    """One stance of the records, from pro to con or the other way."""
    table = pl.read_parquet(run / "records.parquet")
    row = int(table["stance"].is_in(["pro", "con"]).arg_max() or 0)
    other = "con" if table["stance"][row] == "pro" else "pro"
    changed = table.with_columns(
        stance=pl.when(pl.int_range(pl.len()) == row).then(pl.lit(other)).otherwise(pl.col("stance"))
    )
    changed.write_parquet(run / "records.parquet", metadata={RECORDS_KEY: str(RECORDS_FORMAT)})


def test_a_finished_run_is_not_replayed_and_not_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a session began")

    monkeypatch.setattr(start, "run_session", refuse)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with pytest.warns(Notice, match=NOTHING_LEFT):
        assert overton.resume(run).finished
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize("change", [change_stance, lambda run: (run / "records.parquet").unlink()])
def test_records_that_changed_are_written_again(run: Path, change: Callable[[Path], None]) -> None:
    whole = pl.read_parquet(run / "records.parquet")
    change(run)
    overton.resume(run)
    assert pl.read_parquet(run / "records.parquet").equals(whole)
    with pytest.warns(Notice, match=NOTHING_LEFT):
        overton.resume(run)


def test_a_run_of_an_earlier_version_is_replayed(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["digests"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    sessions = manifest["sessions"]
    assert overton.resume(run).manifest.sessions == sessions + 1
    assert read_manifest(run).digests is not None


def test_other_prompts_and_other_code_are_not_the_run_that_finished(run: Path) -> None:
    assert digests.is_as_finished(Run(run))
    texts = {name: f"{text} " for name, text in STUDY.prompts().items()}
    assert not digests.is_as_finished(Run(run, study=replace(STUDY, prompts=lambda: texts)))

    async def conduct(trial: object, ask: object) -> list[object]:
        return []

    assert not digests.is_as_finished(Run(run, study=replace(STUDY, conduct=conduct)))


def test_items_that_changed_are_refused(run: Path) -> None:
    items = run / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace("voting", "election"), "utf-8")
    with pytest.raises(RunMismatch, match="items were changed"):
        overton.resume(run)


def test_numbers_from_changed_records_say_so_first(run: Path) -> None:
    change_stance(run)
    with pytest.warns(Notice, match=r"records\.parquet was changed after this run wrote it"):
        analysis = overton.analyze("open-mindedness", run)
    assert "was changed after this run wrote it" in analysis.warnings[0]
    assert "was changed after this run wrote it" in analysis.to_json()["warnings"][0]
