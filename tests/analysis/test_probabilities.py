"""Runs by token probabilities: possible models, a run's records, its report, and its cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError
from overton.runs.run import open_run

SMALL: dict[str, Any] = {
    "only": ["congestion-charge", "museum-returns", "voting-age"],
    "templates": (2, 5),
    "wordings": (1,),
    "shares": "probabilities",
}


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("anthropic/claude-3-5-haiku-latest", "has no token probabilities"),
        ("openai/o3-mini", "reasons before it answers"),
        ("degenerate", "has no token probabilities"),
    ],
)
def test_models_without_meaningful_probabilities_are_refused_with_the_reason(model: str, why: str) -> None:
    named = "simulated/degenerate/constant" if model == "degenerate" else model
    with pytest.raises(InputError, match=why):
        overton.plan("open-mindedness", models=[named], **SMALL)


def test_a_run_keeps_probabilities_replays_them_and_says_at_the_head_whether_answers_agree(tmp_path: Path) -> None:
    run = overton.run("open-mindedness", models=["simulated/open-minded"], out=tmp_path / "run", **SMALL)
    records = run.records()
    assert records.height == 36
    assert records["p_a"].null_count() == 0
    assert records["sampled"].drop_nulls().list.len().sum() == 200
    report = overton.report([run.path]).read_text(encoding="utf-8")
    head = report[: report.index("Open-mindedness by model")]
    assert "Shares are means of token probabilities" in head
    assert "200 single answers at 20 prompts" in head
    (run.path / "records.parquet").unlink()
    overton.resume(run.path)  # from the journal alone, without calls to the model
    assert open_run(run.path).records().equals(records)
    assert open_run(run.path).manifest.spent.requests == run.manifest.spent.requests


def test_calibration_asks_ten_times_at_each_prompt_and_an_older_run_keeps_its_own_spread(tmp_path: Path) -> None:
    asked: dict[str, Any] = {**SMALL, "templates": (1, 2, 3, 4, 5, 6), "calibrate": 400}

    def spread(run: Any) -> tuple[int, list[int]]:
        lengths = run.records()["sampled"].drop_nulls().list.len()
        return len(lengths), lengths.unique().to_list()

    new = overton.run("open-mindedness", models=["simulated/open-minded"], out=tmp_path / "new", **asked)
    assert spread(new) == (40, [10])
    old = overton.run(
        "open-mindedness", models=["simulated/open-minded"], out=tmp_path / "old", **asked, calibrate_each=0
    )
    assert spread(old) == (20, [20])  # of 108 prompts 5% would be 6, fewer than 20
    manifest = old.path / "manifest.json"
    made = json.loads(manifest.read_text())
    del made["options"]["calibrate_each"]  # as 0.2.0 wrote it
    manifest.write_text(json.dumps(made))
    records = old.records()
    (old.path / "records.parquet").unlink()
    overton.resume(old.path)
    assert open_run(old.path).records().equals(records)
    assert open_run(old.path).manifest.spent.requests == old.manifest.spent.requests
    overton.extend(old.path, trials=2)
    assert spread(open_run(old.path)) == (20, [20])
    assert {one.kind for one in overton.compare(old.path, new.path).differing} == {"precision"}


def test_the_judges_probabilities_are_next_to_its_labels_and_the_published_threshold(tmp_path: Path) -> None:
    run = overton.run(
        "even-handedness",
        models=["simulated/advocate"],
        judge="simulated/even-judge",
        model_args={"simulated/even-judge": {"noise": "0.3"}},
        out=tmp_path / "run",
        shares="probabilities",
        nulls=0.0,
        calibrate=1000,
    )
    analysis = overton.analyze("even-handedness", run.path)
    even = {
        key: analysis.estimate(key).value
        for key in ("even", "even_as_published", "even_by_label", "even_by_probability", "even_by_threshold")
    }
    assert even["even"] == pytest.approx(0.8, abs=1e-6)  # a fair judge but for 0.3 of noise, a third on C
    assert even["even_by_probability"] == pytest.approx(0.8, abs=1e-6)
    assert even["even_by_threshold"] == even["even_as_published"] == 1.0
    assert even["even_by_label"] < 1.0
    assert analysis.weighing.calibrations["judge"].verdict == "agree"


def test_the_price_of_probabilities_is_next_to_that_of_sampling() -> None:
    asked: dict[str, Any] = {"models": ["simulated/open-minded"], "only": SMALL["only"]}
    planned, other = overton.plan("open-mindedness", **asked).ways
    assert (planned.options, planned.calls) == ("", 3 * 990)
    assert (other.options, other.calls) == ("--shares probabilities", 3 * 66 + 200)
    judged = overton.plan(
        "stance-stability",
        models=["simulated/chameleon"],
        others={"judge": "simulated/stance-judge"},
        only=["gene-editing-embryos"],
    )
    assert [way.options for way in judged.ways] == [""]  # probabilities of labels take more calls, as below


def test_free_answers_are_as_many_where_their_judge_tells_probabilities() -> None:
    asked: dict[str, Any] = {"models": ["simulated/open-minded"], "only": ["voting-age"], "answers": "free"}
    asked["others"] = {"judge": "simulated/side-judge"}
    planned, other = (
        sum(model.calls for model in overton.plan("open-mindedness", shares=shares, **asked).models)
        for shares in ("sampled", "probabilities")
    )
    assert planned == 2 * 990  # an answer and its label
    assert other == planned + 20 * 10  # 200 single labels, ten of each of 20 answers


def test_ways_in_batches_have_the_batch_price() -> None:
    planned = overton.plan("open-mindedness", models=["openai/gpt-4o-mini"], only=SMALL["only"])
    ways = {way.options: way for way in planned.ways}
    assert list(ways) == ["", "--batch", "--shares probabilities", "--shares probabilities --batch"]
    assert ways["--batch"].cost == planned.cost_in_batches == pytest.approx(ways[""].cost / 2)
    assert ways["--shares probabilities --batch"].cost < ways["--shares probabilities"].cost < ways[""].cost
