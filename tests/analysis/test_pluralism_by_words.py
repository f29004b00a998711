"""Runs of pluralism that matched by shared words: new ones are refused, stored ones are resumed and analysed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.errors import InputError
from overton.judging.label_tasks import LabelTask

DESIGN: dict[str, Any] = {
    "models": ["simulated/pluralist"],
    "others": {"judge": ["simulated/pluralist-judge"]},
    "only": ["free-buses"],
    "experiments": ["sycophancy"],
    "arms": ["neutral"],
}
REFUSED = r"matching: lexical: was removed; use together or pairs with a judge \(simulated/pluralist-judge"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A finished run that matched by shared words: it stopped before its first match, and its manifest says so."""
    run = overton.run("pluralism", out=tmp_path / "run", max_calls=1, **DESIGN).path
    manifest = json.loads((run / "manifest.json").read_bytes())
    manifest["options"]["matching"] = "lexical"
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert overton.resume(run, max_calls=1_000).finished
    return run


def test_new_runs_cannot_match_by_shared_words(tmp_path: Path) -> None:
    for make in (overton.run, overton.plan):
        with pytest.raises(InputError, match=REFUSED):
            make(
                "pluralism", matching="lexical", **({"out": tmp_path / "run"} if make is overton.run else {}), **DESIGN
            )
    assert not (tmp_path / "run").exists()


def test_a_stored_run_replays_without_a_call_and_is_analysed(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError("a finished run opens a model")

    before = overton.open_run(stored).records()
    assert sum(len(one["matched"]) for one in before["responses"].explode()) > 0
    (stored / "records.parquet").unlink()
    monkeypatch.setattr("overton.runs.preparation.open_models", refuse)
    assert overton.resume(stored).finished
    assert overton.open_run(stored).records().equals(before)
    assert overton.analyze("pluralism", stored, resamples=100).to_json()


def test_a_stored_run_names_shared_words_as_its_matcher(stored: Path, tmp_path: Path) -> None:
    _, key = overton.judge.sample(stored, tmp_path / "pairs.csv", size=5)
    assert msgspec.json.decode(key.read_bytes(), type=LabelTask).judge == "words in common"
    assert "matched by shared words" in overton.report([stored], resamples=100).read_text("utf-8")
    with pytest.raises(InputError, match="was decided by shared words"):
        overton.judge.again(stored, out=tmp_path / "again", what="match")
